import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from ntpcompanion.experiments.real_model import learned_language
from ntpcompanion.experiments.real_model.learned_language import Plan, Result, run
from ntpcompanion.experiments.real_model.sampled_language import Result as Sample
from ntpcompanion.experiments.real_model.stored_table import HalfMatrix
from ntpcompanion.mlm import HMMPlan
from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks import ModelPlan, build_model
from ntpcompanion.recorded import Run
from tests.experiments.cases import check_result

LANGUAGE = HMMPlan(states=2, words=5, length=3, transition=0.2, emission=0.2).build()


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """Two samples of a language whose conditionals are known."""
    rows = []
    for seed in (0, 1):
        generator = torch.Generator().manual_seed(seed)
        tokens, tests = LANGUAGE.sample(600, generator), LANGUAGE.sample(20, generator)
        exact = LANGUAGE.masked_conditional(tests).reshape(60, 5)
        parts = {"numbers": tokens, "test_numbers": tests, "test_conditionals": exact}
        halves = {name: HalfMatrix.of(part.double().numpy()) for name, part in parts.items()}
        result = Sample(vocabulary=tuple("abcde"), length=3, **halves)
        rows.append({"result": result.to_json()})
    path = tmp_path_factory.mktemp("records") / "sampled.json"
    path.write_text(json.dumps({"results": rows}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def right(record):
    training = asdict(TrainingPlan(200, 64, learning_rate=0.01)) | {"betas": [0.9, 0.98]}
    sizes = {"first": 1, "samples": 2, "width": 16, "layers": 1, "evaluations": 4}
    return {"record": str(record), "training": training, **sizes}


@pytest.fixture(scope="module")
def found(right):
    return run(Plan.from_json(right))


def test_a_network_comes_near_the_exact_conditionals(found):
    assert found.sentences == 1080
    assert found.distance < 0.02 < 0.2 < found.gap
    assert found.step in (50, 100, 150, 200)


def test_a_result_repeats_and_is_plain(right, found):
    check_result(learned_language, right, found)


def test_the_gap_is_that_of_frequencies_counted_one_by_one(right, found, record):
    rows = json.loads(record.read_text())["results"]
    samples = [Sample.from_json(row["result"]) for row in (rows[1], rows[0])]
    tokens = np.concatenate([sample.tokens for sample in samples])
    learned = [row for i, row in enumerate(tokens) if i % 10]
    gaps = []
    for conditionals in samples[0].conditionals:
        for t, p in enumerate(conditionals):
            q = np.array([sum(row[t] == z for row in learned) + 0.5 for z in range(5)])
            gaps.append(sum(a * np.log(a / b) for a, b in zip(p, q / q.sum(), strict=True) if a))
    assert found.gap == pytest.approx(np.mean(gaps))


def test_masked_logits_are_those_of_one_mask_at_a_time():
    model = build_model(ModelPlan("transformer", 8, 1, 2, 16, 5, 3), 0)
    tokens = torch.tensor([[0, 1, 2], [4, 4, 3]])
    logits = learned_language.masked_logits(model, tokens)
    for i, sentence in enumerate(tokens):
        for t in range(3):
            masked = sentence.clone()
            masked[t] = MASK
            alone = model(masked[None], torch.tensor([[t]]))[0, 0]
            assert torch.allclose(logits[i, t], alone, atol=1e-6)


def test_the_curve_finds_a_power_that_is_planted(right):
    runs = [
        Run(
            Plan.from_json(right),
            Result(sentences=n, step=1, distance=d, last=d, gap=2 * scale, entropy=1.0),
        )
        for scale in (0.9, 1.1)
        for n in (1000, 2000, 4000)
        for d in [scale * (n / 1000) ** -0.5]
    ]
    curve = learned_language.LearningCurve(runs)
    assert curve.per_doubling.mean == pytest.approx(0.5**0.5)
    assert curve.fraction.mean == pytest.approx(0.25)
    expected = np.mean([np.log10(1000 * (scale / 0.01) ** 2) for scale in (0.9, 1.1)])
    assert curve.sentences_for(0.01).mean == pytest.approx(expected)


def test_samples_that_there_are_not_are_named(right):
    plan = Plan.from_json(right | {"samples": 3})
    with pytest.raises(ValueError, match=r"within the 2 samples of .*, got 3 and 1"):
        run(plan)
