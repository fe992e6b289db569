import pytest

from dialin.errors import UserError
from dialin.model.study import Candidate
from dialin.preflight.checked import StudyRequest
from dialin.preflight.option_files import base_setting, naming_lines, without_unknown
from dialin.question.options import StudyOptions
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.variables.check import check_setting

BUILD = "mysql@9.7.4"
KNOWN = Catalogue(BUILD, {"back_log": Variable("back_log", Kind.INTEGER, default="80", minimum=1, maximum=65535)})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my.cnf"
    path.write_text("[mysqld]\nloose_rocksdb_max=1\nloose_back_log=70\nquery_cache_size=1M\n")
    return path


def test_a_loose_option_is_left_out_where_the_build_does_not_know_it(file):
    setting = {"rocksdb_max": 1, "back_log": 70, "query_cache_size": "1M"}
    (candidate,), notes = without_unknown([Candidate(name="my.cnf", setting=setting, server=BUILD)], [file], {BUILD: KNOWN})
    assert candidate.setting == {"back_log": 70, "query_cache_size": "1M"}
    assert notes == ["mysql@9.7.4 has no rocksdb_max: left out, as loose_ asks for"]


def test_an_error_about_a_variable_of_a_file_names_the_line(file):
    with (
        pytest.raises(UserError, match=r"my\.cnf, line 4: mysql@9\.7\.4 has no variable"),
        naming_lines([file]),
    ):
        check_setting({"query_cache_size": "1M"}, KNOWN, {})
    with pytest.raises(UserError, match=r"^mysql@9\.7\.4 has no variable"), naming_lines([file]):
        check_setting({"another_size": "1M"}, KNOWN, {})


def _request(setting, file):
    """A tune whose baseline comes from a file."""
    return StudyRequest(StudyOptions(tune=[], set=setting), file.parent, None, None, base_file=file)


def test_the_file_of_a_tunes_baseline_has_loose_options_as_the_server_has_them(file):
    setting, notes = base_setting(_request({"rocksdb_max": 1, "back_log": 70}, file), KNOWN, {})
    assert setting == {"back_log": 70}
    assert notes == ["mysql@9.7.4 has no rocksdb_max: left out, as loose_ asks for"]
    with pytest.raises(UserError, match=r"my\.cnf, line 4: mysql@9\.7\.4 has no variable"):
        base_setting(_request({"query_cache_size": "1M"}, file), KNOWN, {})


def test_what_the_user_sets_is_never_left_out(file):
    with pytest.raises(UserError, match=r"has no variable"):
        base_setting(_request({"another_size": 1}, file), KNOWN, {})
