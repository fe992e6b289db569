"""The CPU profiles in the report, in the terminal and in Markdown."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.model.cause import Cause, Fault
from dialin.model.trial import Failure, Purpose, Step, TrialState
from dialin.report.document import profile_parts, why_sentences
from dialin.report.document.study_document import study_document
from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_verdict, print_why
from fixtures.example_evidence import nothing_moved, unseen
from fixtures.profiles import profiled
from fixtures.report_page import Page
from fixtures.study_builder import HOSTILE


@pytest.fixture(scope="module")
def record():
    return profiled(unseen(), "16", 5, {"function_58": 4.0, "function_105": 0.1})


def terminal(write, *given, **options):
    console = Console(width=100, record=True, file=io.StringIO())
    write(*given, console, **options)
    return console.export_text()


def test_the_sentence_names_the_functions_that_changed_most(record):
    sentence = profile_parts.sentence(explain(record).profile, "transaction")
    assert "CPU time of the server per transaction:" in sentence
    assert "Most changed: function_58 +" in sentence
    assert "function_105 −" in sentence


@pytest.mark.parametrize(
    ("seen", "says", "is_certain"),
    [
        ((1.0, 0.95), None, True),
        ((0.75, 0.75), "75.0 % with 1 and 75.0 % with 16 of the CPU time", True),
        ((0.75, 1.0), "75.0 % with 1 and 100.0 % with 16 of the CPU time", False),
    ],
)
def test_where_the_samples_are_not_the_cpu_time_of_the_server_one_line_says_so(seen, says, is_certain):
    record = profiled(unseen(), "16", 5, {"function_58": 4.0}, seen=seen)
    why = explain(record)
    words = " ".join(Page(html.render(record, why)).words.split())
    assert words.count("that the kernel counted for the server") == (says is not None)
    assert says is None or says in words
    assert ("Most changed" in profile_parts.sentence(why.profile, "transaction")) is is_certain


def test_where_nothing_changed_the_sentence_says_so():
    sentence = profile_parts.sentence(explain(profiled(nothing_moved(), "16", 5)).profile, "transaction")
    assert sentence.endswith("functions changed by more than chance.")


def test_the_page_draws_each_frame_once_with_both_candidates_and_marks_what_is_certain(record):
    page = Page(html.render(record, explain(record)))
    flame = page.data["flames"]["flame"]
    rows = {flame["names"][row[0]]: row for row in flame["rows"]}
    assert rows["function_58"][2] < rows["function_58"][3]
    assert rows["function_58"][5] > 0 > rows["function_105"][5]
    assert all(row[1] is None or row[1] < place for place, row in enumerate(flame["rows"]))
    assert "CPU profile" in page.words
    assert page.misnested == []
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    (figure,) = [attrs for attrs in page.all("figure") if attrs.get("class") == "flame"]
    assert {figure["aria-labelledby"], figure["aria-describedby"]} <= ids


def test_the_terminal_shows_the_top_lines_and_explain_the_table_alone_on_request(record):
    why = explain(record)
    assert "Profile:" in terminal(lambda r, console: print_verdict(r, console, why), record)
    shown = terminal(lambda r, w, console: print_why(r, w, console, only=profile_parts.KEY), record, why)
    assert "function_58" in shown
    assert "throughput against other trials" in shown
    assert "Cost per query" not in shown


def test_profiles_are_shown_where_no_probe_ran(record):
    nothing = {name: [] for name in ("reasons", "costs", "scaling", "statements", "waits", "wait_trials", "probes")}
    why = explain(record).model_copy(update=nothing)
    assert not why_sentences.is_known(why)
    assert "CPU profile" in Page(html.render(record, why)).words
    assert "function_58" in terminal(lambda r, w, console: print_why(r, w, console, only=profile_parts.KEY), record, why)


def test_a_study_whose_profiles_failed_says_why(record):
    failure = Failure(Step.MEASURE, Fault.MACHINE, Cause.quoted("perf has ended or does not answer"))
    trials = [
        replace(one, state=TrialState.INTERRUPTED, failure=failure) if one.purpose is Purpose.PROFILE else one
        for one in record.trials
    ]
    failed = replace(record, trials=trials, profiles={}, spec=record.spec.model_copy(update={"profile": True}))
    why = explain(failed)
    shown = terminal(lambda r, w, console: print_why(r, w, console, only=profile_parts.KEY), failed, why)
    assert "has no profile: perf has ended or does not answer." in " ".join(shown.split())
    assert "has no profile" in Page(html.render(failed, why)).words
    done = [replace(one, state=TrialState.DONE, failure=None) if one.purpose is Purpose.PROFILE else one for one in trials]
    assert "has no profile: its file is missing or damaged." in " ".join(profile_parts.missing(replace(failed, trials=done)))
    never = replace(failed, trials=[one for one in trials if one.purpose is not Purpose.PROFILE])
    assert profile_parts.missing(never) == ["The study has not profiled its candidates: it does so after its verdict."]


def test_where_one_of_several_profiles_failed_the_others_are_shown_with_the_reason():
    more = profiled(profiled(nothing_moved(), "16", 5), "4", 6, {"function_58": 4.0})
    lost = next(one for one in more.trials if one.candidate == "16" and one.purpose is Purpose.PROFILE)
    failure = Failure(Step.MEASURE, Fault.MACHINE, Cause.quoted("perf has ended or does not answer"))
    trials = [replace(one, state=TrialState.INTERRUPTED, failure=failure) if one.id == lost.id else one for one in more.trials]
    kept = {number: one for number, one in more.profiles.items() if number != lost.id}
    spec = more.spec.model_copy(update={"profile_candidates": True})
    failed = replace(more, trials=trials, profiles=kept, spec=spec)
    words = Page(html.render(failed, explain(failed))).words
    assert "16 has no profile: perf has ended or does not answer." in words
    assert "function_58" in words


def test_a_profile_that_cannot_be_compared_is_explained(record):
    def shown(changed):
        why = explain(changed)
        assert why.profile is None
        words = terminal(lambda r, w, console: print_why(r, w, console, only=profile_parts.KEY), changed, why)
        return " ".join(words.split())

    spec = record.spec.model_copy(update={"profile": True})
    last = record.trials[-1]
    alone = {number: one for number, one in record.profiles.items() if number != last.id}
    ended = replace(record, spec=spec, trials=record.trials[:-1], profiles=alone)
    assert "Only 1 was profiled: the study ended before the trial of another candidate." in shown(ended)
    idle = {**record.samples, last.id: [replace(one, tps=0.0) for one in record.samples[last.id]]}
    assert "No transaction was completed in the seconds in which stacks" in shown(replace(record, spec=spec, samples=idle))


def test_every_profiled_candidate_has_its_graph_and_its_table():
    both = profiled(profiled(nothing_moved(), "16", 5), "4", 6)
    page = Page(html.render(both, explain(both)))
    assert set(page.data["flames"]) == {"flame", "flame-2"}
    assert page.data["flames"]["flame-2"]["second"] != page.data["flames"]["flame"]["second"]
    assert page.misnested == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_waits_and_system_calls_have_a_graph_and_tables_of_their_own():
    traced = profiled(unseen(), "16", 5, waited=(400.0, 100.0))
    why = explain(traced)
    page = Page(html.render(traced, why))
    assert set(page.data["flames"]) == {"flame", "flame-waits"}
    assert "log_write_up_to" in page.data["flames"]["flame-waits"]["names"]
    shown = terminal(lambda r, w, console: print_why(r, w, console, only=profile_parts.KEY), traced, why)
    assert "log_write_up_to (futex)" in shown
    assert "System calls of all threads per transaction" in " ".join(shown.split())


def test_why_waits_were_not_traced_is_said(record):
    profiles = {number: replace(one, untraced="No permission to trace") for number, one in record.profiles.items()}
    untraced = replace(record, profiles=profiles)
    words = Page(html.render(untraced, explain(untraced))).words
    assert "Waits and system calls were not traced: No permission to trace." in words


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ({"version": "mysqld Ver 9.7.4", "vendor": "mysql"}, "exactly this build (mysqld Ver 9.7.4): the archive"),
        ({"version": "10.11.19-MariaDB", "vendor": "mariadb"}, "mariadb-server-core-dbgsym"),
        ({"version": "8.0.36-28", "vendor": "percona", "image": "percona:8.0"}, "(8.0.36-28) into its image"),
        ({}, "exactly this build. Then profile again."),
    ],
)
def test_how_to_get_the_names_of_functions_is_said_of_the_build(server, says):
    assert says in profile_parts.symbols_of(server)


def test_the_page_of_profiles_names_the_same_packages():
    page = (Path(__file__).parents[2] / "docs" / "why.md").read_text(encoding="utf-8")
    packages = re.findall(r"[\w-]+-(?:debuginfo|dbgsym|dbg)\b", " ".join(profile_parts._SYMBOLS.values()))
    assert len(packages) == 6
    assert [name for name in packages if f"`{name}`" not in page] == []


def test_a_study_without_profiles_shows_nothing_of_them():
    record = unseen()
    text = html.render(record, explain(record))
    assert "CPU profile" not in text
    assert Page(text).data["flames"] == {}


def test_names_of_functions_are_shown_as_text(record):
    def renamed(profile):
        first, *others = sorted(profile.stacks, key=lambda one: one.frames[-1] != "function_58")
        return replace(profile, stacks=[replace(first, frames=(*first.frames[:-1], HOSTILE)), *others])

    hostile = replace(record, profiles={number: renamed(one) for number, one in record.profiles.items()})
    why = explain(hostile)
    text = html.render(hostile, why)
    assert "<script>alert('x')" not in text
    assert any("alert" in name for name in Page(text).data["flames"]["flame"]["names"])
    assert "\x1b" not in text
    assert "\x1b[31m" not in terminal(print_why, hostile, why)
    document = study_document(hostile, why)
    assert "<script>" not in markdown.to_markdown(document)
    assert "\x1b" not in json.dumps([one.embedded() for one in document.flame_graphs()], ensure_ascii=False)
