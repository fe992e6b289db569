"""The pages that set published figures beside ours: `docs/published.md`, and all figures in `benchmarks/results`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialin.model.evidence import ALL
from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.model.why import Why
from dialin.recipes.library import Recipe, RecipeStudy, Scale, ScaleName
from dialin.report.document import semaphore_tables
from dialin.report.document.facts import inventory
from dialin.report.render.markdown_text import folded, prose, table
from dialin.sentences.changes import change_with_interval
from dialin.sentences.load_units import seconds_a_run, units_of_verdict
from dialin.sentences.notes import note_text
from dialin.text import NOTHING, about, change, counted, listed, moment, number, percent
from published.expectations import Agreement, Result, check

MACHINE = ("cpu", "cpus", "memory_bytes", "kernel", "file_system", "disk", "disk_rotational")
"""What the page tells of the machine: keys of a study's host."""

SAYS = {Agreement.AGREES: "agrees", Agreement.DIFFERS: "disagrees", Agreement.INCONCLUSIVE: "inconclusive"}
"""What a run says beside what was published."""

_MOST_REASONS = 3
_PICOSECONDS = "ps"
_LONGER_STUDY = "inconclusive"


@dataclass(frozen=True, slots=True)
class Done:
    """A study of a recipe that has a verdict."""

    study: RecipeStudy
    record: StudyRecord
    why: Why


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A recipe with the studies of it that were run."""

    name: str
    recipe: Recipe
    scale: ScaleName
    done: Sequence[Done]

    def results(self) -> list[Result]:
        """Hold the studies against all that the recipe expects of them."""
        by_name = {done.study.name: done for done in self.done}
        return [
            check(expectation, by_name[expectation.study].record, by_name[expectation.study].why)
            for expectation in self.recipe.expect
            if expectation.study in by_name
        ]


_HOW_TO_READ = (
    "A claim agrees or disagrees only if the whole interval of our figure does; else it is inconclusive. Results on single "
    "waits come from one trial of each candidate, without an interval, and are marked so."
)


def summary(reproductions: Sequence[Reproduction]) -> str:
    """Return what became of each published claim, as GitHub-flavoured Markdown."""
    parts = [
        "# Published experiments, run again",
        f"{_HOW_TO_READ} Written by `make published` ([how](recipes.md)); tables, causes and circumstances of each study are "
        "in [benchmarks/results](../benchmarks/results/published.md).",
        _machine(reproductions),
        *(part for each in reproductions for part in _recipe_in_short(each)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def page(reproductions: Sequence[Reproduction]) -> str:
    """Return all figures, as GitHub-flavoured Markdown."""
    parts = [
        "# Published experiments, run again: all figures",
        f"Written by `make published` from the studies that it ran. {_HOW_TO_READ} [In short](../../docs/published.md).",
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
    facts = "; ".join(f"{label}: {text}" for label, text in inventory({key: host[key] for key in MACHINE if key in host}))
    first, last = min(record.created for record in records), max(record.created for record in records)
    when = moment(first) if first == last else f"{moment(first)} to {moment(last)}"
    return f"**Machine:** {prose(facts)}. Studies started {when}, with dialin {prose(records[-1].dialin_version)}."


def _overview(reproductions: Sequence[Reproduction]) -> str:
    rows = [
        (
            f"[{each.name}](#{each.name})" if place == 0 else "",
            prose(result.expectation.study),
            prose(result.expectation.claim.rstrip(".")),
            _says(result),
        )
        for each in reproductions
        for place, result in enumerate(each.results())
    ]
    return table(("recipe", "study", "published", "here"), rows, "llll") if rows else ""


def _says(result: Result) -> str:
    one_trial = result.one_trial and result.agreement is not Agreement.INCONCLUSIVE
    return SAYS[result.agreement] + (", in one trial each" if one_trial else "")


def _recipe_in_short(each: Reproduction) -> list[str]:
    results = each.results()
    claims = (
        (done, [_claim(one) for one in results if one.expectation.study == done.study.name])
        for done in each.done
        if done.record.verdict is not None
    )
    return [*_heading(each), *(f"{prose(done.study.title)}:\n\n" + "\n".join(lines) for done, lines in claims if lines)]


def _heading(each: Reproduction) -> list[str]:
    source = each.recipe.source
    return [
        f"## {each.name}",
        f"{prose(source.author)}, [{prose(source.title)}]({source.address}), {prose(source.publisher)}, {source.date}.",
        f"**Published:** {_plain(each.recipe.finding)}",
    ]


def _recipe(each: Reproduction) -> list[str]:
    recipe = each.recipe
    scale: Scale = recipe.scales[each.scale]
    results = each.results()
    return [
        *_heading(each),
        folded("Sources, and what was reduced", f"{_plain(recipe.source.read)}\n\n{each.scale}: {_plain(scale.shrunk)}"),
        *(part for done in each.done for part in _study(done, recipe, results)),
    ]


def _plain(text: str) -> str:
    return prose(" ".join(text.split()))


def _study(done: Done, recipe: Recipe, results: Sequence[Result]) -> list[str]:
    verdict = done.record.verdict
    if verdict is None:
        return []
    reasons = [f"- {prose(reason.text)}" for reason in done.why.reasons[:_MOST_REASONS]]
    parts = [
        f"### {prose(done.study.title)}",
        _sentence(verdict.headline),
        _candidates(done, verdict, recipe),
        _levels(done),
        _claims([one for one in results if one.expectation.study == done.study.name]),
        "\n".join([f"**Why:** {_sentence(done.why.summary)}", *(["", *reasons] if reasons else [])]),
        _waits(done, recipe),
        _semaphores(done),
        folded("How it was run", "\n".join(f"- {line}" for line in _how(done.record, verdict))),
    ]
    return list(filter(None, parts))


def _claims(results: Sequence[Result]) -> str:
    lines = [_claim(one) for one in results]
    return "\n".join(["**Compared with the published result:**", "", *lines]) if lines else ""


def _claim(one: Result) -> str:
    said = _says(one)
    figures = f"{said[:1].upper()}{said[1:]}: {one.figures}."
    return f"- **{_sentence(one.expectation.claim)}** {prose(figures)} {prose(one.why)}"


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


def _candidates(done: Done, verdict: Verdict, recipe: Recipe) -> str:
    published = [row for row in recipe.figures if row.study == done.study.name and row.unit != _PICOSECONDS]
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


def _levels(done: Done) -> str:
    baseline = done.record.spec.baseline
    base = {p.threads: p.tps.mean for one in done.why.scaling if one.candidate == baseline for p in one.points}
    if not base:
        return ""
    rows = [
        [prose(one.candidate), *(change(p.tps.mean / base[p.threads]) if base.get(p.threads) else NOTHING for p in one.points)]
        for one in done.why.scaling
        if one.candidate != baseline
    ]
    head = ("candidate", *(counted(threads, "thread") for threads in base))
    levels = table(head, rows, f"l{'r' * len(base)}")
    return f"Mean speed against {prose(baseline)}, without intervals, by thread count:\n\n{levels}"


def _waits(done: Done, recipe: Recipe) -> str:
    waits = [row for row in done.why.waits if row.operation == ALL and row.count]
    if not waits:
        return ""
    published = [row for row in recipe.figures if row.study == done.study.name and row.unit == _PICOSECONDS]
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
    lost = sum(trial.lost for trial in done.why.wait_trials)
    which = "Every single wait" if not lost else f"Single waits ({lost:,} more were counted by the server but lost)"
    intro = f"{which} of one trial of each candidate, in nanoseconds; shares are of the total wait time:"
    notes = [prose(row.note) for row in published if row.note]
    return "\n\n".join([intro, table(head, rows, f"ll{'r' * (len(head) - 2)}"), *notes])


def _nanoseconds(picoseconds: float | None) -> str:
    return number(None if picoseconds is None else picoseconds / 1000)


def _semaphores(done: Done) -> str:
    names = [candidate.name for candidate in done.record.spec.candidates]
    candidates = semaphore_tables.candidates(done.why, names)
    rows = [[prose(cell.text) for cell in row.cells] for row in semaphore_tables.places(done.why, candidates)]
    if not rows:
        return ""
    places = table(("place", *map(prose, candidates)), rows, f"l{'r' * len(candidates)}")
    return f"{prose(semaphore_tables.PLACES_READING)}\n\n{places}"
