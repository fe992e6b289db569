"""Captures: recordings of real statements, made of a server's logs."""

KEEP_DAYS = 14
"""Days that a capture keeps its statements by default."""
