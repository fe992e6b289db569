"""Readers of what load programs print: sysbench, and others by a description of their format."""
