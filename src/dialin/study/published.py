"""The page that sets published figures beside those of this machine: `docs/published.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose
from dialin.model.verdict import CandidateVerdict
from dialin.model.why import Why
from dialin.report.facts import inventory
from dialin.report.markdown import prose
from dialin.report.words import change_with_interval
from dialin.study.expectations import Agreement, Found, judge
from dialin.study.recipes import Recipe, Scale, ScaleName, Study
from dialin.text import NOTHING, change, counted, listed, moment, number, percent

_SEEN, _MOST_PLACES, _MOST_REASONS = "semaphore_seen/", 8, 3

SAYS = {Agreement.AGREES: "the same", Agreement.DIFFERS: "the opposite", Agreement.OPEN: "not shown either way"}
"""What a run says beside what was published."""


@dataclass(frozen=True, slots=True)
class Done:
    """A study of a recipe that has a verdict.

    Attributes:
        study: of the recipe.
        record: what was measured.
        why: what explains it.
    """

    study: Study
    record: StudyRecord
    why: Why


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A recipe with the studies of it that were run.

    Attributes:
        name: of the recipe.
        recipe: it.
        scale: that it was run at.
        done: its studies that have a verdict.
    """

    name: str
    recipe: Recipe
    scale: ScaleName
    done: Sequence[Done]

    def found(self) -> list[Found]:
        """Hold the studies against all that the recipe expects of them."""
        by_name = {done.study.name: done for done in self.done}
        return [
            judge(expectation, by_name[expectation.study].record, by_name[expectation.study].why)
            for expectation in self.recipe.expect
            if expectation.study in by_name
        ]


