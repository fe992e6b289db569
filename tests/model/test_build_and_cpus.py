from pathlib import Path

import pytest

from dialin.model.build import Build, BuildReference, Vendor
from dialin.model.cpus import count_cpus, cpu_time, parse_cpus


def test_a_reference_stands_for_all_versions_that_begin_so():
    build = Build(Vendor.ORACLE, (9, 7, 4), Path("/x/mysqld"))
    assert BuildReference.parse("mysql@9.7").matches(build)
    assert BuildReference.parse("MySQL").matches(build)
    assert not BuildReference.parse("mysql@9.70").matches(build)
    assert not BuildReference.parse("mariadb@9.7").matches(build)
    assert build.id == "mysql@9.7.4"


@pytest.mark.parametrize("text", ["postgres@16", "mysql@", "mysql@x", "mysql-9.7", ""])
def test_text_that_names_no_build_is_refused(text):
    with pytest.raises(ValueError, match="does not name a build"):
        BuildReference.parse(text)


def test_lists_of_cpus():
    assert parse_cpus("0-2,5") == {0, 1, 2, 5}
    for wrong in ("", "a", "1-", "-1", "0,,1", "3-1", "²", "0-99999999999", "9" * 5000):
        with pytest.raises(ValueError, match="CPU"):
            parse_cpus(wrong)


def test_cpu_time_is_told_from_a_list_by_its_point():
    assert [cpu_time(text) for text in ("1.5", "2.0", "2", "0-3")] == [1.5, 2.0, None, None]
    assert [count_cpus(text) for text in ("1.5", "2", "0-3,8")] == [1.5, 1, 5]
    for wrong in ("0.0", "0.001", "1.5.5", "1.", ".5", "1.5,2", "-1.5", "1e3"):
        with pytest.raises(ValueError, match="CPU"):
            count_cpus(wrong)
