"""Folders of runs of known answer, as `benchmarks/analyze.py` judges them.

The throughput of a run is level of the cell x effect of the candidate in the cell x effect of the server's start x noise of the
run x drift, around which its seconds scatter. Sizes are those of published series: starts differ by 1.5 %, runs of one start by
0.7 %, seconds by 5 %, and a server drifts by 5 % per hour (rms), smoothly.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.beside_logs import Beside, RunScript, read_beside
from dialin.logs.judgement import Request
from dialin.logs.log_folder import Folder as Logs
from dialin.logs.log_folder import Run, load
from dialin.logs.sibling_files import parse_options
from dialin.logs.status_listings import Uptime
from dialin.model.analysis import Analysis
from dialin.model.verdict import Outcome
from dialin.readers.sysbench_log import RunLog

SECONDS = 60
START, RUN, SECOND, DRIFT = 0.015, 0.007, 0.05, 0.05
THREADS = (8, 16, 32, 64, 128, 256, 512, 1024)
BY = r"cand([A-Z])"
Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """Runs with the answer.

    Attributes:
        runs: as they are read.
        truth: the logarithm of each candidate's effect in each cell, cells by the values of `factors`.
        factors: what cells differ in.
        by: how candidates are named.
        beside: what lies beside the logs.
    """

    runs: Sequence[Run]
    truth: Mapping[str, Mapping[Cell, float]]
    factors: tuple[str, ...] = ("threads",)
    by: str = BY
    beside: Mapping[str, Beside] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of folder: how one is made, and how to see that what is planted was found.

    `breaks` is the code of the assumption that does not hold in it, and that no file shows.
    """

    name: str
    make: Callable[[np.random.Generator], Folder]
    found: Callable[[Analysis], bool]
    breaks: str = ""


def judge_folder(folder: Folder) -> Analysis:
    return analyze(Logs(tuple(folder.runs), ()), Request(rule=AssignmentRule(by=folder.by)), folder.beside)


class Maker:
    """Makes the runs of one folder.

    Args:
        rng: of this folder.
        start: standard deviation of the starts of a server.
        run: the same of runs of one start.
        drift: rms of a server's drift, per hour.
    """

    def __init__(self, rng: np.random.Generator, start: float = START, run: float = RUN, drift: float = 0.0) -> None:
        self.rng, self.start, self.run, self.drift = rng, start, run, drift
        self.runs: list[Run] = []
        self._levels: dict[Cell, float] = {}
        self._slope = rng.normal(0, drift) if drift else 0.0
        self._wave = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 2.0)

    def begin(self) -> float:
        """Start a server."""
        return float(self.rng.normal(0, self.start))

    def add(
        self,
        name: str,
        effect: float = 0.0,
        *,
        cell: Cell = (),
        start: float | None = None,
        hours: float = 0.0,
        threads: int = 16,
        run: float | None = None,
        dead: float = 0.0,
    ) -> None:
        """Make one run; without a start, of a start of its own."""
        level = self._levels.setdefault(cell, float(self.rng.uniform(5, 9)))
        level += effect + (self.begin() if start is None else start) + self.rng.normal(0, self.run if run is None else run)
        phase, period = self._wave
        level += self._slope * hours + self.drift * np.sin(phase + 2 * np.pi * hours / period)
        tps = np.exp(level) * (1 + SECOND * self.rng.standard_normal(SECONDS))
        if dead:
            tps[round(SECONDS * (1 - dead)) :] = 0.0
        self.runs.append(Run(name, Path(name), log(np.maximum(tps, 0.0), threads)))

    def copy(self, name: str, original: Run) -> None:
        self.runs.append(Run(name, Path(name), original.log, original.name, exact=True))


def log(tps: np.ndarray, threads: int) -> RunLog:
    return RunLog(
        times=np.arange(1.0, tps.size + 1), tps=tps, latency_ms=np.full(tps.size, 10.0), errors=np.zeros(tps.size),
        threads=threads, interval=1.0, percentile=95,
    )  # fmt: skip


def claimed(analysis: Analysis) -> bool:
    return analysis.verdict is not Outcome.INCONCLUSIVE


def wins(name: str) -> Callable[[Analysis], bool]:
    return lambda analysis: analysis.winners == [name]


def depends_on(factor: str, levels: set[str]) -> Callable[[Analysis], bool]:
    def found(analysis: Analysis) -> bool:
        notes = [note for note in analysis.findings if note.code == "depends_on_cell"]
        return any(note.data["factor"] == factor and set(note.data["levels"]) == levels for note in notes)

    return found


