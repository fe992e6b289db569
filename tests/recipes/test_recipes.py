import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import jsonschema
import pytest

from dialin.errors import UserError
from dialin.model.place import SandboxPlace
from dialin.model.setting import as_number
from dialin.question.candidates import candidates_of, find_baseline
from dialin.question.plan import BLOCKS_NEEDED, plan
from dialin.recipes import execution, library, listing
from dialin.recipes.library import Ratio, ScaleName
from dialin.workloads import kinds
from fixtures.loads import with_traits
from schemas_and_columns import schemas

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schema"
NAMES = ["buffer-pool-instances", "hash-table-locks", "read-buffer-size", "read-buffer-size-parallel", "thirty-to-hundred-k"]
EVERY = [(name, study.name, scale) for name in NAMES for study in library.find(name).study for scale in ScaleName]

every_study = pytest.mark.parametrize(("name", "study", "scale"), EVERY)


def of(name, study):
    recipe = library.find(name)
    return recipe, next(one for one in recipe.study if one.name == study)


def spec_of(study, scale):
    question = study.question(scale)
    settings = question.settings()
    candidates = candidates_of(settings, question.servers)
    load = with_traits(question.workload_spec(ROOT))
    return question.spec(candidates, find_baseline(question.baseline, candidates), load, SandboxPlace())


def ratios(recipe, study, scale):
    """What the scale makes of each ratio that it can keep."""
    spec, machine = spec_of(study, scale), recipe.scales[scale].machine
    found = {Ratio.THREADS_TO_CPUS: spec.workload.threads / machine.cpus, Ratio.THREADS: spec.workload.threads}
    if (pool := spec.fixed.get("innodb_buffer_pool_size")) is not None and spec.workload.name != "scan":
        found[Ratio.DATA_TO_POOL] = kinds.make_workload(spec.workload).expected_bytes() / as_number(pool)
        found[Ratio.POOL_TO_MEMORY] = as_number(pool) / as_number(machine.memory)
    return found


def test_the_published_experiments_are_there():
    assert library.names() == NAMES


@every_study
def test_each_study_is_a_right_question_with_a_baseline_of_its_own(name, study, scale):
    spec = spec_of(of(name, study)[1], scale)
    assert spec.baseline in {candidate.name for candidate in spec.candidates}


@every_study
def test_the_minutes_of_each_scale_hold_what_its_studies_may_take(name, study, scale):
    recipe, _ = of(name, study)
    assert sum(one.question(scale).minutes for one in recipe.study) <= recipe.scales[scale].minutes


@every_study
def test_the_budget_of_each_study_holds_enough_blocks_for_a_verdict(name, study, scale):
    assert plan(spec_of(of(name, study)[1], scale)).blocks >= BLOCKS_NEEDED


@every_study
def test_each_scale_keeps_the_ratios_that_the_recipe_says_it_keeps(name, study, scale):
    recipe, own = of(name, study)
    published, here = ratios(recipe, own, ScaleName.PAPER), ratios(recipe, own, scale)
    for ratio, tolerance in recipe.keeps.items():
        assert here[ratio] == pytest.approx(published[ratio], rel=tolerance), ratio


def test_some_ratio_is_kept_by_every_recipe():
    assert all(library.find(name).keeps for name in NAMES)


@every_study
def test_expectations_and_figures_name_candidates_of_the_study(name, study, scale):
    recipe, own = of(name, study)
    there = {candidate.name for candidate in spec_of(own, scale).candidates}
    for expectation in (one for one in recipe.expect if one.study == study):
        assert set(expectation.candidates) <= there
    if scale is ScaleName.PAPER:
        for row in (one for one in recipe.figures if one.study == study):
            assert set(row.values) <= there


def test_the_paper_scale_is_as_published():
    pools = spec_of(of("buffer-pool-instances", "io-bound")[1], ScaleName.PAPER)
    assert [candidate.setting["innodb_buffer_pool_instances"] for candidate in pools.candidates] == [1, 2, 4, 8, 16, 32, 64]
    assert (pools.workload.threads, pools.workload.tables, pools.workload.table_size) == (150, 40, 10_000_000)
    assert pools.warmup + pools.measure == 10_000
    assert pools.whole_warmup, "the load runs before the last 2,500 s, steady or not"
    assert pools.workload.rand_type == "pareto"
    published = {
        "innodb_buffer_pool_size": "25G",
        "innodb_io_capacity": 2000,
        "innodb_io_capacity_max": 4000,
        "innodb_flush_method": "O_DIRECT",
        "innodb_flush_log_at_trx_commit": 1,
        "sync_binlog": 1,
        "character_set_server": "utf8mb4",
    }
    assert published.items() <= pools.fixed.items()
    buffers = spec_of(of("read-buffer-size", "myisam-cold")[1], ScaleName.PAPER)
    assert len(buffers.candidates) == 10
    assert buffers.workload.options["size"] == "4G"
    for study in library.find("hash-table-locks").study:
        waits = spec_of(study, ScaleName.PAPER)
        assert (waits.warmup, waits.whole_warmup, waits.measure, waits.waits) == (60, True, 60, "hash_table_locks")


