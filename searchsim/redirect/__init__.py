"""Turn a program's web traffic to a world: its environment, the hooks in it, and what they saw."""
