"""The study's database; nothing else opens it."""

from pathlib import Path

STUDY_FILE = "study.db"
"""The database within the directory of a study."""

UNFINISHED_STUDY_FILE = "study.db.new"
"""The database while it is made; where dialin was killed meanwhile, no study has begun."""

SUITE_FILE = "suite.json"
"""What a suite asks and its result, within the directory that holds the directories of its studies."""


def is_suite(directory: Path) -> bool:
    return (directory / SUITE_FILE).is_file()
