"""What a server can lose in a crash, judged by its whole effective setting.

One variable alone does not decide what survives. With a binary log, InnoDB does not sync the commit record of a transaction:
crash recovery commits a prepared transaction if the binary log has it, and rolls it back if not. A commit therefore survives a
crash of the machine only if both logs were synced, and with `sync_binlog` other than 1 the latest commits can be rolled back
even where `innodb_flush_log_at_trx_commit` is 1 (MySQL bug 75519; MariaDB, Group Commit for the Binary Log).

`manual` is the MySQL Reference Manual (8.0 to 9.7), `kb` the MariaDB documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.durability import DurabilityLoss, Loss, LossAmount, LossUnit
from dialin.model.setting import Value, as_number, means_off, whole_number
from dialin.variables.rules import CHOICES

Values = Mapping[str, str]
"""The effective values of a server's variables."""

_NOTHING = LossAmount(unit=LossUnit.NOTHING)
_LATEST = LossAmount(unit=LossUnit.LATEST)
_UNKNOWN = LossAmount(unit=LossUnit.UNKNOWN)

_TIMEOUT = "innodb_flush_log_at_timeout"


@dataclass(frozen=True, slots=True)
class DurabilityRule:
    """How much of one thing a setting can lose.

    Attributes:
        variables: what decides it. The first is needed: a server without it is not judged by this rule.
        amount: how much is lost at most with these effective values.
        loses: what is lost, with `{amount}` where that varies; no full stop.
    """

    loss: Loss
    variables: tuple[str, ...]
    amount: Callable[[Values], LossAmount]
    loses: str
    source: str


def _word(values: Values, name: str) -> str:
    """Return a value in lower case, as a word where the server reports the number of an enumeration."""
    text = str(values.get(name, "")).strip()
    named = CHOICES.get(name, ())
    if (place := whole_number(text)) is not None and place < len(named):
        text = named[place]
    return text.lower()


def _is_off(values: Values, name: str) -> bool:
    return means_off(_word(values, name))


def _has_binary_log(values: Values) -> bool:
    return "sync_binlog" in values and not _is_off(values, "log_bin")


def _syncs(values: Values) -> float:
    """Return how many group commits pass between two syncs of the binary log; 0 if the operating system decides."""
    commits = as_number(values.get("sync_binlog", "1"))
    return 1 if commits is None else commits


def _flushing(values: Values) -> str:
    return _word(values, "innodb_flush_log_at_trx_commit")


def _seconds(values: Values) -> LossAmount:
    return LossAmount(unit=LossUnit.SECONDS, number=as_number(values.get(_TIMEOUT, "1")) or 1)


def _in_server_crash(values: Values) -> LossAmount:
    return _NOTHING if _flushing(values) in ("1", "2", "3") else _seconds(values)


def _in_machine_crash(values: Values) -> LossAmount:
    if _word(values, "innodb_flush_method") == "nosync":
        return _UNKNOWN
    match _flushing(values):
        case "3":
            return _NOTHING
        case "1":
            return _LATEST if _has_binary_log(values) and _syncs(values) != 1 else _NOTHING
        case _:
            return _seconds(values)


def _out_of_binary_log(values: Values) -> LossAmount:
    commits = _syncs(values)
    if not _has_binary_log(values) or commits == 1:
        return _NOTHING
    return LossAmount(unit=LossUnit.COMMITS, number=commits) if commits > 0 else _UNKNOWN


def _if_off(name: str, *others: str) -> Callable[[Values], LossAmount]:
    return lambda values: _UNKNOWN if _is_off(values, name) or _word(values, name) in others else _NOTHING


def _unsynced(values: Values) -> LossAmount:
    method = _word(values, "innodb_flush_method") in ("nosync", "littlesync", "o_direct_no_fsync", "all_o_direct")
    return _UNKNOWN if method or _word(values, "innodb_doublewrite") == "fast" else _NOTHING


_FLUSH = "innodb_flush_log_at_trx_commit"
_COMMITS = f"manual, {_FLUSH}, {_TIMEOUT}"

