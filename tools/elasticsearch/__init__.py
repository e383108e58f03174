"""A genuine Elasticsearch node."""
