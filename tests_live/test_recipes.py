"""Recipes on real builds: every variable they name is there, and takes its values."""

import pytest

from dialin.recipes import library
from dialin.recipes.library import ScaleName
from dialin.trials.tools import Tools
from dialin.variables import check
from live import find, only_with_all


@only_with_all
@pytest.mark.parametrize("name", library.names())
def test_every_variable_of_a_recipe_exists_in_its_build_and_takes_its_values(name):
    tools = Tools.open(print)
    for study in library.find(name).study:
        for scale in ScaleName:
            question = study.question(scale)
            settings = question.settings()
            for server in question.servers:
                build = find(server)
                if build is None:
                    pytest.skip(f"{server} is not installed")
                for _, setting in settings:
                    check.check_setting({**question.set, **setting}, tools.catalogue(build), {})
