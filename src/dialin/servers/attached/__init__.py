"""Servers that dialin did not start: found, looked at, changed, and put back as they were."""
