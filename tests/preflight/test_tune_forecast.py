"""What a tune is said to be able to show before it goes on."""

from dataclasses import replace

import pytest

from dialin.errors import UserError
from dialin.model.trial import seconds_of
from dialin.model.tune import LeftOut, LeftOutReason
from dialin.preflight.tune_forecast import choice_text, resume_text, smallest_gain
from dialin.question.plan import Plan, plan
from dialin.search.proof import MOST_VARIABLES
from fixtures.simulated_servers import PLAN, tune_spec
from fixtures.tuned import whole_tune


def longer(record, minutes, **changes):
    tune = record.spec.question.model_copy(update={"searched": 40, **changes})
    return record.spec.model_copy(update={"minutes": minutes, "question": tune})


def test_a_tune_that_resumes_says_what_it_can_still_show():
    record = whole_tune(gain=False)
    spec = longer(record, 40)
    text = resume_text(record, spec, plan(spec))
    assert text.startswith("The search continues with about ")
    assert "more trials; its proof can show a gain from " in text
    assert "So far the best setting has" in text
    assert "left out" not in text
    with_left_out = longer(record, 40, left_out=(LeftOut(name="a_b", reason=LeftOutReason.BUDGET),))
    assert "takes the 1 that were left out, too" in resume_text(record, with_left_out, plan(with_left_out))


def test_minutes_that_can_show_nothing_are_said_to():
    whole = whole_tune(gain=False)
    spent = seconds_of(whole.trials) / 60
    record = replace(whole, spec=whole.spec.model_copy(update={"minutes": spent}))
    spec = longer(record, spent + 0.5)
    assert "its proof has too few trials to show a gain" in resume_text(record, spec, plan(spec))
    assert resume_text(record, record.spec, plan(record.spec)) == "", "no minutes were added"


@pytest.mark.parametrize("at_start", [True, False])
def test_the_least_budget_of_a_tune_holds_a_proof_that_can_show_a_gain(at_start):
    asked = PLAN if at_start else PLAN.model_copy(update={"variables": tuple(one for one in PLAN.variables if not one.static)})
    with pytest.raises(UserError, match="too short for a search and its proof") as refused:
        plan(tune_spec(1, asked))
    enough = tune_spec(int(refused.value.remedy.split("--minutes ")[1].split()[0]), asked)
    plan(enough)
    assert smallest_gain(enough)


def test_more_added_minutes_show_smaller_gains():
    gains = [float(smallest_gain(tune_spec(minutes), spent=20).removesuffix(" %")) for minutes in (30, 45, 80)]
    assert gains == sorted(gains, reverse=True)
    assert len({*gains}) == 3


def test_no_smaller_or_equal_budget_is_advised_for_variables_that_dialin_does_not_take_by_itself():
    record = whole_tune(gain=False)
    left_out = tuple(LeftOut(name=f"left_{number}", reason=LeftOutReason.BUDGET) for number in range(40))
    variable = record.spec.question.variables[0]
    most = tuple(replace(variable, name=f"taken_{number}") for number in range(MOST_VARIABLES))
    spec, allowed = longer(record, 120, left_out=left_out, variables=most), Plan(10, 2, 360, 20.0)
    assert choice_text(spec, allowed).endswith("dialin tunes 30 at most; name others yourself.")
    assert resume_text(record, spec, allowed).endswith("variables: dialin tunes 30 at most; name others yourself.")
    assert "--minutes" not in choice_text(longer(record, 30, left_out=left_out), allowed), "no more minutes than are given"
    some = longer(record, 120, left_out=left_out)
    added = MOST_VARIABLES - len(some.question.variables)
    assert f"takes {added} of the 40 that were left out" in resume_text(record, some, allowed)
    short = longer(record, 10, left_out=left_out)
    assert "--minutes 30 would tune 30" in choice_text(short, Plan(10, 2, 30, 20.0))
