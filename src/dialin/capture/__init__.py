"""Captures: recordings of real statements, made of a server's logs."""
