"""`dialin doctor --noise`: a study of one setting under several names, which measures the noise of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dialin.cli.conduct import conduct, new_directory
from dialin.cli.console import output
from dialin.cli.study_flags import How, spelled
from dialin.errors import ExitCode
from dialin.model.record import StudyRecord
from dialin.model.trial import Step
from dialin.model.verdict import CandidateState
from dialin.preflight import machine_noise
from dialin.question import study_file
from dialin.store.store import Store
from dialin.text import percent
from dialin.verdict.comparison import racing


def measure_noise(asked: Mapping[str, Any], *, out: Path | None, json: bool) -> ExitCode:
    """Run the study and print the noise; `asked` has the keys of a study file.

    Returns:
        `NO_VERDICT` if there is no verdict, one of the identical candidates lost, or there are too few trials.
    """
    question = study_file.question(asked, spelled=spelled, remedy="See: dialin doctor --help")
    where = out or new_directory("noise")
    conduct(question, Path.cwd(), How(out=where, json=json, yes=True), name="noise")
    with Store.open(where) as store:
        record = store.read()
    known = machine_noise.study_noise(record)
    if not json:
        _print(record, known, output())
    different = (CandidateState.BETTER, CandidateState.WORSE)
    failed = record.verdict is None or any(candidate.state in different for candidate in record.verdict.candidates)
    return ExitCode.NO_VERDICT if failed or known is None else ExitCode.VERDICT


def _print(record: StudyRecord, known: machine_noise.StudyNoise | None, console: Console) -> None:
    if known is None:
        console.print("Too few trials to measure the noise: give more --minutes, or fewer --names")
        return
    spec = record.spec
    done = [trial for trial in racing(record.trials) if Step.MEASURE in trial.steps]
    seconds = sum(trial.steps[Step.MEASURE] for trial in done) / len(done)
    overhead = sum(trial.seconds for trial in done) / len(done) - seconds
    noise = known.noise
    console.print(
        f"\nNoise floor: a trial of {seconds:.0f} s varies by {percent(noise.of_trial(seconds))} within its block: "
        f"{percent(noise.between)} from one trial to the next (starts, drift), whatever its length, and "
        f"{percent(noise.second / seconds**0.5)} because it measures only {seconds:.0f} s.",
        soft_wrap=False,
    )
    table = Table(title="The smallest difference that a budget can detect here, four times out of five", title_justify="left")
    for heading in ("budget", "2 candidates", "4 candidates", "8 candidates"):
        table.add_column(heading, justify="left" if heading == "budget" else "right")
    for row in machine_noise.budgets(noise, overhead, seconds, spec.confidence):
        table.add_row(*row)
    console.print(table)
    console.print("Later studies with this load use this noise.")
