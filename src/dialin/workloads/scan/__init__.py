"""Timed queries over one large table: how long a run takes, and how many bytes a second that is."""