DURABILITY_RULES: tuple[DurabilityRule, ...] = (
    DurabilityRule(Loss.COMMITS_IN_SERVER_CRASH, (_FLUSH, _TIMEOUT), _in_server_crash,
        "a crash of the server can lose {amount}", f"{_COMMITS}: with 0 the log is written once per second"),
    DurabilityRule(Loss.COMMITS_IN_MACHINE_CRASH, (_FLUSH, _TIMEOUT, "sync_binlog", "log_bin", "innodb_flush_method"),
        _in_machine_crash, "a crash of the machine can lose {amount}",
        f"{_COMMITS}, sync_binlog; MySQL bug 75519; kb: 3 syncs at commit, too"),
    DurabilityRule(Loss.HALF_WRITTEN_PAGES, ("innodb_doublewrite",), _if_off("innodb_doublewrite", "detect_only"),
        "a page half written in a crash cannot be restored, and its table may be lost",
        "manual, innodb_doublewrite: DETECT_ONLY records which pages were being written, not the pages"),
    DurabilityRule(Loss.UNSYNCED_WRITES, ("innodb_flush_method", "innodb_doublewrite"), _unsynced,
        "not every write is synced, so a crash of the machine can lose pages or commits that a cache held",
        "manual, innodb_flush_method: nosync and littlesync are for testing, O_DIRECT_NO_FSYNC skips fsync() after writing "
            "pages; kb, innodb_doublewrite: fast"),
    DurabilityRule(Loss.BINARY_LOG_EVENTS, ("sync_binlog", "log_bin"), _out_of_binary_log,
        "a crash of the machine can lose {amount} from the binary log, which replicas and point-in-time recovery then lack",
        "manual, sync_binlog"),
    DurabilityRule(Loss.BINARY_LOG, ("log_bin",), _if_off("log_bin"),
        "there is no binary log for point-in-time recovery or replication", "manual, Point-in-Time Recovery"),
    DurabilityRule(Loss.PAGE_CHECKSUMS, ("innodb_checksum_algorithm",),
        _if_off("innodb_checksum_algorithm", "none", "strict_none"), "damaged pages from the disk are not detected",
        "manual, innodb_checksum_algorithm"),
    DurabilityRule(Loss.PAGE_CHECKSUMS, ("innodb_checksums",), _if_off("innodb_checksums"),
        "damaged pages from the disk are not detected", "manual 5.6, innodb_checksums"),
    DurabilityRule(Loss.REDO_LOG_CHECKSUMS, ("innodb_log_checksums",), _if_off("innodb_log_checksums"),
        "damage in the redo log is not detected in crash recovery", "manual, innodb_log_checksums"),
)  # fmt: skip
"""What can be lost, the most serious first."""


def weaker_durability(candidate: Values, baseline: Values) -> list[DurabilityLoss]:
    """Return what a candidate can lose that the baseline keeps, or of which it can lose more, the most serious first.

    Both are whole effective settings: what one variable loses depends on others.
    """
    losses = []
    for rule in DURABILITY_RULES:
        if rule.variables[0] not in candidate or rule.variables[0] not in baseline:
            continue
        amount, of_baseline = rule.amount(candidate), rule.amount(baseline)
        if amount.order > of_baseline.order:
            causes = _causes(rule, candidate, baseline)
            losses.append(DurabilityLoss(loss=rule.loss, variables=causes, amount=amount, of_baseline=of_baseline))
    return losses


def safest_values(variable: str, values: Sequence[Value]) -> tuple[Value, ...]:
    """Return those of a variable's values that lose nothing that another one of them keeps, whatever else is set."""
    alone = {value: {variable: str(value)} for value in values}
    return tuple(value for value in values if not any(weaker_durability(alone[value], other) for other in alone.values()))


def _causes(rule: DurabilityRule, candidate: Values, baseline: Values) -> list[str]:
    """Return the variables that lose less with the baseline's value; where only several together do, all that differ."""
    differing = [name for name in rule.variables if name in baseline and candidate.get(name) != baseline[name]]
    amount = rule.amount(candidate).order
    alone = [name for name in differing if rule.amount({**candidate, name: baseline[name]}).order < amount]
    return alone or differing


def loss_text(loss: DurabilityLoss) -> str:
    """Return what a candidate can lose, and how much of it the baseline can lose, too; no full stop."""
    loses = next(rule.loses for rule in DURABILITY_RULES if rule.loss is loss.loss)
    text = loses.format(amount=_amount_text(loss.amount))
    return text if loss.of_baseline.is_nothing else f"{text}; the baseline can lose {_amount_text(loss.of_baseline)}"


def losses_text(losses: Iterable[DurabilityLoss]) -> str:
    """Return all that a candidate can lose, in one sentence without its full stop."""
    return "; ".join(map(loss_text, losses))


def explanations(variable: str) -> list[tuple[str, str]]:
    """Return what a value of this variable can lose, with the source of that; empty if durability does not depend on it."""
    return [
        (rule.loses.format(amount="commits"), rule.source)
        for rule in DURABILITY_RULES
        if variable in rule.variables and not (variable == "log_bin" and rule.variables[0] != "log_bin")
    ]


def _amount_text(amount: LossAmount) -> str:
    match amount.unit:
        case LossUnit.NOTHING:
            return "nothing"
        case LossUnit.LATEST:
            return "the latest commits"
        case LossUnit.COMMITS:
            return f"the last {amount.number:,.0f} group commits"
        case LossUnit.SECONDS if amount.number == 1:
            return "about the last second of commits"
        case LossUnit.SECONDS:
            return f"about the last {amount.number:,.0f} seconds of commits"
        case LossUnit.UNKNOWN:
            return "an unknown number of commits"
