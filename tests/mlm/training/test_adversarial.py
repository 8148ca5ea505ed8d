import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import one_hot

from ntpcompanion.mlm.data.labelled_examples import LabelledExamples, accuracy_of
from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set, evaluate
from ntpcompanion.mlm.evaluation.features import extract_features, gaussian_projection
from ntpcompanion.mlm.probes.ridge import ridge_head, validation_loss
from ntpcompanion.mlm.training.adversarial import (
    AdversarialPlan,
    adversarial_term,
    disjoint_rows,
)
from ntpcompanion.mlm.training.train import train
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.randomness import stream
from tests.mlm.cases import LSTM, SHORT, SMALL, TRANSFORMER, generator, same
from tests.mlm.training.test_train import training_batch

LANGUAGE = HMMPlan(3, 6, 4)
ADVERSARY = AdversarialPlan(weight=0.5, ridge=1.0, first=12, second=7)


def task(language, n, seed=0):
    """The second hidden state of each sentence."""
    tokens, states = language.sample_with_states(n, generator(seed))
    return LabelledExamples(tokens, states[:, 1], language.num_states)


def states_of(shape, plan, language, examples, adversary, **options):
    second = adversarial_term(shape, examples, adversary, plan.seed)
    return train(shape, plan, language, second=second, **options)


def final(*arguments, **options):
    *_, last = states_of(*arguments, **options)
    return last


def test_subsets_are_disjoint_uniform_and_new_at_each_step():
    seen = torch.zeros(2, 40)
    for step in range(400):
        first, second = disjoint_rows(40, ADVERSARY, 3, step)
        assert (len(first), len(second)) == (12, 7)
        assert len({*first.tolist(), *second.tolist()}) == 19
        seen[0, first] += 1
        seen[1, second] += 1
    for counts, size in zip(seen, (12, 7), strict=True):
        p = size / 40
        assert ((counts - 400 * p).abs() < 5 * (400 * p * (1 - p)) ** 0.5).all()
    again, other = disjoint_rows(40, ADVERSARY, 3, 399), disjoint_rows(40, ADVERSARY, 4, 399)
    assert torch.equal(again[0], first)
    assert not torch.equal(other[0], first)
    assert sorted(torch.cat(disjoint_rows(19, ADVERSARY, 0, 0)).tolist()) == list(range(19))


@pytest.mark.parametrize("model_plan", [TRANSFORMER, LSTM])
def test_without_weight_the_steps_are_those_of_normal_training(model_plan):
    language = SMALL.build()
    *_, normal = train(model_plan, SHORT, language)
    found = final(model_plan, SHORT, language, task(language, 30), replace(ADVERSARY, weight=0.0))
    assert same(found.model.state_dict(), normal.model.state_dict())
    assert found.loss == pytest.approx(normal.loss, rel=1e-6)
    assert found.term > 0


@pytest.mark.parametrize("dims", [0, 5])
def test_a_step_descends_the_difference_of_the_two_losses(dims):
    language, plan = (
        LANGUAGE.build(),
        replace(SHORT, steps=1, optimizer="sgd", warmup=0.0, micro_batch=4),
    )
    examples, adversary = task(language, 40), replace(ADVERSARY, dims=dims)
    model = build_model(TRANSFORMER, plan.seed)
    seeded = torch.Generator().manual_seed(int(stream(0, "adversary projection").integers(2**32)))
    projection = gaussian_projection(32, 5, seeded) if dims else None
    rows = disjoint_rows(40, adversary, 0, 0)
    pair = [
        LabelledExamples(examples.inputs[chosen], examples.labels[chosen], 3) for chosen in rows
    ]
    attacked = validation_loss(model, *pair, 1.0, projection)
    batches = [training_batch(plan, language, 4, 0, number) for number in (0, 1)]
    learned = [
        torch.nn.functional.cross_entropy(model(batch.tokens, batch.at)[:, 0], batch.targets[:, 0])
        for batch in batches
    ]
    (sum(learned) / 2 - 0.5 * attacked).backward()
    found = final(TRANSFORMER, plan, language, examples, adversary)
    for ours, p in zip(found.model.parameters(), model.parameters(), strict=True):
        assert torch.allclose(ours, p - plan.learning_rate * p.grad, rtol=0, atol=1e-7)
    assert found.loss == pytest.approx(float(sum(learned).detach()) / 2, rel=1e-6)
    assert found.term == pytest.approx(float(attacked.detach()), rel=1e-6)


def test_states_are_means_since_the_state_before():
    language = SMALL.build()
    arguments = (TRANSFORMER, SHORT, language, task(language, 30), ADVERSARY)
    each = [(s.loss, s.term) for s in states_of(*arguments, stops=range(7))]
    assert all(x != x for x in each[0])
    states = list(states_of(*arguments, stops=[2]))
    assert [(s.step, s.sentences) for s in states] == [(2, 16), (6, 48)]
    for state, own in zip(states, (each[1:3], each[3:]), strict=True):
        assert (state.loss, state.term) == pytest.approx(
            [sum(column) / len(own) for column in zip(*own, strict=True)], rel=1e-6
        )


