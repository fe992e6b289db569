"""The study's database; nothing else opens it."""

STUDY_FILE = "study.db"
"""The database within the directory of a study."""

UNFINISHED_STUDY_FILE = "study.db.new"
"""The database while it is made; where dialin was killed meanwhile, no study has begun."""
