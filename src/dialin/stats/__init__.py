"""The mathematics of a study: pure functions of numbers; no I/O, no clock, no server.

What is done here, and why, is told in `docs/method.md`.
"""
