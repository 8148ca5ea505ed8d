import pytest

from ntpcompanion.languages.language import estimate_entropy_floor
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS, named
from ntpcompanion.mlm.evaluation.context_ablation import context_gaps
from ntpcompanion.networks.build_network import build_model, parameters_of
from tests.mlm.cases import generator

# Liu et al. 2023, Table 3: d-model, heads, layers, d-inter
TABLE_3 = [
    (64, 1, 1, 256),
    (128, 2, 4, 512),
    (192, 3, 5, 768),
    (256, 4, 6, 1024),
    (512, 8, 8, 2048),
    (768, 12, 12, 3072),
    (1024, 16, 16, 4096),
    (1280, 20, 20, 5120),
    (1536, 24, 24, 6144),
]


def test_every_row_of_table_3_has_its_name():
    plans = [plan for name, plan in MODEL_PLANS.items() if name.startswith("transformer")]
    assert [(plan.width, plan.heads, plan.layers, plan.inner) for plan in plans] == TABLE_3


@pytest.mark.parametrize("name", MODEL_PLANS)
def test_every_size_can_be_built_and_has_about_the_parameters_of_its_formula(name):
    plan = MODEL_PLANS[name]
    model = build_model(plan, 0, "meta")  # shapes only: the largest has 680 million numbers
    matrices = (
        12 * plan.layers * plan.width**2
        if plan.kind == "transformer"
        else 6 * plan.layers * plan.width**2
    )
    assert parameters_of(model) == pytest.approx(matrices + 200 * plan.width, rel=0.15)


@pytest.mark.parametrize("name", LANGUAGE_PLANS)
def test_every_language_can_be_built_at_its_length(name):
    plan = LANGUAGE_PLANS[name]
    language = plan.build()
    assert (language.vocab_size, getattr(language, "longest", plan.length)) == (
        plan.words,
        plan.length,
    )


@pytest.mark.parametrize("name", ["hmm-8", "hmm-12", "pcfg-16"])
def test_context_matters_beyond_position_and_neighbours(name):
    gaps = context_gaps(LANGUAGE_PLANS[name].build(), 2000, 0, enumerated=0)
    assert gaps.learnable_gap - 2 * gaps.floor_stderr >= 0.3
    assert gaps.neighbours_gap >= 0.12


def test_two_blocks_have_the_floor_that_the_paper_prints():
    language = LANGUAGE_PLANS["hmm-100-two"].build()
    found = estimate_entropy_floor(language, 2000, generator())
    assert found.per_sentence_stderr < 0.01
    assert found.per_sentence == pytest.approx(3.758, abs=0.01 + 2 * found.per_sentence_stderr)


def test_a_wrong_name_is_answered_with_the_nearest():
    with pytest.raises(
        ValueError,
        match=r"`language`: there is no 'hmm4'. Did you mean 'hmm-4'\? Known: hmm-4, hmm-10",
    ):
        named("language", "hmm4", LANGUAGE_PLANS)
    with pytest.raises(ValueError, match=r"there is no 'x'. Known:"):
        named("model", "x", MODEL_PLANS)
