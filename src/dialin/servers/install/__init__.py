"""Installs builds into dialin's cache: their sources, the package clients that fetch them, and which files are kept."""
