import pytest

from ntpcompanion.experiments.experiment import Plan
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage, NamedModel
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS


class Both(Plan):
    language: NamedLanguage
    model: NamedModel


def test_a_name_and_its_sizes_are_the_same_plan():
    named = Both.from_json({"language": "pcfg-12", "model": "lstm-128x4"})
    assert (named.language, named.model) == (LANGUAGE_PLANS["pcfg-12"], MODEL_PLANS["lstm-128x4"])
    assert Both.from_json(named.to_json()) == named
    assert Both(language=named.language, model=named.model) == named


@pytest.mark.parametrize("name", LANGUAGE_PLANS)
def test_a_language_is_read_back(name):
    plan = Both(language=LANGUAGE_PLANS[name], model=MODEL_PLANS["lstm-128x4"])
    assert Both.from_json(plan.to_json()) == plan
