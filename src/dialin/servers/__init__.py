"""Builds, what each can do, and instances of them."""
