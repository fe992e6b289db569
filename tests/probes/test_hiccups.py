import pytest

from dialin.probes import host
from dialin.probes.hiccups import PERIOD, HiccupProbe, Hiccups
from dialin.probes.host import Lost, pressure_total


@pytest.fixture
def probe(clock):
    """Return what a probe tells of some seconds in which figures went from one to another; the heartbeat does not beat."""

    def measure(before, after, seconds=1.0):
        figures = iter([before, after])
        watching = HiccupProbe(clock, lambda: next(figures))
        clock.sleep(seconds)
        return watching.taken()

    return measure


def test_shares_are_of_the_time_since_the_last_question(probe):
    hiccups = probe(Lost(10.0, 5.0, 4), Lost(12.0, 6.5, 4), seconds=2.0)
    assert hiccups.stolen == pytest.approx(0.25)
    assert hiccups.pressure == pytest.approx(0.75)


def test_figures_that_the_kernel_does_not_report_are_none(probe):
    assert probe(Lost(None, None, 2), Lost(None, None, 2)) == Hiccups(gap=pytest.approx(1 - PERIOD))


def test_a_share_is_one_at_most_and_never_below_none(probe):
    hiccups = probe(Lost(10.0, 5.0, 1), Lost(9.99, 6.2, 1))
    assert (hiccups.stolen, hiccups.pressure) == (0.0, 1.0)


def test_no_share_is_had_of_an_instant(probe):
    hiccups = probe(Lost(10.0, 5.0, 1), Lost(10.01, 5.01, 1), seconds=0.01)
    assert (hiccups.stolen, hiccups.pressure) == (None, None)


def test_the_total_of_a_pressure_file_is_read():
    text = "some avg10=0.00 avg60=0.10 avg300=1.15 total=5755435672\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    assert pressure_total(text) == pytest.approx(5755.435672)


@pytest.mark.parametrize("text", ["", "some avg10=0.00", "some total=many", "full avg10=0.00 total=7", "\n"])
def test_a_pressure_file_that_reports_nothing_is_none(text):
    assert pressure_total(text) is None


def test_the_figures_of_this_machine_never_fall():
    first, second = host.lost(), host.lost()
    assert first.cpus >= 1
    for before, after in ((first.stolen, second.stolen), (first.waited, second.waited)):
        assert before is None or after >= before