def test_a_run_starts_from_given_parameters_and_resumes_from_its_checkpoint(tmp_path):
    language, file = SMALL.build(), tmp_path / "run.pt"
    start = build_model(TRANSFORMER, 9).state_dict()
    before = {name: value.clone() for name, value in start.items()}
    arguments = (TRANSFORMER, SHORT, language, task(language, 30), ADVERSARY)
    whole = final(*arguments, start=start)
    assert same(start, before)
    states = states_of(*arguments, start=start, checkpoint=file, save_every=4, stops=[5])
    assert next(states).step == 5
    states.close()  # killed at step 5: saved at 4
    resumed = final(*arguments, start=start, checkpoint=file)
    assert same(resumed.model.state_dict(), whole.model.state_dict())
    assert (resumed.loss, resumed.term) == pytest.approx((whole.loss, whole.term), rel=1e-6)
    assert not same(final(*arguments).model.state_dict(), whole.model.state_dict())
    other = build_model(TRANSFORMER, 8).state_dict()
    with pytest.raises(ValueError, match="checkpoint of another plan or language"):
        final(*arguments, start=other, checkpoint=file)
    with pytest.raises(ValueError, match="checkpoint of another plan or language"):
        final(*arguments[:4], replace(ADVERSARY, weight=0.1), start=start, checkpoint=file)


def head_accuracy(model, train, test):
    """Of a ridge head that is fitted on other sentences than those it is measured on."""
    features = [extract_features(model, examples.inputs) for examples in (train, test)]
    guesses = (features[1] @ ridge_head(features[0], one_hot(train.labels, 3).float(), 1.0)).argmax(
        1
    )
    return accuracy_of(guesses == test.labels)


def test_the_adversary_lowers_the_accuracy_of_the_head_at_kept_loss():
    language, shape = LANGUAGE.build(), ModelPlan("transformer", 16, 2, 2, 64, words=6, positions=4)
    fitted, kept, test = (
        task(language, 200, 2),
        task(language, 4000, 3),
        draw_test_set(language, 300, 4, 0),
    )
    *_, normal = train(shape, TrainingPlan(300, 64, learning_rate=1e-2), language)
    start = {name: value.clone() for name, value in normal.model.state_dict().items()}
    plan = TrainingPlan(80, 64, learning_rate=3e-3, seed=1)
    models = [
        final(
            shape,
            plan,
            language,
            task(language, 2000, 4),
            AdversarialPlan(weight, 1.0, 64, 64),
            start=start,
        ).model
        for weight in (0.0, 0.1)
    ]
    without, with_adversary = (head_accuracy(model, fitted, kept) for model in models)
    losses = [evaluate(model, test) for model in models]
    error = math.hypot(*(found.kl_stderr for found in losses))
    assert abs(losses[1].loss - losses[0].loss) + 2 * error < 0.01
    assert with_adversary.value < without.value - 5 * max(without.stderr, with_adversary.stderr)
    assert without.value > head_accuracy(normal.model, fitted, kept).value - 0.03


def test_what_does_not_fit_together_is_refused():
    language = SMALL.build()
    with pytest.raises(
        ValueError, match=r"`first` \+ `second` = 19 must be at most the 18 downstream examples"
    ):
        final(TRANSFORMER, SHORT, language, task(language, 18), ADVERSARY)
    with pytest.raises(
        ValueError, match=r"`start` does not fit `model_plan`: .*size mismatch|Missing key"
    ):
        final(
            TRANSFORMER,
            SHORT,
            language,
            task(language, 30),
            ADVERSARY,
            start=build_model(LSTM, 0).state_dict(),
        )
    with pytest.raises(ValueError, match=r"`stops` must lie in 0 … 6"):
        final(TRANSFORMER, SHORT, language, task(language, 30), ADVERSARY, stops=[8])
    with pytest.raises(
        FloatingPointError,
        match=r"The training loss is .* and the second term .* Lower `learning_rate`|`ridge`",
    ):
        final(
            TRANSFORMER,
            replace(SHORT, learning_rate=1e30, optimizer="sgd"),
            language,
            task(language, 30),
            ADVERSARY,
        )


WRONG = [
    ("weight", -1.0, "must be at least 0, got -1"),
    ("weight", float("nan"), "must be a finite number, got nan"),
    ("ridge", 0.0, "must be positive and finite, got 0"),
    ("first", 0, "must be at least 1, got 0"),
    ("second", 0, "must be at least 1, got 0"),
    ("dims", -1, "must be at least 0, got -1"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_plans_out_of_range_are_refused_by_name(name, value, words):
    with pytest.raises(ValueError, match=f"`{name}` {words}"):
        replace(ADVERSARY, **{name: value})
