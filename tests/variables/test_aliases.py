import pytest

from dialin.errors import UserError
from dialin.variables.aliases import reported_name


def test_a_name_is_the_variable_of_that_name_where_the_server_has_it():
    assert reported_name("transaction-isolation", {"transaction_isolation": ""}) == "transaction_isolation"
    assert reported_name("transaction_isolation", {"tx_isolation": "", "transaction_isolation": ""}) == "transaction_isolation"


def test_an_options_spelling_is_the_variable_that_it_sets():
    assert reported_name("transaction_isolation", {"tx_isolation": ""}) == "tx_isolation"
    assert reported_name("default_time_zone", {"time_zone": ""}) == "time_zone"


def test_a_name_that_the_server_lacks_stays_as_it_is_and_what_is_none_is_refused():
    assert reported_name("no_such", {}) == "no_such"
    assert reported_name("transaction_isolation", {}) == "transaction_isolation"
    with pytest.raises(UserError):
        reported_name("x; DROP", {})
