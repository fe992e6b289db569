"""The charts of a report: what they draw, how they look, and what they show in words."""
