"""Timed queries over one large table: how long a run takes, and how many bytes per second that is."""