def depends(analysis: Analysis) -> bool:
    return any(note.code == "depends_on_cell" for note in analysis.findings)


def same(names: Sequence[str], cells: Sequence[Cell], effects: Sequence[float] = ()) -> dict[str, dict[Cell, float]]:
    """Return effects that are the same in all cells."""
    sizes = effects or [0.0] * len(names)
    return {name: dict.fromkeys(cells, effect) for name, effect in zip(names, sizes, strict=True)}


def repeats(
    names: str, runs: int, effects: Sequence[float] = (), sds: Sequence[float] = ()
) -> Callable[[np.random.Generator], Folder]:
    """One cell; each run is a start of its own."""

    def make(rng: np.random.Generator) -> Folder:
        maker = Maker(rng)
        for index, name in enumerate(names):
            for run in range(runs):
                effect = effects[index] if effects else 0.0
                if sds:
                    maker.add(f"cand{name}-r{run}.log", effect, start=rng.normal(0, sds[index]), run=0.0)
                else:
                    maker.add(f"cand{name}-r{run}.log", effect)
        return Folder(maker.runs, same(names, [()], effects), ())

    return make


def thread_counts(
    names: str,
    runs: int,
    *,
    shared: bool,
    effect: Callable[[str, int], float] = lambda _name, _threads: 0.0,
    drift: float = 0.0,
    noisier: bool = False,
) -> Callable[[np.random.Generator], Folder]:
    """Cells by threads. Shared: one start of the server per candidate and repeat serves all thread counts, in order."""

    def make(rng: np.random.Generator) -> Folder:
        maker = Maker(rng, drift=drift)
        for run, name in itertools.product(range(runs), names):
            begun = maker.begin()
            for index, threads in enumerate(THREADS):
                session = run * len(names) + names.index(name)
                hours = (session * len(THREADS) + index) / 6
                start = begun if shared else maker.begin()
                if noisier:
                    start *= 0.3 * (1 + index)
                suffix = f"-r{run}" if runs > 1 else ""
                maker.add(f"cand{name}/t{threads}{suffix}.log", effect(name, threads), cell=(str(threads),), start=start,
                          hours=hours, threads=threads)  # fmt: skip
        truth = {name: {(str(threads),): effect(name, threads) for threads in THREADS} for name in names}
        return Folder(maker.runs, truth, ("t",))

    return make


def single_cells(effect: Callable[[str, int], float]) -> Callable[[np.random.Generator], Folder]:
    """One start per candidate serves 32 cells: threads and io, one run each."""

    def make(rng: np.random.Generator) -> Folder:
        maker, truth = Maker(rng, drift=0.02), {}
        for place, name in enumerate("AB"):
            start, truth[name] = maker.begin(), {}
            for index, (io, threads) in enumerate(itertools.product((200, 2000, 5000, 10000), THREADS)):
                cell = (str(io), str(threads))
                truth[name][cell] = effect(name, threads)
                maker.add(f"cand{name}/io_capacity/{io}/t{threads}.log", effect(name, threads), cell=cell, start=start,
                          hours=(place * 32 + index) / 12, threads=threads)  # fmt: skip
        return Folder(maker.runs, truth, ("io_capacity", "t"))

    return make


