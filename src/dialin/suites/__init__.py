"""Suites: the same candidates under several workloads, a study each, with one joint result."""
