import pytest

from dialin.errors import UserError
from dialin.servers.assign import variable


def test_a_name_is_the_variable_of_that_name_where_the_server_has_it():
    assert variable("transaction-isolation", {"transaction_isolation": ""}) == "transaction_isolation"
    assert variable("transaction_isolation", {"tx_isolation": "", "transaction_isolation": ""}) == "transaction_isolation"


def test_an_options_spelling_is_the_variable_that_it_sets():
    assert variable("transaction_isolation", {"tx_isolation": ""}) == "tx_isolation"
    assert variable("default_time_zone", {"time_zone": ""}) == "time_zone"


def test_a_name_that_the_server_lacks_stays_as_it_is_and_what_is_none_is_refused():
    assert variable("no_such", {}) == "no_such"
    assert variable("transaction_isolation", {}) == "transaction_isolation"
    with pytest.raises(UserError):
        variable("x; DROP", {})
