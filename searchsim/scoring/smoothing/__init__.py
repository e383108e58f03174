"""SmoothScore: how far a report is smoother than the evidence that it cites."""
