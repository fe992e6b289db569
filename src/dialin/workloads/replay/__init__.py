"""The replay of a capture."""
