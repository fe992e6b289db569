"""Another kind of workload is one module and one line of the registry: the rest of dialin learns of it there."""

import jsonschema
import pytest
from pydantic import BaseModel, ConfigDict, Field

from dialin.errors import UserError
from dialin.model.study import Candidate, StudySpec
from dialin.model.workload import LoadTraits
from dialin.question import study_file
from dialin.report.studyfile import study_file as written
from dialin.sentences.load_units import units
from dialin.testing.workload_conformance import WorkloadConformance
from dialin.workloads import kinds
from dialin.workloads.base import Workload
from dialin.workloads.kind import LoadRequest, WorkloadKind
from fixtures.loads import with_traits
from schemas_and_columns import schemas


class BeatOptions(BaseModel):
    """The options of the kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pause: float = Field(default=1.0, gt=0)


class Beats(Workload):
    """A load that sends a statement from time to time."""

    def __init__(self, spec):
        self.options = BeatOptions.model_validate(spec.options)

    def describe_data(self):
        return "nothing"

    def data_facts(self):
        return {"workload": "beats"}

    def expected_bytes(self):
        return 0

    def prepare(self, target):
        pass

    @property
    def traits(self):
        return LoadTraits(unit="beat")

    def start(self, target, *, threads, seed, cpus):
        raise NotImplementedError

    def version(self):
        return "beats 1"


BEATS = WorkloadKind(name="beats", help="beats", make=Beats, options=BeatOptions, threads=2)

STUDY = """
workload = "beats"
[sweep]
innodb_io_capacity = [100, 200]
[workload-options]
pause = 0.5
"""


@pytest.fixture
def with_beats(monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, BEATS))


def asked(tmp_path, text=STUDY):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return study_file.read(path).workload_spec(tmp_path)


@pytest.mark.usefixtures("with_beats")
def test_a_study_file_asks_for_it_and_its_workload_is_made(tmp_path):
    load = asked(tmp_path)
    assert (load.name, load.kind, load.threads) == ("beats", "beats", 2)
    assert kinds.make_workload(load).options.pause == 0.5
    assert load.describe() == "beats, 2 threads, pause=0.5"


@pytest.mark.usefixtures("with_beats")
def test_reports_count_in_its_unit_from_what_is_stored(tmp_path):
    stored = type(load := with_traits(asked(tmp_path))).model_validate_json(load.model_dump_json())
    assert (units(stored).rate, units(stored).title, units(stored).one) == ("beats/s", "beats/s", "second")


@pytest.mark.usefixtures("with_beats")
def test_a_report_prints_a_study_file_that_asks_the_same(tmp_path):
    load = asked(tmp_path)
    pair = tuple(Candidate(name=str(n), setting={"innodb_io_capacity": n}, server="mysql@9.7.4") for n in (100, 200))
    spec = StudySpec(candidates=pair, baseline="100", workload=load)
    assert asked(tmp_path, written(spec)) == load


@pytest.mark.usefixtures("with_beats")
@pytest.mark.parametrize(
    ("wrong", "says"),
    [("paus = 1", "no option 'paus'. It has pause"), ("pause = 0", "beats: pause: Input should be greater than 0")],
)
def test_a_wrong_option_is_refused(tmp_path, wrong, says):
    with pytest.raises(UserError) as refused:
        asked(tmp_path, STUDY.replace("pause = 0.5", wrong))
    assert says in f"{refused.value.what}. {refused.value.remedy}"


@pytest.mark.usefixtures("with_beats")
def test_tables_are_not_for_it(tmp_path):
    with pytest.raises(UserError, match="is not sized by --tables"):
        asked(tmp_path, f"tables = 3\n{STUDY}")


@pytest.mark.usefixtures("with_beats")
def test_the_schema_knows_its_options():
    study = {"workload": "beats", "sweep": {"innodb_io_capacity": [1, 2]}, "workload-options": {"pause": 0.5}}
    schema = schemas()["study"]
    jsonschema.validate(study, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**study, "workload-options": {"paus": 0.5}}, schema)


class TestBeats(WorkloadConformance):
    def make_workload(self):
        return BEATS.make(BEATS.spec(LoadRequest(asked="beats", name="beats")))
