"""Text from a server or a file is shown as text, wherever it comes from and wherever it goes: nothing of it is obeyed."""

import csv
import io
import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from dialin import json_documents
from dialin.apply import sql_file
from dialin.dashboard.follow import Follower
from dialin.dashboard.view import view
from dialin.frames import samples_export
from dialin.model.cause import Cause
from dialin.model.durability import DurabilityLoss, Loss, LossAmount, LossUnit
from dialin.model.record import LogLine
from dialin.model.verdict import Note, ReasonCode, Verdict
from dialin.report.files import recommendation
from dialin.report.plain_lines import PlainLines
from dialin.report.progress_line import ProgressLine, draw
from dialin.report.render import html, markdown, markdown_text
from dialin.report.render.terminal import print_verdict, print_why
from dialin.store import read_only
from dialin.testing.fake_clock import FakeClock
from dialin.variables import optionfile as servers_own
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures import example_reasons, example_studies, stored_study
from fixtures.event_replay import drive


def cnf_of(record):
    return recommendation(record, record.verdict)["recommended.cnf"]


def sql_of(record):
    return recommendation(record, record.verdict)["recommended.sql"]


CONTROLS = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u2066\u200f\ufeff\x7f"
TRICKS = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>|| `tick` ]]> --> </summary></details> [click](javascript:alert(1)) "
    "![x](http://evil.example/x.png) <a href=javascript:alert(1)>x</a> http://evil.example www.evil.example {{7*7}} ${7*7} "
    "[bold red]loud[/] @everyone #1 $x$ __b__ **b** ~~s~~ &lt; %s %(x)s '; DROP TABLE t; -- \\ \" "
)
NASTY = f"{TRICKS}{CONTROLS}\x00\n[mysqld]\nskip-grant-tables\n\n# heading\n- item\n```\n1. x\r\ttab"
NOTHING_LOST, ALL_LOST = (LossAmount(unit=unit) for unit in (LossUnit.NOTHING, LossUnit.UNKNOWN))
HOSTILE_LOSS = DurabilityLoss(loss=Loss.COMMITS_IN_SERVER_CRASH, variables=[NASTY], amount=ALL_LOST, of_baseline=NOTHING_LOST)
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE_VARIABLE = Variable("init_connect", Kind.STRING, dynamic=True)


@cache
def record():
    """A study in which every text that a server or a file gives is hostile, and the recommendation is, too."""
    made = example_studies.winner()
    names = {one.name: f"{one.name} {NASTY}" for one in made.spec.candidates}
    one_line = TRICKS.strip()
    candidates = [
        one.model_copy(update={"name": names[one.name], "setting": {"init_connect": one_line, "init_file": NASTY}})
        for one in made.spec.candidates
    ]
    candidates[0] = candidates[0].model_copy(update={"setting": {}})
    spec = made.spec.model_copy(
        update={
            "candidates": tuple(candidates),
            "baseline": names[made.spec.baseline],
            "fixed": {"sql_mode": NASTY},
            "workload": made.spec.workload.model_copy(update={"options": {"tables": NASTY}}),
        }
    )
    failure = example_studies.failed_candidate().trials[0].failure
    trials = [
        replace(
            trial,
            candidate=names[trial.candidate],
            in_force={"version": NASTY, "init_connect": NASTY, "init_file": NASTY, NASTY: NASTY},
            real={"init_file": NASTY},
            failure=replace(failure, cause=Cause.quoted(NASTY), log_tail=f"{NASTY}\n{NASTY}")
            if trial.id == 3 and failure
            else None,
        )
        for trial in made.trials
    ]
    note = Note(code="server_warning", text=NASTY, data={NASTY: [NASTY, {NASTY: NASTY}]})
    judged = [
        one.model_copy(
            update={
                "name": names[one.name],
                "setting": {"init_connect": NASTY},
                "in_force": {"init_connect": NASTY},
                "real": {"init_file": NASTY},
                "weaker_durability": [HOSTILE_LOSS],
            }
        )
        for one in made.verdict.candidates
    ]
    verdict = made.verdict.model_copy(
        update={
            "headline": f"{names['16']} wins.",
            "reason": NASTY,
            "reason_code": ReasonCode.CONFOUNDED,  # of figures that are missing, so that the text is shown
            "recommended": {"init_connect": one_line, "init_file": NASTY},
            "recommended_candidate": names["16"],
            "winners": [names["16"]],
            "baseline": names[made.verdict.baseline],
            "candidates": judged,
            "warnings": [note],
            "confounds": [note],
            "server": {NASTY: NASTY},
            "host": {NASTY: NASTY},
        }
    )
    return replace(
        made,
        directory=f"/srv/{NASTY}",
        command=f"dialin sweep {NASTY}",
        dialin_version=NASTY,
        spec=spec,
        blocks=[replace(block, order=tuple(names[name] for name in block.order)) for block in made.blocks],
        trials=trials,
        verdict=verdict,
        host={**made.host, "cpu": NASTY, "disk": NASTY, NASTY: NASTY},
        servers={NASTY: {"version": NASTY, NASTY: NASTY}},
        catalogues={made.verdict.candidates[0].server: Catalogue("x", {"init_connect": HOSTILE_VARIABLE}).to_json()},
        log=[*made.log, LogLine.of_text(made.created, NASTY)],
    )


