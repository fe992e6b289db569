"""The pages that set published figures beside ours: `docs/published.md`, and all figures in `benchmarks/results`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from dialin.model.evidence import ALL
from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.model.why import Why
from dialin.recipes.library import Recipe
from dialin.report.document import semaphore_tables
from dialin.report.document.facts import inventory
from dialin.report.render.markdown_text import folded, prose, table
from dialin.sentences.changes import change_with_interval
from dialin.sentences.load_units import seconds_a_run, units_of_verdict
from dialin.sentences.notes import note_text
from dialin.text import NOTHING, about, change, counted, listed, moment, number, percent
from published.expectations import Agreement, Result
from published.picture import picture
from published.studies import SCALE, PublishedStudy

MACHINE = ("cpu", "cpus", "memory_bytes", "kernel", "file_system", "disk", "disk_rotational")
"""What the page tells of the machine: keys of a study's host."""

_MOST_REASONS = 3
_MOST_HOURS = 1000
_PICOSECONDS = "ps"
_LONGER_STUDY = "inconclusive"
_BESIDE = re.compile(r" \([^()]*\)\.$")
"""What a claim says of where it comes from; the table has it."""
_ANSWERS = {
    Agreement.AGREES: "Agrees",
    Agreement.DIFFERS: "Disagrees",
    Agreement.CANNOT: "Cannot be shown here",
    Agreement.INCONCLUSIVE: "Open",
}

_HOW_TO_READ = (
    "A claim agrees or disagrees only if the whole interval of our figure does; until then it is open, with the hours that are "
    "expected to answer it. Intervals hold for all candidates and sessions of a study together: they are wider than those of "
    "pictures. Figures are computed by today's method from stored trials ([how](recipes.md#the-published-experiments-again)); "
    "tables, causes and circumstances are in [benchmarks/results](../benchmarks/results/published.md)."
)


def summary(studies: Sequence[PublishedStudy]) -> str:
    """Return what became of each published claim, as GitHub-flavoured Markdown."""
    parts = [
        "# Published experiments, run again",
        _HOW_TO_READ,
        _machine(studies),
        _overview(studies, "recipe"),
    ]
    for name, of_recipe in groupby(studies, lambda one: one.name):
        group = list(of_recipe)
        parts += _heading(name, group[0].recipe)
        for study in group:
            if study.record is not None:
                shown = f"![{prose(study.study.title)}]({_picture_path(study, 'images')})"
                parts += [f"**{prose(study.study.title)}**", shown, "\n".join(map(_claim, study.results))]
    return "\n\n".join(filter(None, parts)) + "\n"


def page(studies: Sequence[PublishedStudy]) -> str:
    """Return all figures, as GitHub-flavoured Markdown."""
    parts = [
        "# Published experiments, run again: all figures",
        "Written by `make published`. [In short](../../docs/published.md).",
        _machine(studies),
    ]
    for name, of_recipe in groupby(studies, lambda one: one.name):
        group = [one for one in of_recipe if one.record is not None]
        recipe = group[0].recipe if group else None
        if recipe is None:
            continue
        shrunk = f"{_plain(recipe.source.read)}\n\n{SCALE}: {_plain(recipe.scales[SCALE].shrunk)}"
        parts += [*_heading(name, recipe), folded("Sources, and what was reduced", shrunk)]
        parts += [part for study in group for part in _study(study)]
    return "\n\n".join(filter(None, parts)) + "\n"


def pictures(studies: Sequence[PublishedStudy]) -> dict[str, str]:
    """Return the picture of each study that was run, by its path in the repository."""
    drawn = ((one, one.record) for one in studies if one.record is not None)
    return {_picture_path(one, "docs/images"): picture(record, _published(one)) for one, record in drawn}


def _picture_path(study: PublishedStudy, folder: str) -> str:
    return f"{folder}/published-{study.name}-{study.study.name}.svg"


def _published(study: PublishedStudy) -> dict[str, float]:
    """Return the published speed of each candidate as a ratio to the baseline's; empty where no figures are published."""
    rows = [row for row in study.recipe.figures if row.study == study.study.name and row.unit != _PICOSECONDS]
    return rows[0].relative(study.spec.baseline) if rows else {}


