"""Recipes on real builds: every variable they name is there, and takes its values."""

import pytest

from dialin.study import recipes
from dialin.study.recipes import ScaleName
from dialin.study.workshop import Workshop
from dialin.variables import check
from live import find, only_with_all


@only_with_all
@pytest.mark.parametrize("name", recipes.names())
def test_every_variable_of_a_recipe_exists_in_its_build_and_takes_its_values(name):
    workshop = Workshop.open(print)
    for study in recipes.find(name).study:
        for scale in ScaleName:
            question = study.question(scale)
            settings, _ = question.settings(recipes.directory())
            for server in question.servers:
                build = find(server)
                if build is None:
                    pytest.skip(f"{server} is not installed")
                for _, setting in settings:
                    check.check_setting({**question.set, **setting}, workshop.catalogue(build), {})
