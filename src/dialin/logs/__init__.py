"""Logs of runs that were made elsewhere, from their files to a verdict."""