def page(reproductions: Sequence[Reproduction]) -> str:
    """Return the page, as GitHub-flavoured Markdown."""
    parts = [
        "# Published experiments, run again",
        "This page is written by `make published` from the studies that it ran: figures, and whether they agree with what was "
        "published, are computed. A claim counts as said the same, or the opposite, only where the whole interval of ours does "
        "so. What a recipe is, and how to run one: [recipes.md](recipes.md).",
        _machine(reproductions),
        _overview(reproductions),
        *(part for each in reproductions for part in _recipe(each)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _machine(reproductions: Sequence[Reproduction]) -> str:
    records = [done.record for each in reproductions for done in each.done]
    if not records:
        return "Nothing was run yet."
    host = records[0].host
    shown = {key: host[key] for key in ("cpu", "cpus", "memory_bytes", "kernel", "filesystem", "load_driver") if key in host}
    told = "; ".join(f"{label} {text}" for label, text in inventory(shown))
    first, last = min(record.created for record in records), max(record.created for record in records)
    return f"Machine: {prose(told)}. Run from {moment(first)} to {moment(last)} by dialin {records[-1].dialin_version}."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> str:
    """Return a table whose last columns, so many, are figures."""
    line = "|" + "---|" * (len(head) - numbers) + "---:|" * numbers
    return "\n".join([f"| {' | '.join(head)} |", line, *(f"| {' | '.join(row)} |" for row in rows)])


def _overview(reproductions: Sequence[Reproduction]) -> str:
    rows = [
        (f"[{each.name}](#{each.name})", prose(found.expectation.study), prose(found.expectation.claim), SAYS[found.agreement])
        for each in reproductions
        for found in each.found()
    ]
    return _table(("recipe", "study", "published", "this machine says"), rows, 0) if rows else ""


def _recipe(each: Reproduction) -> list[str]:
    recipe, source = each.recipe, each.recipe.source
    scale: Scale = recipe.scales[each.scale]
    return [
        f"## {each.name}",
        f"{prose(recipe.title)}. {prose(source.author)}, [{prose(source.title)}]({source.address}), {prose(source.publisher)}, "
        f"{source.date}.",
        f"**Published:** {_plain(recipe.finding)}",
        f"**What was read:** {_plain(source.read)}",
        f"**Run here** at the scale {each.scale}: {_plain(scale.shrunk)}",
        *(part for done in each.done for part in _study(done, recipe)),
        _expectations(each.found()),
    ]


def _plain(text: str) -> str:
    return prose(" ".join(text.split()))


def _study(done: Done, recipe: Recipe) -> list[str]:
    record, verdict = done.record, done.record.verdict
    if verdict is None:
        return []
    reasons = [f"- {prose(reason.text)}" for reason in done.why.reasons[:_MOST_REASONS]]
    parts = [
        f"### {prose(done.study.title)}",
        f"{_sentence(verdict.headline)} {counted(verdict.blocks, 'block')} in {verdict.minutes_of_wall_clock:.0f} minutes; "
        f"{prose(record.spec.workload.describe())}; {prose(listed(sorted(record.servers)))}.",
        _candidates(done, recipe),
        _levels(done),
        _waits(done),
        _semaphores(record),
        f"**Why:** {_sentence(done.why.summary)}",
        "\n".join(reasons),
        "\n".join(f"- Warning: {prose(note.text)}" for note in (*verdict.confounds, *verdict.warnings)),
    ]
    return list(filter(None, parts))


def _sentence(text: str) -> str:
    return f"{prose(text.rstrip('.'))}."


def _candidates(done: Done, recipe: Recipe) -> str:
    verdict = done.record.verdict
    if verdict is None:
        return ""
    scans = done.record.spec.workload.name == "scan"
    published = [row for row in recipe.figures if row.study == done.study.name and row.unit != "ps"]
    ratios = [row.relative(verdict.baseline) for row in published]
    titles = [title for row in published for title in (f"published, {row.unit}", "published, speed")]
    head = ("candidate", *titles, "here, s a run" if scans else "here, transactions/s", "here, speed", "variation", "trials")
    rows = []
    for candidate in verdict.candidates:
        cells = [prose(candidate.name)]
        for row, ratio in zip(published, ratios, strict=True):
            cells += [number(row.values.get(candidate.name)), _ratio(ratio.get(candidate.name), candidate, verdict.baseline)]
        cells += [_here(candidate, scans=scans), *_speed(candidate, verdict.baseline), str(candidate.trials)]
        rows.append(cells)
    notes = "".join(f"\n\n{prose(row.note)}" for row in recipe.figures if row.study == done.study.name and row.note)
    return _table(head, rows, len(head) - 1) + notes


def _ratio(value: float | None, candidate: CandidateVerdict, baseline: str) -> str:
    return "baseline" if candidate.name == baseline and value is not None else change(value)


def _here(candidate: CandidateVerdict, *, scans: bool) -> str:
    if candidate.tps is None:
        return NOTHING
    return number(1 / candidate.tps.mean if scans and candidate.tps.mean else candidate.tps.mean)


def _speed(candidate: CandidateVerdict, baseline: str) -> tuple[str, str]:
    ratio = "baseline" if candidate.name == baseline else change_with_interval(candidate.ratio)
    return ratio, percent(candidate.cv.mean) if candidate.cv else NOTHING


def _levels(done: Done) -> str:
    """Return throughput by threads, beside the baseline's at the same number."""
    baseline = done.record.spec.baseline
    base = {p.threads: p.tps.mean for one in done.why.scaling if one.candidate == baseline for p in one.points}
    if not base:
        return ""
    rows = [
        [prose(one.candidate), *(change(p.tps.mean / base[p.threads]) if base.get(p.threads) else NOTHING for p in one.points)]
        for one in done.why.scaling
        if one.candidate != baseline
    ]
    head = ("candidate", *(f"{threads} sessions" if threads > 1 else "1 session" for threads in base))
    return f"Speed beside {prose(baseline)}, by sessions at once:\n\n{_table(head, rows, len(base))}"


def _waits(done: Done) -> str:
    rows = [
        (
            prose(row.candidate),
            prose(row.instrument.rpartition("/")[2]),
            f"{row.count:,}",
            *(number(value) for value in (row.mean_ns, row.p50_ns, row.p90_ns, row.p99_ns, row.max_ns, row.mean_cycles)),
            percent(row.worst_share),
            percent(row.ten_share),
        )
        for row in done.why.waits
        if row.operation == "(all)" and row.count
    ]
    if not rows:
        return ""
    head = (
        "candidate",
        "waits for",
        "count",
        "mean, ns",
        "median",
        "p90",
        "p99",
        "longest",
        "mean, cycles",
        "longest 1 %",
        "ten longest",
    )
    lost = sum(trial.lost for trial in done.why.wait_trials)
    kept = "none were lost" if not lost else f"{lost:,} more were counted by the server and lost"
    return f"{_table(head, rows, len(head) - 2)}\n\nEvery single wait of one trial of each candidate; {kept}."


def _semaphores(record: StudyRecord) -> str:
    """Return where threads were seen waiting, by candidate: how many at a reading, on average."""
    places = seen_at(record)
    if not places:
        return ""
    names = [candidate.name for candidate in record.spec.candidates]
    strongest = sorted(places, key=lambda place: -max(places[place].values()))[:_MOST_PLACES]
    rows = [[prose(place), *(number(places[place].get(name, 0.0)) for name in names)] for place in strongest]
    intro = "Threads seen waiting for InnoDB semaphores, at each reading on average, by place in the source:"
    return f"{intro}\n\n{_table(('place', *map(prose, names)), rows, len(names))}"


def seen_at(record: StudyRecord) -> dict[str, dict[str, float]]:
    """Return how many threads were seen waiting at a reading, by place in InnoDB's source and candidate: mean of its trials."""
    found: dict[str, dict[str, list[float]]] = {}
    for candidate, readings in _innodb(record).items():
        for place in {name for counters in readings for name in counters}:
            found.setdefault(place, {})[candidate] = [counters.get(place, 0.0) for counters in readings]
    means = {place: {name: fmean(values) for name, values in by.items()} for place, by in found.items()}
    return {place: by for place, by in means.items() if any(by.values())}


def _innodb(record: StudyRecord) -> dict[str, list[Mapping[str, float]]]:
    """Return per candidate and trial what the status monitor told of waiting threads, for one reading."""
    found: dict[str, list[Mapping[str, float]]] = {candidate.name: [] for candidate in record.spec.candidates}
    for trial in record.trials:
        watched = record.watched.get(trial.id, {}).get("innodb")
        if watched is not None and watched.readings and trial.purpose is Purpose.RACE:
            counters = watched.counters.items()
            own = {name.removeprefix(_SEEN): value / watched.readings for name, value in counters if name.startswith(_SEEN)}
            found[trial.candidate].append(own)
    return found


def _expectations(found: Sequence[Found]) -> str:
    lines = [
        f"- **{_sentence(one.expectation.claim)}** Here: {SAYS[one.agreement]} ({prose(one.figures)}). {prose(one.why)}"
        for one in found
    ]
    return "\n".join(["**Beside what was published**", "", *lines]) if lines else ""