def _machine(studies: Sequence[PublishedStudy]) -> str:
    records = [one.record for one in studies if one.record is not None]
    if not records:
        return "No trial of today's recipes is stored yet: nothing is answered, and the hours are expected ones."
    host = records[0].host
    facts = "; ".join(f"{label}: {text}" for label, text in inventory({key: host[key] for key in MACHINE if key in host}))
    first, last = min(record.created for record in records), max(record.created for record in records)
    when = moment(first) if first == last else f"{moment(first)} to {moment(last)}"
    versions = listed(sorted({record.dialin_version for record in records}))
    return f"**Machine:** {prose(facts)}. Studies started {when}, with dialin {prose(versions)}."


def _overview(studies: Sequence[PublishedStudy], recipe_title: str) -> str:
    rows = [
        (
            f"[{one.name}](#{one.name})" if place == 0 else "",
            prose(one.study.title) if place == 0 else "",
            prose(result.expectation.claim.rstrip(".")),
            _answer(one, result),
        )
        for one in studies
        for place, result in enumerate(one.results)
    ]
    return table((recipe_title, "study", "published", "here"), rows, "llll") if rows else ""


def _answer(study: PublishedStudy, result: Result) -> str:
    match result.agreement:
        case Agreement.AGREES:
            return "agrees"
        case Agreement.DIFFERS:
            return "disagrees"
        case Agreement.CANNOT:
            cpus = counted(int(study.record.host["cpus"]), "CPU") if study.record is not None else ""
            return f"cannot be shown on {cpus}, because {prose(result.expectation.cannot)}"
        case Agreement.INCONCLUSIVE:
            hours = study.hours(result)
            text = f"about {hours:.1f} h" if hours < _MOST_HOURS else f"over {_MOST_HOURS:,} h"
            return f"open: {text} more" if study.record is not None else f"not run yet: {text}"


def _claim(one: Result) -> str:
    """Return the figures of a claim, and what explains an answer."""
    cause = f" {prose(one.why)}" if one.agreement in (Agreement.AGREES, Agreement.DIFFERS) else ""
    return f"- **{_sentence(_BESIDE.sub('.', one.expectation.claim))}** {_ANSWERS[one.agreement]}: {prose(one.figures)}.{cause}"


def _heading(name: str, recipe: Recipe) -> list[str]:
    source = recipe.source
    return [
        f"## {name}",
        f"{prose(source.author)}, [{prose(source.title)}]({source.address}), {prose(source.publisher)}, {source.date}.",
        f"**Published:** {_plain(recipe.finding)}",
    ]


def _plain(text: str) -> str:
    return prose(" ".join(text.split()))


def _study(study: PublishedStudy) -> list[str]:
    record, why = study.record, study.why
    if record is None or why is None or record.verdict is None:
        return []
    verdict = record.verdict
    reasons = [f"- {prose(reason.text)}" for reason in why.reasons[:_MOST_REASONS]]
    return [
        f"### {prose(study.study.title)}",
        _sentence(verdict.headline),
        _candidates(study, verdict),
        _levels(record, why),
        "\n".join(map(_claim, study.results)),
        "\n".join([f"**Why:** {_sentence(why.summary)}", *(["", *reasons] if reasons else [])]),
        _waits(study, why),
        _semaphores(record, why),
        folded("How it was run", "\n".join(f"- {line}" for line in _how(record, verdict))),
    ]


def _how(record: StudyRecord, verdict: Verdict) -> list[str]:
    tells = f", which can detect differences of {percent(verdict.detectable)}" if verdict.detectable is not None else ""
    notes = [note for note in (*verdict.confounds, *verdict.warnings) if note.code != _LONGER_STUDY]
    return [
        f"{prose(listed(sorted(record.servers)))}: {prose(record.spec.workload.describe())}",
        f"{counted(verdict.blocks, 'block')} in {about(60 * verdict.minutes_of_wall_clock)}{tells}",
        *(f"Note: {prose(note_text(record.spec, note))}" for note in notes),
    ]


def _sentence(text: str) -> str:
    return f"{prose(text.rstrip('.'))}."


