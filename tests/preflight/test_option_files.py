import pytest

from dialin.errors import UserError
from dialin.model.place import SandboxPlace
from dialin.preflight.checked import StudyRequest
from dialin.preflight.option_files import base_setting, requested_on_builds, requested_settings
from dialin.question.options import StudyOptions
from dialin.variables.catalogue import Catalogue, Kind, Variable

BUILD = "mysql@9.7.4"
KNOWN = Catalogue(
    BUILD,
    {
        "back_log": Variable("back_log", Kind.INTEGER, default="80", minimum=1, maximum=65535),
        "innodb_buffer_pool_size": Variable("innodb_buffer_pool_size", Kind.INTEGER, default="134217728"),
    },
)


@pytest.fixture
def write(tmp_path):
    def of(name, *lines):
        path = tmp_path / name
        path.write_text("\n".join(["[mysqld]", *lines]))
        return path

    return of


def compared(path, *others, **options):
    question = StudyOptions(compare=[str(each) for each in (path, *others)], **options)
    return requested_settings(question, path.parent, KNOWN, {})


def test_a_loose_option_is_left_out_where_the_build_does_not_know_it(write):
    requested = compared(write("a.cnf", "loose_rocksdb_max=1", "loose_back_log=70"))
    assert requested.settings == [("a.cnf", {"back_log": 70})]
    assert requested.notes == ("a.cnf: mysql@9.7.4 has no rocksdb_max: left out, as loose_ asks for",)


def test_one_fault_is_one_line_with_its_place_and_remedy(write):
    with pytest.raises(
        UserError, match=r"a\.cnf, line 2: mysql@9\.7\.4 has no variable query_cache_size: removed in"
    ) as caught:
        compared(write("a.cnf", "query_cache_size=1M"))
    assert caught.value.remedy == "Leave it out (--leave-out-unknown)"


def test_all_faults_of_all_files_are_said_in_one_go_each_once(write):
    a, b = (write(f"{name}.cnf", "query_cache_size=1M", "sync_frm=1", "back_log=0") for name in "ab")
    with pytest.raises(UserError) as caught:
        compared(a, b)
    assert str(caught.value) == (
        "mysql@9.7.4 does not take 3 options of the files, listed above. Correct them; --leave-out-unknown leaves out those "
        "that it does not have"
    )
    lines = caught.value.log_tail.splitlines()
    assert len(lines) == 3
    assert lines[0] == f"query_cache_size: removed in MySQL 8.0 ({a}, line 2; {b}, line 2)"
    assert lines[2].startswith("back_log: back_log must be 1 to 65535; 0 was requested on mysql@9.7.4")


def test_refusals_of_several_builds_are_said_in_one_go(write):
    old = Catalogue("mysql@5.6.51", {"query_cache_size": Variable("query_cache_size", Kind.INTEGER, default="0")})
    files = [write("a.cnf", "query_cache_size=1M", "sync_frm=1"), write("b.cnf", "back_log=70")]
    question = StudyOptions(compare=[str(file) for file in files])
    with pytest.raises(UserError, match=r"2 of 2 builds do not take the files' options, listed above") as caught:
        requested_on_builds(question, files[0].parent, {"new": KNOWN, "old": old}, {})
    lines = caught.value.log_tail.splitlines()
    assert lines[0] == "mysql@9.7.4 does not take 2 options of the files, listed above:"
    assert lines[1].startswith("query_cache_size: removed in MySQL 8.0")
    assert lines[3] == "mysql@5.6.51 does not take 2 options of the files, listed above:"
    assert lines[5].startswith("back_log: ")


def test_a_refusal_of_one_of_several_builds_is_the_error_of_that_build(write):
    old = Catalogue("mysql@5.6.51", KNOWN.variables)
    files = [write(f"{name}.cnf", f"back_log=7{place}") for place, name in enumerate("ab")]
    question = StudyOptions(compare=[str(file) for file in files])
    assert list(requested_on_builds(question, files[0].parent, {"new": KNOWN, "old": old}, {})) == ["new", "old"]
    with pytest.raises(UserError, match=r"mysql@5\.6\.51 has no variable back_log"):
        requested_on_builds(question, files[0].parent, {"new": KNOWN, "old": Catalogue("mysql@5.6.51", {})}, {})


def test_variables_that_the_build_lacks_are_left_out_as_asked_with_one_note_for_both_files(write):
    files = [write(f"{name}.cnf", "query_cache_size=1M", "back_log=70") for name in "ab"]
    requested = compared(*files, **{"leave-out-unknown": True})
    assert [setting for _, setting in requested.settings] == [{"back_log": 70}] * 2
    (note,) = requested.notes
    assert note.startswith("a.cnf and b.cnf: not in mysql@9.7.4 and left out")


def test_sizes_are_scaled_as_asked_and_the_note_says_to_what(write):
    requested = compared(write("a.cnf", "innodb_buffer_pool_size=45G", "back_log=70"), **{"scale-sizes": "20%"})
    assert requested.settings == [("a.cnf", {"innodb_buffer_pool_size": "9G", "back_log": 70})]
    assert requested.notes == ("a.cnf: sizes scaled to 20 %: innodb_buffer_pool_size 45G is 9G",)


def base(setting, file):
    request = StudyRequest(StudyOptions(tune=[], set=setting), file.parent, SandboxPlace(), None, None, base_file=file)
    return base_setting(request, KNOWN, {})


def test_the_baseline_of_a_tune_is_its_file_below_what_is_set(write):
    setting, of_file = base({"back_log": 90}, write("a.cnf", "back_log=70", "innodb_buffer_pool_size=1G", "port=1"))
    assert setting == {"back_log": 90, "innodb_buffer_pool_size": "1G"}
    assert of_file.notes == ("a.cnf: left out, as they belong to one server only: port",)


def test_variables_that_the_user_sets_are_never_left_out(write):
    with pytest.raises(UserError, match=r"has no variable"):
        base({"another_size": 1}, write("a.cnf", "back_log=70"))
