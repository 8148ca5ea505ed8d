from dataclasses import replace

import pytest

from ntpcompanion.experiments.experiment import Plan
from ntpcompanion.experiments.named import NamedLanguage, NamedModel, name_of
from ntpcompanion.mlm.named_plans import LANGUAGE_PLANS, MODEL_PLANS


class Both(Plan):
    language: NamedLanguage
    model: NamedModel


def test_a_name_and_its_sizes_are_the_same_plan():
    named = Both.from_json({"language": "pcfg-12", "model": "lstm-128x4"})
    assert (named.language, named.model) == (LANGUAGE_PLANS["pcfg-12"], MODEL_PLANS["lstm-128x4"])
    assert Both.from_json(named.to_json()) == named
    assert Both(language=named.language, model=named.model) == named


@pytest.mark.parametrize("name", LANGUAGE_PLANS)
def test_a_language_is_told_by_its_name(name):
    plan = LANGUAGE_PLANS[name]
    assert name_of(plan) == name
    assert name_of(replace(plan, seed=3)) == repr(replace(plan, seed=3))
