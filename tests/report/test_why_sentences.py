from dialin.evidence.reasons import sources
from dialin.report.document import why_sentences
from fixtures import example_reasons, example_studies
from fixtures.live_studies import Live, live_record


def test_missing_probes_are_said_in_a_plain_sentence():
    record = example_studies.winner()
    assert why_sentences.summary(None, record) == why_sentences.UNKNOWN
    assert why_sentences.summary(example_reasons.unknown(record), record) == why_sentences.UNKNOWN
    assert "no probe ran" in why_sentences.UNKNOWN
    assert why_sentences.summary(None, live_record(Live(effects={"2000": 0.9}))) == why_sentences.LIVE


def test_correlation_is_called_correlation_and_the_rule_has_its_source():
    record = example_studies.winner()
    why = example_reasons.full(record)
    reported = why_sentences.remark(why.reasons[0], record)
    assert reported == "Correlation with throughput over the trials: r = −0.97."
    assert why_sentences.remark(why.reasons[3], record) == ""
    assert why_sentences.source(why.reasons[3]) == ("MySQL Reference Manual, Change Buffer", "")
    assert "p99 latency" in why_sentences.remark(why.reasons[0], example_studies.by_latency())


def test_the_cost_of_watching_is_one_sentence_and_small_shares_are_not_said_to_be_none():
    reported = why_sentences.watching(example_reasons.full(example_studies.winner()))
    assert reported == (
        "Probes took at most 0.3 % of the server's time: status 0.2 %, waits 0.1 %, innodb <0.1 %, machine 0.0 %. "
        "dialin itself used 0.2 % of a CPU."
    )


def test_an_unreadable_source_is_reported_once_for_all_probes_that_say_it():
    why = example_reasons.full(example_studies.winner())
    note = why.probes[3].notes
    both = [one.model_copy(update={"notes": note}) if one.probe == "status" else one for one in why.probes]
    assert why_sentences.unread(why.model_copy(update={"probes": both})) == [f"status, innodb: {note[0]}"]


def test_reasons_are_counted_by_their_kind():
    reasons = example_reasons.full(example_studies.winner()).reasons
    assert why_sentences.kinds_of(reasons) == "3 changed with the verdict, 1 unused capacity, 1 limit hit"


def test_a_source_is_a_link_only_where_its_address_is_one_that_rules_name():
    reason = example_reasons.full(example_studies.winner()).reasons[0]

    def source(text):
        return why_sentences.source(reason.model_copy(update={"source": text}))

    assert source(sources.STATUS) == (
        "Server Status Variables, MySQL 8.4 manual (Oracle)",
        "https://dev.mysql.com/doc/refman/8.4/en/server-status-variables.html",
    )
    assert source(sources.REDO_LOG)[0].startswith(
        "Redo Log, MySQL 8.4 manual (Oracle); pages are flushed for it from seven eighths of what it may hold"
    )
    assert source("javascript:alert(1) http://evil.example/x")[1] == ""
    every = [text for name, text in vars(sources).items() if name.isupper() and isinstance(text, str)]
    assert all(source(text)[1].startswith("https://") for text in every if "/" in text.rpartition(", ")[2])
