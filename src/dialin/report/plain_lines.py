"""The progress of a study in plain lines, one for each event that is worth one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from dialin.measures.table import MEASURES, measure_of_study
from dialin.model.progress import Standing
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.model.verdict import Verdict
from dialin.model.workload import WorkloadSpec
from dialin.sentences.load_units import SECONDS, units
from dialin.sentences.names import Naming, naming
from dialin.sentences.verdict_sentences import lost_seconds_text
from dialin.stats.trial_figures import Figures, figures_of_trial
from dialin.text import about, ascii_only, change, counted, number, visible


class PlainLines:
    """A watcher that writes lines to a stream: for logs, pipes and dumb terminals.

    Once writing to the stream fails, no more lines are written and the study continues.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._plain = not (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
        self._baseline = ""
        self._names: Mapping[str, str] = {}
        self._has_hosts = False
        self._samples: dict[int, list[Sample]] = {}
        self._seconds_left: dict[int, float] = {}
        self._workload = WorkloadSpec()
        self._rate = SECONDS.rate
        self._measure = MEASURES[Goal.THROUGHPUT]

    def study_began(self, spec: StudySpec, blocks_planned: int, seconds_planned: float) -> None:
        names = self._learn(spec)
        if spec.tuned:
            what, unit = f"Tune of {counted(len(spec.tuned), 'variable')}", "trial"
        else:
            several = f"{len(names.labels)} values of {names.subject}" if names.subject else f"{len(names.labels)} candidates"
            what, unit = f"Study of {several}, baseline {names.labels[spec.baseline]}", "block"
        self._write(f"{what}: about {counted(blocks_planned, unit)}, about {about(seconds_planned)}.")

    def _learn(self, spec: StudySpec) -> Naming:
        """Keep what the lines of a study need; return the names of its candidates."""
        self._baseline, self._workload = spec.baseline, spec.workload
        self._measure = measure_of_study(spec)
        names = naming(spec)
        self._names = names.full
        self._rate = units(spec.workload).rate
        return names

    def hosts_changed(self, hosts: Sequence[str]) -> None:
        """Name the host of each trial from now on if there are several; the study's log reports the hosts that join."""
        self._has_hosts = self._has_hosts or len(hosts) > 1

    def candidates_entered(self, spec: StudySpec) -> None:
        """Update the names of candidates; the study's log reports the candidates that enter."""
        self._names = naming(spec).full

    def message(self, text: str) -> None:
        self._write(text)

    def trial_began(self, trial: Trial, seconds_left: float) -> None:
        """Write nothing: the line of a trial comes at its end, with the time that is left then."""
        self._samples[trial.id] = []
        self._seconds_left[trial.id] = seconds_left

    def step_began(self, trial: Trial, step: Step) -> None:
        """Write nothing: a step is not worth a line."""

    def sampled(self, trial: Trial, sample: Sample) -> None:
        """Record a second for the trial's line."""
        self._samples[trial.id].append(sample)

    def trial_ended(self, trial: Trial, standings: Mapping[str, Standing]) -> None:
        """Write how the trial ended, how many of its seconds were host stalls, how its candidate stands, and the time left."""
        where = self._where(trial)
        figures = figures_of_trial(trial, self._samples, self._workload)
        lost_seconds = sum(sample.lost and sample.step is Step.MEASURE for sample in self._samples.pop(trial.id, ()))
        standing = None if trial.purpose.is_instrumented else standings.get(trial.candidate)
        rest = "; it gets no further trials" if standing and standing.out else ""
        left = self._seconds_left.pop(trial.id, 0.0) - sum(trial.steps.values())
        rest += f"; about {about(left)} left" if left >= 1 else ""
        if trial.state is not TrialState.DONE:
            self._write(f"{where} {trial.state}{rest}.")
            return
        figure = f" with {self._figure(figures)}" if figures else ""
        so_far = ""
        if standing and standing.ratio is not None and trial.candidate != self._baseline:
            of_goal = "" if self._measure.goal is Goal.THROUGHPUT else f" {self._measure.name}"
            so_far = f"; {change(standing.ratio)}{of_goal} to the baseline after {counted(standing.trials, 'trial')}"
        lost_part = f", {lost_seconds_text(lost_seconds)}" if lost_seconds else ""
        self._write(f"{where} ended{figure}{lost_part}{so_far}{rest}.")

    def study_ended(self, verdict: Verdict) -> None:
        """Write nothing: the verdict follows on standard output."""

    def _figure(self, figures: Figures) -> str:
        throughput, measure = f"{number(figures.window.mean)} {self._rate}", self._measure
        figure = None if measure.goal is Goal.THROUGHPUT else measure.of_trial(figures)
        return throughput if figure is None else f"{measure.short} {measure.figure(figure, self._rate)} at {throughput}"

    def _where(self, trial: Trial) -> str:
        return f"{trial.host}: {self._which(trial)}" if self._has_hosts else self._which(trial)

    def _which(self, trial: Trial) -> str:
        name = self._names.get(trial.candidate, trial.candidate)
        if trial.purpose is Purpose.OBSERVE:
            return f"Observing {name}"
        which = {
            Purpose.RACE: f"Block {trial.block}, trial {trial.position}",
            Purpose.CONFIRM: f"Block {trial.block}, confirmation trial {trial.position}",
            Purpose.LONG: "Long window",
            Purpose.SEARCH: f"Trial {trial.id}",
            Purpose.WAITS: f"Trial {trial.position} for waits",
            Purpose.PROFILE: f"Trial {trial.position} for the profile",
        }[trial.purpose]
        return f"{which}: {name}"

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        line = visible(text)
        try:
            self._stream.write((ascii_only(line) if self._plain else line) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None


class WorkloadLines(PlainLines):
    """A watcher of one study of a suite: each line begins with its workload."""

    def __init__(self, stream: TextIO, workload: str) -> None:
        super().__init__(stream)
        self._suite_member = workload

    def study_began(self, spec: StudySpec, blocks_planned: int, seconds_planned: float) -> None:  # noqa: ARG002
        """Write nothing: the suite was announced as a whole."""
        self._learn(spec)

    def study_ended(self, verdict: Verdict) -> None:
        self._write(f"Verdict: {verdict.headline}")

    def trial_began(self, trial: Trial, seconds_left: float) -> None:  # noqa: ARG002 - it is not the suite's estimate
        """Write nothing, nor later the time that is left: it is the suite's."""
        self._samples[trial.id] = []

    def _write(self, text: str) -> None:
        super()._write(f"{self._suite_member}: {text}")
