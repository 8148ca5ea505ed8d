import json
from dataclasses import asdict

import pytest

from ntpcompanion.experiments.experiment import Plan
from ntpcompanion.experiments.same_loss.plan_fields import (
    SINCE_VERSION_2,
    NamedLanguage,
    NamedModel,
    migrated,
)
from ntpcompanion.experiments.same_loss.pretraining import Result
from ntpcompanion.mlm.data.language_plans import HMMPlan, PCFGPlan
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS
from tests.experiments.cases import RECORDS


class Both(Plan):
    language: NamedLanguage
    model: NamedModel


def test_a_name_and_its_sizes_are_the_same_plan():
    named = Both.from_json({"language": "pcfg-12", "model": "lstm-128x4"})
    assert (named.language, named.model) == (LANGUAGE_PLANS["pcfg-12"], MODEL_PLANS["lstm-128x4"])
    assert Both.from_json(named.to_json()) == named
    assert Both(language=named.language, model=named.model) == named


@pytest.mark.parametrize("name", ["mlm_hmm", "mlm_pcfg"])
def test_stored_languages_of_version_1_are_read(name):
    stored = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    languages = [line["result"]["language"] for line in stored]
    family = languages[0]["family"]
    assert not SINCE_VERSION_2[family].keys() & set().union(*languages)
    for language, line in zip(languages, stored, strict=True):
        written = Result.from_json(line["result"]).to_json()["language"]
        assert written == migrated(language) == language | SINCE_VERSION_2[family]


def test_a_language_of_version_2_is_not_migrated():
    for plan in (HMMPlan(2, 6, 4, transition=0.1), PCFGPlan(4, 6, 2, pairs=1)):
        assert migrated(asdict(plan)) == asdict(plan)
    assert migrated("hmm-8") == "hmm-8"
    with pytest.raises(ValueError, match="`language"):
        Both.from_json({"language": {"family": ["hmm"]}, "model": "lstm-128x4"})
