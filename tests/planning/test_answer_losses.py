from dataclasses import replace

import numpy as np
import pytest
import torch

from ntpcompanion.networks import TransformerSize
from ntpcompanion.planning import (
    Objective,
    PathStar,
    answer_logits,
    answer_loss,
    build_planner,
    decode_answers,
    draw_graphs,
    network_predictor,
    score_answers,
)

TASK = PathStar(2, 4, 8)
SIZE = TransformerSize(8, layers=2, heads=2)
OBJECTIVES = {
    "next token": Objective((1.0, 1.0, 1.0, 1.0)),
    "first node only": Objective((0.0, 1.0, 0.0, 0.0)),
    "weighted": Objective((0.5, 2.0, 0.1, 0.0)),
    "teacherless": Objective((1.0, 1.0, 1.0, 1.0), teacherless=True),
}


@pytest.fixture
def model():
    model = build_planner(TASK, SIZE, seed=0).double()
    with torch.no_grad():  # larger than at the start, so that attention is not uniform
        for parameter in model.parameters():
            parameter.mul_(5)
    return model


@pytest.fixture
def graphs(rng):
    return draw_graphs(TASK, 3, rng)


def loss_by_loop(model, graphs, objective):
    """Token by token: what the network says after the tokens before, with padding behind them."""
    total = 0
    for question, answer in zip(graphs.prefix.tolist(), graphs.answer.tolist(), strict=True):
        for i, token in enumerate(answer):
            before = [11] * i if objective.teacherless else answer[:i]  # 11 is the dummy
            seen = question + before
            padded = torch.tensor([seen + [-1] * (model.plan.positions - len(seen))])
            logits = model(padded, torch.tensor([[len(seen) - 1]]))[0, 0]
            total += objective.weights[i] * (logits.logsumexp(0) - logits[token])
    return total / sum(objective.weights) / len(graphs)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=list(OBJECTIVES))
def test_losses_and_gradients_are_those_of_a_loop_over_tokens(objective, backwards, model, rng):
    graphs = draw_graphs(replace(TASK, reversed=backwards), 3, rng)
    found, wanted = answer_loss(model, graphs, objective), loss_by_loop(model, graphs, objective)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-12)
    parameters = list(model.parameters())
    for one, other in zip(
        torch.autograd.grad(found, parameters),
        torch.autograd.grad(wanted, parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_a_later_token_changes_nothing_before_it(model, graphs):
    prefix, fed = torch.as_tensor(graphs.prefix), torch.as_tensor(graphs.answer[:, :-1])
    before = answer_logits(model, TASK, prefix, fed)
    for i in range(fed.shape[1]):
        other = fed.clone()
        other[:, i] = (other[:, i] + 1) % 8
        after = answer_logits(model, TASK, prefix, other)
        assert torch.equal(after[:, : i + 1], before[:, : i + 1])
        assert (after[:, i + 1] != before[:, i + 1]).any()


def test_a_longer_model_gives_a_shorter_task_the_same_logits(graphs):
    long = build_planner(PathStar(2, 5, 8 + 1), SIZE, seed=0)
    short = build_planner(TASK, SIZE, seed=0)
    state = short.state_dict()
    for name, value in long.state_dict().items():
        if value.shape == state[name].shape:
            value.copy_(state[name])
    # 13 tokens and 20 positions and CLS: rows of the shorter tables are among those of the longer
    with torch.no_grad():
        long.places.weight[: len(short.places.weight)] = short.places.weight
        long.words.weight[:14], long.words.weight[-1] = (
            short.words.weight[:14],
            short.words.weight[-1],
        )
        long.bias[:12] = short.bias
    prefix, fed = torch.as_tensor(graphs.prefix), torch.as_tensor(graphs.answer[:, :-1])
    found = answer_logits(long, TASK, prefix, fed)[:, :, :12]
    torch.testing.assert_close(found, answer_logits(short, TASK, prefix, fed))


def test_a_network_predicts_in_batches_what_it_says_at_once(model, graphs):
    tokens = graphs.prefix, graphs.answer[:, :-1]
    found = network_predictor(model, TASK, batch=2)(*tokens)
    with torch.no_grad():
        logits = answer_logits(model, TASK, *(torch.as_tensor(x) for x in tokens))
    np.testing.assert_allclose(found, logits.log_softmax(-1).numpy(), atol=1e-12)
    np.testing.assert_allclose(np.exp(found).sum(2), 1)


def test_a_teacherless_network_sees_no_answer(model, graphs):
    predict = network_predictor(model, TASK, teacherless=True)
    one, other = (predict(graphs.prefix, graphs.path(arm)[:, :-1]) for arm in (0, 1))
    np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, g: answer_loss(m, g, Objective((1.0, 1.0))), "`objective` must have a weight"),
        (
            lambda m, g: answer_loss(
                build_planner(PathStar(2, 3, 8), SIZE, 0), g, OBJECTIVES["next token"]
            ),
            "`model` must have a position for each token",
        ),
    ],
)
def test_wrong_arguments_are_named(call, words, model, graphs):
    with pytest.raises(ValueError, match=words):
        call(model, graphs)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_compiled_planner_answers_as_the_planner(model, graphs):
    compiled = torch.compile(model, backend="eager")
    objective = OBJECTIVES["next token"]
    assert torch.equal(
        answer_loss(compiled, graphs, objective), answer_loss(model, graphs, objective)
    )


def test_the_predictor_of_a_longer_model_is_scored(graphs):
    """It has more words than the task."""
    predict = network_predictor(build_planner(PathStar(2, 5, 9), SIZE, seed=0), TASK)
    assert predict(graphs.prefix, graphs.answer[:, :-1]).shape == (3, 4, 13)
    assert len(score_answers(graphs, predict).accuracy) == 4
    assert decode_answers(graphs, predict).shape == (3, 4)
