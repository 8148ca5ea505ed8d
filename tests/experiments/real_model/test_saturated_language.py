import pytest
import torch

from ntpcompanion.experiments.real_model.saturated_language import Plan, Result, run
from ntpcompanion.languages.pretrained.causal_language import CausalLanguage
from ntpcompanion.languages.pretrained.load_models import frequent_words, load_causal_model

TRAINING = {"steps": 150, "batch_size": 64, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def right(model_text):
    sizes = {"words": 3, "length": 3, "counted": 40, "tests": 400, "evaluations": 3}
    shape = {"width": 16, "layers": 1, "heads": 2}
    return {"source": model_text["source"], "shape": shape, "training": TRAINING, **sizes}


@pytest.fixture(scope="module")
def found(right):
    return run(Plan.from_json(right))


def test_a_network_learns_the_language(right, found):
    assert [point.step for point in found.curve] == [50, 100, 150]
    assert 0 < found.fraction < 0.5
    assert Result.from_json(found.to_json()) == found
    model, tokenizer = load_causal_model(right["source"])
    bos = model.config.bos_token_id
    words = frequent_words(model, tokenizer, [bos], 3, 3, sentences=40, seed=0)
    every = torch.cartesian_prod(*[torch.arange(3)] * 3)
    joint = CausalLanguage(model, words, bos, 3).log_prob(every).exp().view(3, 3, 3)
    exact = [joint / joint.sum(axis, keepdim=True) for axis in range(3)]
    entropies = [float(-(joint * p.log()).sum()) for p in exact]
    assert found.entropy == pytest.approx(sum(entropies) / 3, abs=0.03)
    alone = [joint.sum([a for a in range(3) if a != axis], keepdim=True) for axis in range(3)]
    worth = [float((joint * (p / q).log()).sum()) for p, q in zip(exact, alone, strict=True)]
    assert found.gap == pytest.approx(sum(worth) / 3, abs=0.03)  # frequencies of 40 sentences


def test_a_killed_run_goes_on(right, found, tmp_path):
    plan, seen = Plan.from_json(right), []

    def report(point):
        seen.append(point.step)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(plan, checkpoint=tmp_path, report=report)
    assert run(plan, checkpoint=tmp_path, report=report) == found
    assert seen == [50, 100, 50, 100, 150]
