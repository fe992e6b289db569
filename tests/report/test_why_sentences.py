from dialin.report.document import why_sentences
from fixtures import example_reasons, example_studies


def test_what_was_not_watched_is_said_in_a_plain_sentence():
    assert why_sentences.summary(None) == why_sentences.UNKNOWN
    assert why_sentences.summary(example_reasons.unknown(example_studies.winner())) == why_sentences.UNKNOWN
    assert "nothing was watched" in why_sentences.UNKNOWN


def test_correlation_is_called_correlation_and_the_rule_has_its_source():
    record = example_studies.winner()
    why = example_reasons.full(record)
    told = why_sentences.remark(why.reasons[0], record)
    assert told.startswith("Correlation with throughput, trial by trial: −0.97. Source: MySQL Reference Manual")
    assert why_sentences.remark(why.reasons[3], record) == "Source: MySQL Reference Manual, Change Buffer."
    assert "p99 latency" in why_sentences.remark(why.reasons[0], example_studies.by_latency())


def test_the_cost_of_watching_is_one_sentence_and_small_shares_are_not_said_to_be_none():
    told = why_sentences.watching(example_reasons.full(example_studies.winner()))
    assert told == (
        "Watching cost at most 0.3 % of the server's time: status 0.2 %, waits 0.1 %, innodb <0.1 %, machine 0.0 %. "
        "dialin itself used 0.2 % of a CPU for it."
    )


def test_what_could_not_be_read_is_told_once_for_all_probes_that_say_it():
    why = example_reasons.full(example_studies.winner())
    note = why.probes[3].notes
    both = [one.model_copy(update={"notes": note}) if one.probe == "status" else one for one in why.probes]
    assert why_sentences.unread(why.model_copy(update={"probes": both})) == [f"status, innodb: {note[0]}"]


def test_reasons_are_counted_by_their_kind():
    reasons = example_reasons.full(example_studies.winner()).reasons
    assert why_sentences.kinds_of(reasons) == "3 moved with the verdict, 1 room hardly used, 1 limit hit"
