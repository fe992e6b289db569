import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from dialin.question import study_file
from schemas_and_columns import schemas

SCHEMA = Path(__file__).parents[2] / "schema"


def test_the_published_schema_of_study_files_is_the_one_in_use():
    assert json.loads((SCHEMA / "study.schema.json").read_text()) == json.loads(json.dumps(schemas()["study"])), (
        "run: make docs"
    )


@pytest.mark.parametrize("path", sorted((SCHEMA / "good").glob("study-*.toml")), ids=lambda path: path.stem)
def test_good_study_files_are_taken(path):
    jsonschema.validate(tomllib.loads(path.read_text()), schemas()["study"])
    study_file.read(path)


@pytest.mark.parametrize("path", sorted((SCHEMA / "bad").glob("study-*.toml")), ids=lambda path: path.stem)
def test_each_bad_study_file_breaks_one_rule(path):
    text = path.read_text()
    says = text.splitlines()[0].removeprefix("# ")
    with pytest.raises(study_file.UserError) as refused:
        study_file.read(path).settings()
    assert says in str(refused.value)
