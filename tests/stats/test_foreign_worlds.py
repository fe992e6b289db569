"""The benchmark of foreign worlds tells studies that are right from those that are not."""

import pytest

from stats.simulated import STUDIES, foreign_worlds

WORLDS = {world.name: world for world in foreign_worlds.WORLDS}


def ended(name):
    return [foreign_worlds.study(WORLDS[name], 1, number) for number in range(STUDIES)]


def test_a_gain_that_lasts_is_found_by_set():
    assert all(study.right and study.resolved for study in ended("SET, one of two better by 10 %"))


@pytest.mark.parametrize("name", ["SET, an effect that comes late (-6 %)", "SET, two equal, carry-over of 20 s"])
def test_nothing_is_claimed_of_a_gain_that_does_not_last(name):
    assert not any(study.false or study.better for study in ended(name))
