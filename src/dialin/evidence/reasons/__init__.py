"""Reasons for a verdict: rules, each with its source, and the statistics that select among them."""
