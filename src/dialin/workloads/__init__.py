"""Loads: each prepares data, runs against a server, and yields a sample a second."""
