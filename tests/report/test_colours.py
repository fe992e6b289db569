"""What is drawn can be told apart without hue: contrast of 3:1 in both themes, marks and dashes."""

import re

import pytest

from dialin.report.charts.style import styles
from dialin.report.render.markup import asset
from fixtures import example_studies

DRAWN = ("--base", "--muted", "--care", "--bad", *(f"--c{hue}" for hue in range(1, 8)))


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def themed(theme):
    css = asset("report.css").split(":root")[1 + theme].partition("}")[0]
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", css))


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("name", DRAWN)
def test_every_drawn_colour_has_contrast_to_paper_and_card(theme, name):
    colours = themed(theme)
    for ground in ("--paper", "--card"):
        assert contrast(colours[name], colours[ground]) >= 3


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("cell", ["--worse", "--same", "--better"])
def test_figures_in_the_cells_of_a_heatmap_can_be_read(theme, cell):
    colours = themed(theme)
    assert contrast(colours[cell], colours["--ink"]) >= 4.5


def test_candidates_differ_in_mark_and_dash_and_not_only_in_colour():
    looks = list(styles(example_studies.winner().spec).values())
    assert len({look.symbol for look in looks}) == len(looks)
    assert len({look.dash for look in looks}) == len(looks)


def test_every_mark_has_its_shape_beside_names():
    css = asset("report.css")
    for look in styles(example_studies.winner().spec).values():
        assert look.symbol == "circle" or f".swatch.{look.symbol} {{" in css
