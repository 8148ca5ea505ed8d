import pytest
import torch
from torch import nn

from ntpcompanion.generalization.stacked_mlp import (
    StackedMLP,
    draw_order,
    draw_stacked_mlp,
    train_stacked_mlp,
)
from ntpcompanion.randomness import torch_stream

SIZES = [4, 8, 6, 3]


def examples(k=3, n=20):
    g = torch_stream(0, "examples")
    return torch.randn(k, n, 4, generator=g), torch.randint(3, (k, n), generator=g)


def drawn(k=3):
    return draw_stacked_mlp([torch_stream(i, "start") for i in range(k)], SIZES)


def orders(k=3, **change):
    how = {"count": 20, "epochs": 2, "batch_size": 5, **change}
    return draw_order([torch_stream(i, "order") for i in range(k)], **how)


def one_by_one(start, inputs, labels, order, rate, momentum):
    """The i-th network as a module of torch, trained in a loop."""
    for i in range(len(start)):
        layers = []
        for weight, bias in zip(start.weights, start.biases, strict=True):
            layer = nn.Linear(*weight.shape[1:])
            layer.weight.data, layer.bias.data = weight[i].T.clone(), bias[i, 0].clone()
            layers += [layer, nn.ReLU()]
        network = nn.Sequential(*layers[:-1])
        optimizer = torch.optim.SGD(network.parameters(), lr=rate, momentum=momentum)
        for rows in order[i]:
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(inputs[i, rows]), labels[i, rows]).backward()
            optimizer.step()
        yield network


def test_networks_side_by_side_are_networks_one_by_one():
    start, (inputs, labels), order = drawn(), examples(), orders()
    found = train_stacked_mlp(start, inputs, labels, order, learning_rate=0.1, momentum=0.8)
    logits = found.logits(inputs)
    for i, network in enumerate(one_by_one(start, inputs, labels, order, 0.1, 0.8)):
        torch.testing.assert_close(logits[i], network(inputs[i]), atol=1e-4, rtol=1e-4)
    assert (found.predictions(inputs) == logits.argmax(-1)).all()


def test_a_network_depends_on_its_own_generator_only():
    alone = draw_stacked_mlp([torch_stream(2, "start")], SIZES)
    assert all((a[0] == b[2]).all() for a, b in zip(alone.weights, drawn().weights, strict=True))
    same = draw_stacked_mlp([torch_stream(2, "start"), torch_stream(2, "start")], SIZES)
    assert (same.weights[0][0] == same.weights[0][1]).all()


def test_inputs_for_all_are_inputs_for_each():
    networks, x = drawn(), examples()[0][0]
    assert torch.equal(networks.logits(x), networks.logits(x.expand(3, *x.shape)))


def test_an_order_visits_each_row_once_in_an_epoch():
    order = orders(epochs=3, batch_size=5)
    assert order.shape == (3, 12, 5)
    for network in order.view(3, 3, 20):
        assert all(sorted(epoch.tolist()) == list(range(20)) for epoch in network)
    assert orders(batch_size=6).shape == (3, 6, 6)  # two rows of each epoch are left out


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_stacked_mlp([torch_stream(0, "a")], [3]), "`sizes` must hold at least 2"),
        (lambda: train(labels=examples()[1] + 1), "`labels` must lie in 0 … 2, .* from 1 to 3"),
        (lambda: train(order=orders() - 1), "`order` must lie in 0 … 19, .* from -1 to 18"),
        (lambda: train(order=orders() + 1), "`order` must lie in 0 … 19, .* from 1 to 20"),
        (lambda: orders(batch_size=21), r"`batch_size` must lie in 1 … 20 \(`count`\), got 21"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def train(**change) -> StackedMLP:
    inputs, labels = examples()
    given = {"start": drawn(), "inputs": inputs, "labels": labels, "order": orders()}
    return train_stacked_mlp(**{**given, "learning_rate": 0.1, **change})
