"""Analyzes the logs of benchmark runs that dialin did not make: from the files to a verdict."""
