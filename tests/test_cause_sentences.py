import pytest

from dialin.cause_sentences import sentence
from dialin.errors import ServerError
from dialin.model.cause import Cause, CauseCode
from fixtures.internal_codes import codes_in

FIGURES = {
    "advice": "See its log",
    "after": 2.1,
    "build": "mysql@9.7.4",
    "cause": {"code": "no_answer", "figures": {"place": "db1:3306", "words": "timed out"}},
    "danger": "no_answer",
    "driver": "sysbench",
    "errors": [{"number": 1062, "name": "DUP_ENTRY", "count": 12}],
    "exit": {"signal": "SIGKILL"},
    "exit_code": 3,
    "format": 4,
    "here": "0.2.0",
    "limit": 4.5,
    "now": "151",
    "place": "db1:3306",
    "purpose": "apply",
    "program": "systemctl",
    "restored_in": 0.05,
    "seconds": 60,
    "setting": "innodb_io_capacity=200",
    "signal": "SIGKILL",
    "statement": "SELECT 1",
    "there": "0.1.0",
    "times": 3,
    "total": 12.0,
    "user": "dialin",
    "usual": 2.2,
    "value": 7,
    "variable": "max_connections",
    "variables": ["innodb_log_file_size"],
    "words": "{seconds} {0} said the server",
}


@pytest.mark.parametrize("code", CauseCode)
def test_every_cause_has_a_sentence_that_quotes_text_of_others_as_it_is(code):
    text = sentence(Cause(code, FIGURES))
    assert text == text.strip()
    assert text.rstrip(".") == text
    assert "{" not in text.replace(FIGURES["words"], "")
    assert not codes_in(text)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"signal": "SIGKILL"}, "The server ended: it died of SIGKILL"),
        ({"words": "out of memory"}, "The server ended: out of memory"),
        ({"exit_code": 2}, "The server ended: it ended with exit code 2"),
        ({"exit_code": None}, "The server ended: it no longer answers"),
    ],
)
def test_how_a_server_ended_is_a_figure(how, said):
    assert ServerError(Cause(CauseCode.SERVER_ENDED, {"exit": how})).what == said


@pytest.mark.parametrize(("seconds", "said"), [(21600, "6 h"), (600, "10 min"), (45, "45 s")])
def test_a_limit_is_in_the_units_of_its_size(seconds, said):
    assert (
        sentence(Cause(CauseCode.PREPARING_SLOW, {"driver": "go-tpc", "seconds": seconds}))
        == f"go-tpc did not end within {said}"
    )


def test_an_error_without_a_code_is_stored_as_its_own_words():
    assert sentence(ServerError("No such thing").cause) == "No such thing"
