"""Tools for development; none of them is shipped."""
