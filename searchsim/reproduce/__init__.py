"""Published figures, recomputed from run records: a check of the arithmetic, not a replication."""
