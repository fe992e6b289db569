"""Which statements of a live server are compared each by itself, and what their reading asks."""

import pytest

from dialin.errors import NoAnswerError
from dialin.servers.connection import RefusedError
from dialin.workloads.traffic import digests
from dialin.workloads.traffic.digests import Digest, DigestTotals

SELECT, UPDATE = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT `c` FROM `sbtest1` WHERE `id` = ?", "sql/select"),
        ("INSERT INTO `sbtest1` ( `id` , `k` ) VALUES (...)", "sql/insert"),
        ("INSERT INTO `shop` . `t` VALUES (...)", "sql/insert"),
        ("INSERT INTO `t` ( `a` ) SELECT `a` FROM `u`", None),
        ("INSERT INTO `t` SELECT `a` FROM `u`", None),
        ("UPDATE `sbtest1` SET `k` = `k` + ? WHERE `id` = ?", "sql/update"),
        ("UPDATE `a` , `b` SET `a` . `k` = ?", None),
        ("UPDATE `a` JOIN `b` ON `a` . `id` = `b` . `id` SET `a` . `k` = ?", None),
        ("DELETE FROM `sbtest1` WHERE `id` = ?", "sql/delete"),
        ("DELETE FROM `a` USING `a` JOIN `b`", None),
        ("COMMIT ", "sql/commit"),
        ("CALL `p` (...)", None),
    ],
)
def test_a_digest_is_counted_as_a_kind_only_where_its_text_leaves_no_doubt(text, kind):
    assert digests.kind_of(text) == kind


def test_those_that_took_most_of_late_come_before_those_that_took_most_of_all_time():
    texts = {f"{number:064x}": f"SELECT {number}" for number in range(14)}
    before = {digest: DigestTotals(text, 1000.0 * place) for place, (digest, text) in enumerate(texts.items())}
    late = f"{0:064x}"
    after = before | {late: DigestTotals(texts[late], 50.0)}
    chosen = digests.largest(before, after)
    assert len(chosen) == digests.MOST
    assert chosen[0].digest == late
    assert chosen[1].digest == f"{13:064x}"


def test_statements_of_dialin_itself_are_no_traffic():
    own = {SELECT: DigestTotals("SELECT `EVENT_NAME` FROM `performance_schema` . `events`", 9.0)}
    assert digests.largest({}, own) == ()


def test_one_digest_of_many_schemas_is_one():
    rows = [(UPDATE, "UPDATE `t` SET `a` = ?", 4, 10), (UPDATE, "UPDATE `t` SET `a` = ?", 6, 20)]
    assert digests.read_all(lambda statement: rows)[UPDATE].took == 30


def test_a_server_that_shows_none_has_none():
    def refuse(statement, arguments=()):
        raise RefusedError("denied", "", 1142)

    assert digests.read_all(refuse) == {}


def test_a_stored_digest_is_what_it_was_and_only_digests_get_into_a_statement():
    digest = Digest(SELECT, "SELECT ?", "sql/select")
    assert digests.stored_digests({"digests": [digest.stored()]}) == (digest,)
    assert digests.stored_digests({}) == ()
    assert SELECT in digests.statement([digest])
    with pytest.raises(NoAnswerError, match="is no digest"):
        digests.statement([Digest("x' OR 1", "", "sql/select")])
