"""Servers that dialin did not start: how it finds, inspects, changes and restores them."""
