import pytest

from dialin.servers.connection import RefusedError
from dialin.study.catalogues import _setting_again


def refusing(number):
    def query(statement):
        assert statement == "SET GLOBAL read_only = @@GLOBAL.read_only"
        raise RefusedError("refused", "", number)

    return query


def test_setting_again_tells_the_servers_error():
    assert _setting_again(lambda statement: [])("read_only") == 0
    assert _setting_again(refusing(1238))("read_only") == 1238


@pytest.mark.parametrize("number", [0, 2006, 2013])
def test_a_lost_connection_tells_nothing_of_a_variable(number):
    with pytest.raises(RefusedError):
        _setting_again(refusing(number))("read_only")
