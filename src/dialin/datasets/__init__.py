"""Data that trials start from: prepared once, kept, and restored before each trial."""
