"""The life of a trial, from its stage to its figures."""
