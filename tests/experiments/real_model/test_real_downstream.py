import pytest
import torch

from ntpcompanion.experiments.real_model import continued_texts
from ntpcompanion.experiments.real_model.real_downstream import (
    Plan,
    Result,
    draw_text_suite,
    exact_gaps,
    run,
)
from ntpcompanion.experiments.same_loss.study_suite import SuitePlan
from ntpcompanion.languages.language import exact_entropy_floor
from ntpcompanion.mlm.training.checkpoints import load_checkpoint

PROBE = {"dims": 4, "draws": 1, "shots": 30, "subsets": 1, "ridges": [0.01, 1.0]}
SHORT = {"steps": 20, "batch_size": 32, "weight_decay": 0.0, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def right(model_text):
    """A plan on a model of 12 tokens that knows the words of its text."""
    language = {"texts": ["a b", "b a a"], "words": 5, "length": 3, "beginnings": 25, "sampled": 40}
    sizes = {"places": [1], "examples": [300, 300], "sentences": 400, "inputs": 300, "labels": 1}
    heads = {"epochs": 2, "batch_size": 50}
    return {
        "language": {**language, "source": model_text["source"]},
        "shape": {"width": 8, "layers": 1, "heads": 4},
        "training": SHORT,
        "steps": [10, 120],
        "held": {"training": SHORT, "corrected_every": 5, "flattened_every": 5},
        "changes": [0.0, 0.5],
        "seeds": [0, 1],
        "suite": {**sizes, "probe": PROBE, "heads": heads, "tuning": heads},
        "flattened": 200,
    }


@pytest.fixture(scope="module")
def measurements(right):
    return run(Plan.from_json(right))


def test_every_network_is_measured(measurements):
    rows = [(n.model.kind, n.steps, n.model.strength, n.model.seed) for n in measurements.networks]
    held = [("held", change, seed) for change in (0.0, 0.5) for seed in (0, 1)]
    assert rows == [
        *(("untrained", 0, 0.0, seed) for seed in (0, 1)),
        *(
            row
            for steps in (10, 120)
            for row in [
                *(("pretrained", steps, 0.0, seed) for seed in (0, 1)),
                *((kind, steps, change, seed) for kind, change, seed in held),
            ]
        ),
    ]
    excess = {row: n.model.excess for row, n in zip(rows, measurements.networks, strict=True)}
    for seed in (0, 1):
        assert excess["pretrained", 120, 0.0, seed] < 0.7 * excess["pretrained", 10, 0.0, seed]
    best = measurements.bayes + 1e-9
    for network in measurements.networks:
        task = network.model.tasks[1]
        assert max(task.full, task.masked, task.projected) <= best
        assert (task.tuned is None) == (network.model.kind == "untrained")
    assert measurements.chance < max(measurements.columns.values()) <= best
    assert Result.from_json(measurements.to_json()) == measurements


def test_the_references_are_those_of_the_language(right, measurements):
    """Against the enumeration of all sentences, and the sum over them."""
    texts = Plan.from_json(right).language.build()
    language = texts.language
    assert texts.coverage == measurements.coverage == pytest.approx(1)
    assert texts.vocabulary == measurements.vocabulary
    gaps = exact_gaps(language)
    assert gaps.floor == pytest.approx(exact_entropy_floor(language, [3]).per_sentence)
    every = torch.cartesian_prod(*[torch.arange(5)] * 3)
    joint = language.log_prob(every).exp().view(5, 5, 5)
    alone = [joint.sum([s for s in range(3) if s != t]) for t in range(3)]
    assert gaps.position == pytest.approx(
        float(sum(torch.special.entr(p).sum() for p in alone)) / 3
    )
    pairs = joint.sum(2), joint.sum(0)
    given = [torch.special.entr(p).sum() - torch.special.entr(alone[1]).sum() for p in pairs]
    whole = torch.special.entr(joint).sum() - torch.special.entr(joint.sum(1)).sum()
    assert gaps.neighbours == pytest.approx(float(sum(given) + whole) / 3)
    posterior = language.latent_posterior(every)
    bayes = float((joint.flatten() * posterior.max(1).values).sum())
    assert measurements.bayes == pytest.approx(bayes, abs=0.03)
    assert len(measurements.sentences) == 20
    assert {*measurements.sentences} <= {*texts.spelled(every)}


def test_labels_follow_the_posterior(right):
    language = Plan.from_json(right).language.build().language
    plan = SuitePlan((1,), (4000, 4000), 100, inputs=60, labels=1)
    task = draw_text_suite(language, plan, 0).tasks[1]
    for part, posterior in ((task.train, task.train_posterior), (task.test, task.test_posterior)):
        assert torch.equal(posterior, language.latent_posterior(part.inputs))
        chosen = posterior.gather(1, part.labels[:, None])[:, 0]
        assert float(chosen.mean()) == pytest.approx(float((posterior**2).sum(1).mean()), abs=0.02)


@pytest.mark.slow
def test_a_killed_run_goes_on(right, measurements, tmp_path, monkeypatch):
    plan, seen = Plan.from_json(right), []
    measured = "ntpcompanion.experiments.real_model.real_downstream.measure_arm"
    real = __import__("ntpcompanion.experiments.same_loss.measure_models", fromlist=["x"])

    def killed(arm, suite):
        seen.append(arm.kind)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return real.measure_arm(arm, suite)

    monkeypatch.setattr(measured, killed)
    with pytest.raises(KeyboardInterrupt):
        run(plan, checkpoint=tmp_path)
    assert run(plan, checkpoint=tmp_path) == measurements
    assert seen == ["untrained", "pretrained", "held", "held", "pretrained", "held"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"changes": [0.5]}, "`changes` must hold 0, the control"),
        ({"suite": {"places": [1, 2]}}, r"`suite` must have the `places` \(1,\), got \(1, 2\)"),
    ],
)
def test_a_plan_that_does_not_fit(right, wrong, message):
    with pytest.raises(ValueError, match=message):
        Plan.from_json({**right, **wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"texts": ["a b", "a b"]}, "`texts` must be different"),
        ({"words": 1}, "`words` must be at least 2, got 1"),
        ({"length": 1}, "`length` must be at least 2, got 1"),
        ({"texts": ["a b"]}, "`texts`"),
    ],
)
def test_a_language_that_is_not_one(right, wrong, message):
    with pytest.raises(ValueError, match=message):
        Plan.from_json({**right, "language": {**right["language"], **wrong}})


def test_a_packaged_model_is_read_once(right, tmp_path, monkeypatch):
    """The language of a model of a package is enumerated once, and never taken for another's."""
    plan = Plan.from_json(right).language
    monkeypatch.setattr(continued_texts.ContinuationPlan, "_path", lambda self: tmp_path / "a.pt")
    first = plan.build()
    assert load_checkpoint(tmp_path / "a.pt", repr(plan)) is not None
    monkeypatch.setattr(continued_texts, "load", None)  # not asked again
    again = plan.build()
    assert torch.equal(again.language.joint, first.language.joint)
    assert again.vocabulary == first.vocabulary
    with pytest.raises(ValueError, match="another plan or language"):
        Plan.from_json(
            {**right, "language": {**right["language"], "beginnings": 3}}
        ).language.build()
