"""Pruned matrices, against loops over their entries."""

import numpy as np
import pytest
import torch

from ntpcompanion.adaptation.finetuning import linear_layers, next_token_log_p
from ntpcompanion.adaptation.pruning import input_norms, prune_matrix, pruned
from tests.languages.opt import small_opt


@pytest.fixture
def weight(rng):
    return torch.from_numpy(rng.standard_normal((5, 8)))


def loop(weight, sparsity, norms=None):
    """One entry after another, the least important first."""
    matrix = weight.numpy().copy()
    n, d = matrix.shape
    everything = [(i, j) for i in range(n) for j in range(d)]
    groups = [everything] if norms is None else [[(i, j) for j in range(d)] for i in range(n)]
    scale = np.ones(d) if norms is None else norms.numpy()
    for group in groups:
        order = sorted(group, key=lambda at: abs(weight[at].item()) * scale[at[1]])
        for at in order[: round(sparsity * len(group))]:
            matrix[at] = 0.0
    return matrix


@pytest.mark.parametrize("sparsity", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_least_important_entries_become_zero(weight, sparsity):
    norms = torch.linspace(0.1, 3.0, 8, dtype=torch.float64)
    for each in (None, norms):
        assert (prune_matrix(weight, sparsity, each).numpy() == loop(weight, sparsity, each)).all()


def test_ties_do_not_change_the_number():
    pruned_matrix = prune_matrix(torch.ones(4, 5), 0.5)
    assert int((pruned_matrix == 0).sum()) == 10


def test_norms_are_those_of_the_inputs_of_each_layer():
    model, seen = small_opt(), {}
    rows = torch.randint(3, 11, (4, 5), generator=torch.Generator().manual_seed(0))
    hooks = [
        layer.register_forward_pre_hook(lambda _, x, name=name: seen.update({name: x[0]}))
        for name, layer in linear_layers(model).items()
    ]
    with torch.no_grad():
        model(input_ids=rows)
    for hook in hooks:
        hook.remove()
    norms = input_norms(model, rows)
    assert set(norms) == set(linear_layers(model))
    for name, norm in norms.items():
        vectors = seen[name].reshape(-1, seen[name].shape[-1]).numpy()
        assert norm.numpy() == pytest.approx(np.linalg.norm(vectors, axis=0), rel=1e-5), name


def test_only_the_named_layers_are_pruned_and_weights_come_back():
    model = small_opt()
    rows = torch.randint(3, 11, (4, 5), generator=torch.Generator().manual_seed(0))
    names = [name for name in linear_layers(model) if "fc" in name]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    norms = input_norms(model, rows)
    for each in (None, norms):
        with pruned(model, names, 0.5, each), torch.no_grad():
            for name, layer in linear_layers(model).items():
                zeros = float((layer.weight == 0).double().mean())
                assert zeros == pytest.approx(0.5 if name in names else 0.0, abs=0.01), name
            assert bool(next_token_log_p(model, rows).isfinite().all())
        after = model.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)


def test_weights_come_back_after_an_error():
    model = small_opt()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError), pruned(model, linear_layers(model), 0.9):
        raise RuntimeError
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_impossible_sparsities_are_named(weight):
    with pytest.raises(ValueError, match="`sparsity`"):
        prune_matrix(weight, 1.5)
