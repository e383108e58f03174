"""Making misleading documents: blueprint → text → document."""
