"""The conformance tests of probes: the test class of an implementation inherits them."""

from __future__ import annotations

import math

from dialin.clock import SystemClock
from dialin.model.evidence import ProbeNoteCode
from dialin.probes.probe import Probe, Reading
from dialin.probes.probe_watch import Watch
from dialin.sentences.probe_notes import probe_note_text


class ProbeConformance:
    """Tests of a probe on what it reads.

    A subclass whose name begins with `Test` returns from `make_probe` one that has read nothing yet.
    """

    def make_probe(self) -> Probe:
        """Return a probe; a new object at each call, always of the same server or host."""
        raise NotImplementedError

    def test_its_name_and_period_are_fixed(self) -> None:
        """Figures are stored under the name, in every trial alike."""
        first, second = self.make_probe(), self.make_probe()
        assert first.name.strip() == first.name != ""
        assert first.period >= 0
        assert (first.name, first.period) == (second.name, second.period)

    def test_it_reads_numbers_and_sentences(self) -> None:
        """A counter and a gauge have different names, since both are charted by name; a note says what cannot be read."""
        reading = self.make_probe().read()
        assert reading.counters or reading.gauges or reading.notes
        assert all(math.isfinite(value) for value in (*reading.counters.values(), *reading.gauges.values()))
        assert not reading.counters.keys() & reading.gauges.keys()
        assert all(probe_note_text(note) for note in reading.notes)

    def test_no_counter_falls(self) -> None:
        """A counter that falls would be taken for one that was reset.

        On 5.6, the counts of a connection that ends are missing for a moment: a counter fails only if it falls every time.
        """
        probe = self.make_probe()
        assert not set.intersection(*(_fallen(probe.read(), probe.read()) for _ in range(3)))

    def test_its_notes_are_the_same_at_every_reading(self) -> None:
        """A note is stored once per trial, not once per second."""
        probe = self.make_probe()
        assert probe.read().notes == probe.read().notes

    def test_it_can_be_watched(self) -> None:
        """A window as short as two readings has figures."""
        probe = self.make_probe()
        with Watch([probe], SystemClock()) as watch:
            with watch.window():
                pass
            (watched,) = watch.taken()
        assert watched.probe == probe.name
        assert watched.readings >= 1
        assert not [note for note in watched.notes if note.code is ProbeNoteCode.UNREADABLE]


def _fallen(before: Reading, after: Reading) -> set[str]:
    return {name for name, value in before.counters.items() if after.counters.get(name, value) < value}