def one_after_the_other(rng: np.random.Generator) -> Folder:
    """All runs of A before those of B, with a drift; the dates are in the names, and two runs share one."""
    maker = Maker(rng, drift=DRIFT)
    for place in range(8):
        name = "AB"[place // 4]
        hour = 6 + (place if place != 4 else 3)
        maker.add(f"2026-03-01-{hour:02}-00.cand{name}-r{place}.log", hours=place)
    return Folder(maker.runs, same("AB", [()]), ())


def shuffled(rng: np.random.Generator) -> Folder:
    """The same drift, the runs in random order."""
    maker = Maker(rng, drift=DRIFT)
    for place, name in enumerate(rng.permutation(list("AAAABBBB"))):
        maker.add(f"2026-03-01-{6 + place:02}-00.cand{name}.log", hours=place)
    return Folder(maker.runs, same("AB", [()]), ())


def one_start_repeated(shown_by: str = "") -> Callable[[np.random.Generator], Folder]:
    """One start per candidate, three runs of it in each of four cells: dates, uptimes, a script or times of files show it."""

    def make(rng: np.random.Generator) -> Folder:
        maker, minute, beside = Maker(rng), 0, {}
        for name in "AB":
            start = maker.begin()
            for place, (run, threads) in enumerate(itertools.product(range(3), THREADS[:4])):
                minute += 10
                stamp = f"2026-03-01-{minute // 60:02}-{minute % 60:02}." if shown_by == "dates" else ""
                file = f"{stamp}cand{name}.t{threads}-r{run}.log"
                maker.add(file, cell=(str(threads),), start=start, threads=threads)
                if shown_by == "uptimes":
                    beside[file] = Beside(uptime=Uptime(Path(f"{file}.status"), 30 + (SECONDS + 5) * (place + 1), began=0.0))
                if shown_by == "script":
                    beside[file] = Beside(script=RunScript(Path("bench.sh"), restarts=False))
                if shown_by == "times":
                    pause = 0.5 if place else 60
                    before = maker.runs[-2].written if len(maker.runs) > 1 else 1.7e9
                    maker.runs[-1] = replace(maker.runs[-1], written=before + pause + SECONDS)
        return Folder(maker.runs, same("AB", [(str(threads),) for threads in THREADS[:4]]), ("t",), beside=beside)

    return make


def a_start_for_each_cell(rng: np.random.Generator) -> Folder:
    """A start per candidate and number of threads, three runs of it; nothing says so."""
    maker = Maker(rng)
    for name, threads in itertools.product("AB", THREADS[:4]):
        start = maker.begin()
        for run in range(3):
            maker.add(f"cand{name}.t{threads}-r{run}.log", cell=(str(threads),), start=start, threads=threads)
    return Folder(maker.runs, same("AB", [(str(threads),) for threads in THREADS[:4]]), ("t",))


def other_hours(rng: np.random.Generator) -> Folder:
    """A runs in the morning and B in the evening of three days; a server is up to 10 % slower at some hour of each day."""
    maker, crest = Maker(rng), rng.uniform(0, 24)
    for day, (name, hour) in itertools.product((1, 2, 3), (("A", 9), ("B", 21))):
        busy = -0.05 * (1 + np.cos(2 * np.pi * (hour - crest) / 24))
        maker.add(f"2026-03-0{day}-{hour:02}-{rng.integers(60):02}.cand{name}.log", busy)
    return Folder(maker.runs, same("AB", [()]), ())


def other_lengths(rng: np.random.Generator) -> Folder:
    """A has runs twice as long as B's, and each run slows down by 10 % per minute."""
    maker = Maker(rng)
    for run, (name, seconds) in itertools.product(range(3), (("A", 2 * SECONDS), ("B", SECONDS))):
        maker.add(f"cand{name}-r{run}.log")
        slow = np.exp(-0.1 * np.arange(seconds) / SECONDS)
        last = maker.runs.pop()
        tps = np.resize(last.log.tps, seconds) * slow
        maker.runs.append(Run(last.name, last.path, log(tps, last.log.threads)))
    return Folder(maker.runs, same("AB", [()]), ())


def two_hosts(named: bool) -> Callable[[np.random.Generator], Folder]:
    """Each candidate ran on one of two hosts, which differ by 5 %; the variables of the servers name them, or nothing does."""

    def make(rng: np.random.Generator) -> Folder:
        maker, beside = Maker(rng), {}
        for run, name in itertools.product(range(3), "AB"):
            maker.add(f"cand{name}-r{run}.log", 0.05 if name == "B" else 0.0)
            beside[maker.runs[-1].name] = Beside(host=f"db{name}7" if named else "")
        return Folder(maker.runs, same("AB", [()]), (), beside=beside)

    return make


def copies(rng: np.random.Generator) -> Folder:
    """One run per candidate, and two copies of each."""
    maker = Maker(rng)
    for name in "AB":
        maker.add(f"cand{name}-r1.log")
        original = maker.runs[-1]
        for run in (2, 3):
            maker.copy(f"cand{name}-r{run}.log", original)
    return Folder(maker.runs, same("AB", [()]), ())


def copies_beside_repeats(rng: np.random.Generator) -> Folder:
    """Two runs per candidate, and four copies of one of them."""
    maker = Maker(rng)
    for name in "AB":
        for run in (1, 2):
            maker.add(f"cand{name}-r{run}.log")
        original = maker.runs[-1]
        for run in range(3, 7):
            maker.copy(f"cand{name}-r{run}.log", original)
    return Folder(maker.runs, same("AB", [()]), ())


def versions(rng: np.random.Generator) -> Folder:
    """Candidates are equal. Versions whose numbers begin alike differ by 20 to 80 %; each candidate has more runs of one."""
    maker, sizes = Maker(rng), {"10.11": 0.0, "10.11.10": rng.uniform(0.2, 0.6)}
    for name, (version, size) in itertools.product("AB", sizes.items()):
        for run in range(3 if (name == "A") == (version == "10.11") else 1):
            maker.add(f"mariadb/{version}/cand{name}-r{run}.log", size)
    return Folder(maker.runs, same("AB", [(version,) for version in sizes]), ("mariadb",))


def scripts(rng: np.random.Generator) -> Folder:
    """Candidates are equal; the runs with an option that only their scripts show are 19 % faster, and more of them are of B."""
    maker, beside, size = Maker(rng), {}, np.log(1.19)
    for name, run in itertools.product("AB", range(6)):
        large = run < (2 if name == "A" else 4)
        file = f"cand{name}-r{run}.log"
        maker.add(file, size if large else 0.0)
        script = f"mysqld --innodb_buffer_pool_size=8G {'--innodb_log_file_size=20GB' if large else ''}\n"
        beside[file] = Beside(options=parse_options(script, "run.sh"))
    cells = [("none",), ("20GB",)]
    return Folder(maker.runs, same("AB", cells), ("innodb_log_file_size",), beside=beside)


def mixture(rng: np.random.Generator) -> Folder:
    """Equal candidates in everything at once: cells, versions, drift, copies, missing runs, unequal noise, shared starts."""
    maker = Maker(rng, drift=rng.choice([0.0, 0.02]))
    names = "ABC"[: rng.integers(2, 4)]
    threads = rng.choice(THREADS, rng.integers(1, 5), replace=False)
    versions_used = [("8.0.36", "8.4.2"), ("8.0.36",)][rng.integers(2)]
    noise = {name: rng.choice([0.005, 0.01, 0.03]) for name in names}
    sessions = [(name, run) for name in names for run in range(rng.integers(1, 5))]
    shared = rng.random() < 0.5
    for place, (name, run) in enumerate(sessions[index] for index in rng.permutation(len(sessions))):
        begun = rng.normal(0, noise[name])
        for version, count in itertools.product(versions_used, threads):
            if rng.random() < 0.1:
                continue
            start = begun if shared else rng.normal(0, noise[name])
            maker.add(f"mysql-{version}/t{count}/cand{name}-r{run}.log", cell=(version, str(count)), start=start, run=0.003,
                      hours=place / 2, threads=int(count))  # fmt: skip
            if rng.random() < 0.2:
                maker.copy(f"mysql-{version}/t{count}/cand{name}-r{run + 50}.log", maker.runs[-1])
    for name in names:  # a candidate that lost all of its runs would be none
        maker.add(f"mysql-{versions_used[0]}/t{threads[0]}/cand{name}-r90.log", cell=(versions_used[0], str(threads[0])),
                  start=rng.normal(0, noise[name]), threads=int(threads[0]))  # fmt: skip
    cells = [(version, str(count)) for version in versions_used for count in threads]
    return Folder(maker.runs, same(names, cells), ("mysql", "t"))


def dead_third(rng: np.random.Generator) -> Folder:
    """A runs at 1,000 tps and is dead for the last third; B runs at 800."""
    maker = Maker(rng)
    for run in range(3):
        maker.add(f"candA-r{run}.log", np.log(1000 / 800), dead=1 / 3)
        maker.add(f"candB-r{run}.log")
    return Folder(maker.runs, {"A": {(): np.log(2000 / 3 / 800)}, "B": {(): 0.0}}, ())


def written(make: Callable[[np.random.Generator], Folder]) -> Callable[[np.random.Generator], Folder]:
    """The same folder, its runs and scripts written as files and read again; a copy is found by its figures."""

    def again(rng: np.random.Generator) -> Folder:
        folder = make(rng)
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for run in folder.runs:
                options = folder.beside.get(run.name, Beside()).options
                path = root / ("few" if len(options) < 2 else "many") / run.name
                path.parent.mkdir(exist_ok=True)
                path.write_text(_text(run.log), encoding="utf-8")
                lines = "".join(f"{key}={value}\n" for key, value in options.items())
                (path.parent / "params.txt").write_text(lines, encoding="utf-8")
            found = load([root])
            beside = read_beside({run.name: run.path for run in found.runs}, [root])
        return Folder(found.runs, folder.truth, folder.factors, folder.by, beside)

    return again


def _text(one: RunLog) -> str:
    rows = [
        f"{time:.0f},{one.threads},{tps:.2f},{20 * tps:.2f},{14 * tps:.2f},{4 * tps:.2f},{2 * tps:.2f},10.00,0.00,0.00\n"
        for time, tps in zip(one.times, one.tps, strict=True)
    ]
    return f"sysbench 1.0.20\n\nNumber of threads: {one.threads}\n\n" + "".join(rows)


def _only_at_512(name: str, threads: int) -> float:
    return 0.0 if name == "A" else np.log(2.0) if threads == 512 else np.log(0.94)


def _crossing(name: str, threads: int) -> float:
    return 0.0 if name == "A" else 0.10 if threads >= 128 else -0.10


def _ten_percent(name: str, _threads: int) -> float:
    return 0.10 if name == "B" else 0.0


ROWS = (
    Row("equal: 2 candidates, 2 runs each", repeats("AB", 2), claimed),
    Row("equal: 2 candidates, 3 runs each", repeats("AB", 3), claimed),
    Row("equal: 5 candidates, 3 runs each", repeats("ABCDE", 3), claimed),
    Row("equal: unequally steady, 5 % and 0.5 %, 3 runs", repeats("AB", 3, sds=(0.05, 0.005)), claimed),
    Row("equal: 8 thread counts, 3 runs, a start for each run", thread_counts("AB", 3, shared=False), claimed),
    Row("equal: 8 thread counts, 3 runs, a start for each series", thread_counts("AB", 3, shared=True), claimed),
    Row("equal: the same, noise grows with threads", thread_counts("AB", 3, shared=False, noisier=True), claimed),
    Row("equal: the same with drift, series in turns", thread_counts("AB", 3, shared=True, drift=0.02), claimed),
    Row("equal: one start per candidate, 8 thread counts", thread_counts("AB", 1, shared=True), claimed),
    Row("equal: the same with drift of 5 % per hour", thread_counts("AB", 1, shared=True, drift=DRIFT), claimed),
    Row("equal: one start per candidate, 32 cells", single_cells(lambda _name, _threads: 0.0), claimed),
    Row("equal: one start per candidate, 4 cells of 3 runs, dated", one_start_repeated("dates"), claimed),
    Row("equal: the same, status listings have uptimes", one_start_repeated("uptimes"), claimed),
    Row("equal: the same, a run script that never restarts", one_start_repeated("script"), claimed),
    Row("equal: the same, files written without a pause", one_start_repeated("times"), claimed),
    Row("equal: the same, and nothing shows it", one_start_repeated(), claimed),
    Row("equal: a start for each cell, 3 runs, and nothing shows it", a_start_for_each_cell, claimed),
    Row("equal: hosts differ by 5 %, variables name them", two_hosts(named=True), claimed),
    Row("equal: drift, one after the other, a shared date", one_after_the_other, claimed),
    Row("equal: drift, in random order", shuffled, claimed),
    Row("equal: other hours of the day, dated", other_hours, claimed),
    Row("equal: runs of other lengths", other_lengths, claimed),
    Row("equal: copies instead of repeats", copies, claimed),
    Row("equal: copies beside repeats", copies_beside_repeats, claimed),
    Row("equal: versions 10.11 and 10.11.10 differ", versions, claimed),
    Row("equal: an option of the run scripts makes 19 %", scripts, claimed),
    Row("equal: mixtures of all these", mixture, claimed),
    Row("+10 %: 3 runs each", repeats("AB", 3, (0.0, 0.10)), wins("B")),
    Row(
        "+10 %: 8 thread counts, 3 runs, a start for each series",
        thread_counts("AB", 3, shared=True, effect=_ten_percent),
        wins("B"),
    ),
    Row("+10 % from 128 threads, −10 % below, 3 runs", thread_counts("AB", 3, shared=False, effect=_crossing), depends),
    Row("+100 % at 512 threads, −6 % else, 32 cells of one run", single_cells(_only_at_512), depends_on("t", {"512"})),
    Row("dead for a third: 667 against 800", dead_third, wins("B")),
    Row("as text: equal, 3 runs each", written(repeats("AB", 3)), claimed),
    Row("as text: equal, an option makes 19 %", written(scripts), claimed),
    Row("as text: dead for a third", written(dead_third), wins("B")),
    Row("limit: hosts differ by 5 %, and nothing shows it", two_hosts(named=False), claimed, breaks="hosts_unknown"),
)
"""The last row shows what cannot be seen in logs; the verdict says that it assumes it."""
