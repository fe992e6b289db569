"""Workloads: each prepares data, runs against a server, and yields one sample per second."""
