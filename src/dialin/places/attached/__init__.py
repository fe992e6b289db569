"""Servers that dialin did not start, changed by SET GLOBAL and put back."""
