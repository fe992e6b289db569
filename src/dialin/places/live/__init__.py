"""A server under the traffic of its users."""