def _candidates(study: PublishedStudy, verdict: Verdict) -> str:
    published = [row for row in study.recipe.figures if row.study == study.study.name and row.unit != _PICOSECONDS]
    ratios = [row.relative(verdict.baseline) for row in published]
    titles = [title for row in published for title in (f"published, {row.unit}", "published, speed")]
    head = ("candidate", *titles, _here_title(verdict), "here, speed", "variation", "trials")
    rows = []
    for candidate in verdict.candidates:
        cells = [prose(candidate.name)]
        for row, ratio in zip(published, ratios, strict=True):
            cells += [number(row.values.get(candidate.name)), _ratio(ratio.get(candidate.name), candidate, verdict.baseline)]
        cells += [_here(candidate, verdict), *_speed(candidate, verdict.baseline), str(candidate.trials)]
        rows.append(cells)
    notes = "".join(f"\n\n{prose(row.note)}" for row in published if row.note)
    return table(head, rows, f"l{'r' * (len(head) - 1)}") + notes


def _ratio(value: float | None, candidate: CandidateVerdict, baseline: str) -> str:
    return "baseline" if candidate.name == baseline and value is not None else change(value)


def _here_title(verdict: Verdict) -> str:
    unit = units_of_verdict(verdict)
    if not unit.by_run:
        return f"here, {unit.rate}"
    return f"here, s per {unit.one}{' (geometric mean)' if verdict.workload.get('levels') else ''}"


def _here(candidate: CandidateVerdict, verdict: Verdict) -> str:
    if not units_of_verdict(verdict).by_run:
        return number(candidate.tps.mean if candidate.tps else None)
    took = seconds_a_run(candidate.tps, verdict)
    if took is None:
        return NOTHING
    return f"{took.mean:.3f}" if took.mean < 1 else number(took.mean)


def _speed(candidate: CandidateVerdict, baseline: str) -> tuple[str, str]:
    ratio = "baseline" if candidate.name == baseline else change_with_interval(candidate.ratio)
    return ratio, percent(candidate.cv.mean) if candidate.cv else NOTHING


def _levels(record: StudyRecord, why: Why) -> str:
    baseline = record.spec.baseline
    base = {p.threads: p.tps.mean for one in why.scaling if one.candidate == baseline for p in one.points}
    if not base:
        return ""
    rows = [
        [prose(one.candidate), *(change(p.tps.mean / base[p.threads]) if base.get(p.threads) else NOTHING for p in one.points)]
        for one in why.scaling
        if one.candidate != baseline
    ]
    head = ("candidate", *(counted(threads, "thread") for threads in base))
    levels = table(head, rows, f"l{'r' * len(base)}")
    return f"Mean speed against {prose(baseline)}, without intervals, by thread count:\n\n{levels}"


def _waits(study: PublishedStudy, why: Why) -> str:
    waits = [row for row in why.waits if row.operation == ALL and row.count]
    if not waits:
        return ""
    published = [row for row in study.recipe.figures if row.study == study.study.name and row.unit == _PICOSECONDS]
    times = ("mean, ns", "median", "p90", "p99", "longest", "mean, cycles")
    titles = [f"published {row.name.partition(' ')[0]}, ns" for row in published]
    head = ("candidate", "waits for", "count", *titles, *times, "longest 1 %", "ten longest")
    rows = [
        (
            prose(row.candidate),
            prose(row.instrument.rpartition("/")[2]),
            f"{row.count:,}",
            *(_nanoseconds(figures.values.get(row.candidate)) for figures in published),
            *(number(value) for value in (row.mean_ns, row.p50_ns, row.p90_ns, row.p99_ns, row.max_ns, row.mean_cycles)),
            percent(row.worst_share),
            percent(row.ten_share),
        )
        for row in waits
    ]
    lost = sum(trial.lost for trial in why.wait_trials)
    which = "Every single wait" if not lost else f"Single waits ({lost:,} more were counted by the server but lost)"
    trials = counted(len(why.wait_trials), "trial")
    intro = f"{which} of {trials}, in nanoseconds; shares are of the total wait time:"
    notes = [prose(row.note) for row in published if row.note]
    return "\n\n".join([intro, table(head, rows, f"ll{'r' * (len(head) - 2)}"), *notes])


def _nanoseconds(picoseconds: float | None) -> str:
    return number(None if picoseconds is None else picoseconds / 1000)


def _semaphores(record: StudyRecord, why: Why) -> str:
    candidates = semaphore_tables.candidates(why, [candidate.name for candidate in record.spec.candidates])
    rows = [[prose(cell.text) for cell in row.cells] for row in semaphore_tables.places(why, candidates)]
    if not rows:
        return ""
    places = table(("place", *map(prose, candidates)), rows, f"l{'r' * len(candidates)}")
    return f"{prose(semaphore_tables.PLACES_READING)}\n\n{places}"
