import pytest

from dialin.model.build import Vendor
from dialin.variables import removals
from dialin.variables.removals import removal
from fixtures.real_catalogues import BUILDS, real_catalogue

NAMES = {name for build in BUILDS for name in real_catalogue(build).variables} | {
    name for table in (removals._MYSQL, removals._MARIADB) for names in table.values() for name in names
}


@pytest.mark.parametrize("build", BUILDS)
def test_a_removed_variable_is_not_in_the_build_and_its_successor_is(build):
    known = real_catalogue(build).variables
    for name in NAMES:
        if gone := removal(name, build):
            assert name not in known
            assert not gone.successor or gone.successor in known


def test_every_variable_of_5_6_that_9_7_does_not_have_has_a_reason():
    missing = set(real_catalogue("mysql@5.6.24").variables) - set(real_catalogue("mysql@9.7.4").variables)
    assert {name for name in missing if removal(name, "mysql@9.7.4") is None} == set()


def test_a_variable_is_there_until_it_is_removed():
    assert removal("query_cache_size", "mysql@5.7.44") is None
    assert str(removal("query_cache_size", "mysql@8.0.33")) == "removed in MySQL 8.0"
    assert removal("query_cache_size", "mariadb@11.4.5") is None
    assert removal("innodb_log_files_in_group", "mariadb@10.11.19").vendor is Vendor.MARIADB
