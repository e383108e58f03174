"""Scores: what a run was exposed to, and what its report came to believe."""