@cache
def why():
    """Reasons whose every text is hostile."""
    found = example_reasons.hostile(record())
    text = json.dumps(found.model_dump(mode="json", by_alias=True))
    plain, nasty = (json.dumps(each)[1:-1] for each in (example_studies.HOSTILE, NASTY))
    return type(found).model_validate_json(text.replace(plain, nasty))


class Page(HTMLParser):
    """What a browser makes of a page: every element with its attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.scripts, self.words, self._in = [], [], "", ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._in = tag if tag in ("script", "style") else ""
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in = ""

    def handle_data(self, data):
        if self._in == "script":
            self.scripts[-1] += data
        elif not self._in:
            self.words += data


def assert_harmless(page, scripts):
    for tag, attributes in page.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base", "form"}, tag
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in ("href", "src", "action"):
            assert not (attributes.get(name) or "").strip().lower().startswith(("javascript", "http", "//")), (tag, attributes)
    assert len(page.scripts) == scripts
    assert "<script>alert(1)</script>" in page.words


def test_the_html_report_shows_it():
    text = html.render(record(), why())
    page = Page(text)
    assert_harmless(page, scripts=len(Page(html.render(example_studies.winner())).scripts))
    own = text.replace(html.assets().library, "").replace(html.assets().script, "")
    assert not ACTING.search(own)
    assert all("alert(1)" not in script or json.loads(script) for script in page.scripts)


def test_markdown_shows_it():
    text = markdown.render(record(), why())
    page = Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))
    assert_harmless(page, scripts=0)
    assert not ACTING.search(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"a", "s", "em", "hr", "h1", "h2", "h3", "h4", "blockquote"}


def test_nobody_is_mentioned_and_no_issue_is_linked_on_a_code_host():
    shown = unescape(markdown_text.prose("@everyone, (@team) and #12 of owner/name#34"))
    assert not re.search(r"(?<!\w)@\w|#\d", shown)


@pytest.mark.parametrize("site", ["http://evil.example", "https://evil.example/x?y", "www.evil.example"])
def test_no_address_of_others_becomes_a_link_on_a_code_host(site):
    shown = markdown_text.prose(f"see {site} now")
    assert "://" not in shown
    assert "www." not in shown
    assert MarkdownIt("commonmark").render(shown).strip() == f"<p>see {site} now</p>"


@pytest.mark.parametrize("text", ["- a", "+ a", "1. a", "12) a", "---", "===", "-", "# a", "> a", "* a", "    a", "`a"])
def test_a_sentence_begins_no_list_no_heading_and_no_code(text):
    assert MarkdownIt("commonmark").enable("table").render(markdown_text.prose(text)).startswith("<p>")


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("explained", [False, True])
def test_the_terminal_shows_it(width, explained):
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=True, color_system="standard", highlight=False)
    if explained:
        print_why(record(), why(), console)
    else:
        print_verdict(record(), console, why())
    text = COLOUR.sub("", stream.getvalue())
    assert not ACTING.search(text)
    assert "[mysqld]" not in text.splitlines()
    assert "skip-grant-tables" not in {line.strip() for line in text.splitlines()}
    if width == 200:
        assert "<script>alert(1)</script>" in text
        assert "[bold red]loud[/]" in text


def test_the_line_of_progress_and_the_plain_lines_show_it():
    stream, plain = io.StringIO(), io.StringIO()
    clock = FakeClock()
    live = ProgressLine(Console(file=stream, force_terminal=True, width=300, height=60), clock)
    drive(record(), live)
    for after in (draw(live._board, clock.now() + 60, 300), live.message(NASTY) or draw(live._board, clock.now(), 300)):
        assert not ACTING.search(after.plain)
        assert "\n" not in after.plain
    lines = PlainLines(plain)
    drive(record(), lines)
    lines.message(NASTY)
    assert not ACTING.search(plain.getvalue())
    assert "skip-grant-tables" not in plain.getvalue().splitlines()


def test_the_live_page_shows_it(tmp_path):
    stored_study.keep(record(), tmp_path)
    follower = Follower(tmp_path)
    reported = view(follower.look(), tmp_path / TRICKS.replace("/", ""), record().created + 60, trouble=NASTY)
    assert not [text for text in texts(json.loads(reported)) if ACTING.search(text)]
    main = str(follower.report().main)
    assert not ACTING.search(main)
    assert_harmless(Page(main), scripts=0)


def texts(data):
    """Return every text of what JSON holds."""
    if isinstance(data, str):
        return [data]
    parts = [*data, *data.values()] if isinstance(data, dict) else data if isinstance(data, list) else []
    return [text for part in parts for text in texts(part)]


def test_an_option_file_holds_it_in_comments_and_quotes_alone(tmp_path):
    path = tmp_path / "recommended.cnf"
    path.write_text(cnf_of(record()), encoding="utf-8")
    assert servers_own.read(path).setting == {"init_connect": TRICKS.strip()}
    text = path.read_text(encoding="utf-8")
    assert not ACTING.search(text)
    assert [line for line in text.splitlines() if line.startswith("[")] == ["[mysqld]"]


def test_sql_holds_it_in_comments_and_quotes_alone():
    for text in (sql_of(record()), sql_file.render_undo(record())):
        assert not ACTING.search(text)
        for line in text.splitlines():
            if line and not line.startswith("--"):
                bare = re.sub(r"'(?:[^'\\]|\\.|'')*'", "?", line)
                assert "DROP" not in bare
                assert bare.count(";") == 1


def test_csv_holds_it_in_one_cell(tmp_path):
    stored_study.keep(record(), tmp_path)
    stream = io.BytesIO()
    read_only.read(tmp_path, lambda store: samples_export.write_csv(store, stream))
    text = stream.getvalue().decode()
    assert not ACTING.search(text)
    rows = list(csv.reader(io.StringIO(text)))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 1 + sum(map(len, record().samples.values()))


def test_json_holds_it_whole_and_it_acts_nowhere():
    text = json_documents.render_verdict(record().verdict)
    assert not ACTING.search(text)
    assert Verdict.model_validate_json(text) == record().verdict
    reported = json_documents.render(why())
    assert not ACTING.search(reported)
    assert json.loads(reported)["summary"] == f"Because {NASTY}."


@pytest.mark.parametrize("render", [html.render, markdown.render])
def test_a_password_in_the_command_that_restarts_a_server_is_in_no_report(render):
    command = "dialin run a.toml --restart-command 'mysqladmin --password=hunter2 shutdown' --minutes 5"
    page = render(replace(example_studies.winner(), command=command))
    assert "hunter2" not in page
    assert "--minutes 5" in page