def test_claims_that_tell_how_much_have_the_published_figure_within_their_range():
    reported = 0
    for name in NAMES:
        recipe = library.find(name)
        for claim in (one for one in recipe.expect if one.low is not None):
            (row,) = [one for one in recipe.figures if one.study == claim.study]
            low, high = claim.range
            baseline = spec_of(of(name, claim.study)[1], ScaleName.PAPER).baseline
            assert all(low <= row.relative(baseline)[candidate] <= high for candidate in claim.candidates), claim.claim
            reported += 1
    assert reported == 4


def test_each_setting_of_the_article_is_a_candidate_alone_and_all_of_them_together():
    for study in ("mysql-5.6", "mariadb-10.1"):
        spec = spec_of(of("thirty-to-hundred-k", study)[1], ScaleName.LAPTOP)
        by_name = {candidate.name: candidate.setting for candidate in spec.candidates}
        before, after = by_name.pop("before"), by_name.pop("after")
        moved = [{key for key in before if setting[key] != before[key]} for setting in by_name.values()]
        assert all(len(one) == 1 for one in moved)
        assert {key for one in moved for key in one} == set(before)
        assert all(before[key] != after[key] for key in before)


def test_published_times_become_speeds():
    (cold, _) = library.find("read-buffer-size").figures
    assert cold.relative("128K")["32M"] == pytest.approx(43.0 / 67.2)
    assert cold.relative("7K") == {}


def test_a_scale_replaces_values_and_adds_to_tables():
    _, study = of("buffer-pool-instances", "io-bound")
    keys = study.keys(ScaleName.LAPTOP)
    assert keys["set"]["innodb_io_capacity"] == 2000, "common to all"
    assert keys["set"]["innodb_buffer_pool_size"] == "2G"
    assert of("read-buffer-size-parallel", "myisam-cold")[1].keys(ScaleName.LAPTOP)["sweep"]["read_buffer_size"][-1] == "8M"


@pytest.mark.parametrize(("other", "same"), [(ScaleName.LAPTOP, True), (ScaleName.SERVER, False), (ScaleName.PAPER, False)])
def test_a_stored_study_is_gone_on_with_only_where_it_is_of_the_same_scale_whatever_its_budget_was(other, same):
    _, study = of("buffer-pool-instances", "io-bound")
    spec = spec_of(study, other)
    assert execution.asks(study.question(ScaleName.LAPTOP), spec) is same
    assert execution.asks(study.question(ScaleName.LAPTOP), spec.model_copy(update={"minutes": 7.0})) is same


@pytest.mark.parametrize("name", NAMES)
def test_what_few_cpus_cannot_show_has_the_cpus_that_can(name):
    recipe = library.find(name)
    for claim in recipe.expect:
        assert claim.cpus <= recipe.scales[ScaleName.SERVER].machine.cpus
        with pytest.raises(ValueError, match="cpus and cannot need each other"):
            claim.model_validate({**claim.model_dump(), "cpus": 17 - claim.cpus})


def test_an_unknown_recipe_is_reported_with_the_nearest_one():
    with pytest.raises(UserError, match="read-buffer-size"):
        library.find("read-bufer-size")


@pytest.mark.parametrize("name", NAMES)
def test_all_that_is_reported_of_a_recipe_fits_its_width(name):
    recipe = library.find(name)
    lines = listing.in_full(name, recipe, 80)
    text = " ".join(" ".join(lines).split())
    assert recipe.source.address in text
    assert " ".join(recipe.finding.split()) in text
    assert all(study.name in text for study in recipe.study)
    assert all(f"{scale}:" in text for scale in ScaleName)
    assert [line for line in lines if len(line) > 80 and "https://" not in line] == []


def test_the_published_schema_of_recipes_is_the_one_in_use():
    assert json.loads((SCHEMA / "recipe.schema.json").read_text()) == json.loads(json.dumps(schemas()["recipe"]))


@pytest.mark.parametrize(
    "path",
    [*sorted((SCHEMA / "good").glob("recipe-*.toml")), *sorted(library.DIRECTORY.glob("*.toml"))],
    ids=lambda path: path.stem,
)
def test_good_recipes_are_taken(path):
    jsonschema.validate(tomllib.loads(path.read_text()), schemas()["recipe"])
    library.read(path)


@pytest.mark.parametrize("path", sorted((SCHEMA / "bad").glob("recipe-*.toml")), ids=lambda path: path.stem)
def test_each_bad_recipe_breaks_one_rule(path):
    says = path.read_text().splitlines()[0].removeprefix("# ")
    with pytest.raises(UserError) as refused:
        library.read(path)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_toml_is_one_line(tmp_path):
    (tmp_path / "mine.toml").write_text("title = ")
    with pytest.raises(UserError, match="is not TOML"):
        library.read(tmp_path / "mine.toml")


def test_recipes_are_in_the_wheel(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = "from dialin.recipes import library; print(*library.names())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path / "installed"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == NAMES
