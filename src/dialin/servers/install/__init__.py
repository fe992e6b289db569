"""Bringing builds into dialin's cache: where they come from, through the ecosystems' own clients, and what is kept of them."""
