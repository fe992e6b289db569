"""The mathematics of a study: pure functions of numbers; no I/O, no clock, no server. `docs/method.md` explains it."""
