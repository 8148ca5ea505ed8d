import itertools

import numpy as np
import pytest
import torch

from ntpcompanion.experiments.real_model import sampled_language
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from ntpcompanion.recorded import Run


@pytest.fixture(scope="module")
def plan(model_text):
    sizes = {"words": 3, "length": 3, "counted": 20, "sentences": 40, "tests": 2}
    return sampled_language.Plan(source=model_text["source"], **sizes, seed=1)


@pytest.fixture(scope="module")
def result(plan):
    return sampled_language.run(plan)


def test_conditionals_are_those_of_all_sentences(plan, result):
    """By transformers itself: the probability of each of the 27 sentences."""
    model, tokenizer = load_causal_model(plan.source)
    vocabulary = tokenizer.get_vocab()
    words = [vocabulary[word] for word in result.vocabulary]
    sentences = list(itertools.product(range(3), repeat=3))
    bos = model.config.bos_token_id
    rows = torch.tensor([[bos, *(words[z] for z in sentence)] for sentence in sentences])
    with torch.no_grad():
        log_p = model(rows).logits[:, :-1, words].double().log_softmax(2)
    joint = np.zeros((3, 3, 3))
    for log_q, sentence in zip(log_p, sentences, strict=True):
        joint[sentence] = log_q[range(3), sentence].sum().exp()
    assert joint.sum() == pytest.approx(1)
    for (a, b, c), conditionals in zip(result.test_tokens, result.conditionals, strict=True):
        for column, found in zip(
            (joint[:, b, c], joint[a, :, c], joint[a, b]), conditionals, strict=True
        ):
            assert found == pytest.approx(column / column.sum(), abs=1e-3)  # stored in halves
    p = result.conditionals
    assert result.entropy == pytest.approx(-(p * np.log(p)).sum() / 6)


def test_another_seed_has_the_same_words_and_other_sentences(plan, result):
    other = sampled_language.run(sampled_language.Plan.from_json(plan.to_json() | {"seed": 2}))
    assert other.vocabulary == result.vocabulary
    assert (other.tokens != result.tokens).any()
    assert sampled_language.run(plan) == result
    assert sampled_language.Result.from_json(result.to_json()) == result
    first = "".join(result.vocabulary[z] for z in result.tokens[0])
    assert result.spelled(1) == [first]


def test_samples_of_a_record_have_one_floor(plan, result):
    samples = sampled_language.Samples([Run(plan, result), Run(plan, result)])
    assert (samples.words, samples.length, samples.tests) == (3, 3, 4)
    assert (samples.floor.mean, samples.floor.stderr) == (pytest.approx(result.entropy), 0)
