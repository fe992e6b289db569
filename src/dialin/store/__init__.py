"""The study's database; nothing else opens it."""

STUDY_FILE = "study.db"
"""The database within the directory of a study."""
