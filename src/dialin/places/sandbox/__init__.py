"""Sandboxes: servers that dialin starts, one for each trial or one for several."""
