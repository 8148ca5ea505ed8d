"""What is dropped of a fine-tuned model of 12 tokens, against the definitions."""

import numpy as np
import pytest
import torch

from ntpcompanion.adaptation.finetuning import (
    Delta,
    divergence,
    finetune,
    linear_layers,
    next_token_log_p,
    output_ratios,
    text_loss,
)
from tests.languages.opt import small_opt


def rows(count, seed=0, length=5):
    return torch.randint(3, 11, (count, length), generator=torch.Generator().manual_seed(seed))


def trained(pull=0.0, steps=12, learning_rate=0.01):
    model = small_opt()
    batches = [rows(3, seed) for seed in range(steps)]
    return model, *finetune(model, batches, learning_rate=learning_rate, pull=pull)


@pytest.fixture(scope="module")
def tuned():
    return trained()


def test_only_linear_layers_but_the_output_are_trained(tuned):
    model, delta, losses = tuned
    before, after = small_opt().state_dict(), model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {f"{name}.weight" for name in linear_layers(model)}
    assert set(delta.change) == set(linear_layers(model))
    assert "lm_head" not in delta.change
    assert len(losses) == 12
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_start_and_change_give_both_models_back(tuned):
    model, delta, _ = tuned
    with torch.no_grad():
        after = next_token_log_p(model, rows(4, 50))
        delta.put(model, {name: 0 * change for name, change in delta.change.items()})
        before = next_token_log_p(model, rows(4, 50))
        delta.put(model, delta.change)
        assert torch.allclose(next_token_log_p(model, rows(4, 50)), after)
        assert torch.allclose(next_token_log_p(small_opt(), rows(4, 50)), before)
    assert divergence(after, before) > 1e-4
    assert divergence(after, after) == pytest.approx(0, abs=1e-12)


def test_loss_is_that_of_transformers():
    model, text = small_opt(), rows(3)
    with torch.no_grad():
        ours = text_loss(next_token_log_p(model, text), text)
        assert float(ours) == pytest.approx(float(model(input_ids=text, labels=text).loss))


def test_learning_rate_rises_and_falls(monkeypatch):
    seen, step = [], torch.optim.AdamW.step

    def watched(self, *args, **options):
        seen.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    trained(steps=20, learning_rate=1.0e-3)
    expected = [1 / 3, 2 / 3, *(np.arange(18, 0, -1) / 18)]
    assert seen == pytest.approx([1e-3 * factor for factor in expected])


def test_pull_is_a_step_back_by_the_root_of_the_second_moment():
    """After one step of AdamW the corrected second moment is the squared gradient."""
    model, strength, rate = small_opt(), 0.02, 0.01
    start = {name: layer.weight.detach().clone() for name, layer in linear_layers(model).items()}
    model.requires_grad_(requires_grad=True)
    text_loss(next_token_log_p(model, rows(3)), rows(3)).backward()
    gradients = {name: layer.weight.grad for name, layer in linear_layers(model).items()}
    delta, _ = finetune(small_opt(), [rows(3)], learning_rate=rate, pull=strength)
    for name, gradient in gradients.items():
        step = -rate * gradient / (gradient.abs() + 1e-8)
        fraction = min(1.0, rate * strength / float(gradient.square().mean()) ** 0.5)
        assert torch.allclose(delta.change[name], step * (1 - fraction), atol=1e-10), name
        assert torch.equal(delta.start[name], start[name])


def test_dropped_entries_are_nested_and_rescaled(tuned):
    _, delta, _ = tuned
    draws = {p: delta.dropped(p, torch.Generator().manual_seed(1), 1 / (1 - p)) for p in (0.5, 0.9)}
    entries = sum(int((change != 0).sum()) for change in delta.change.values())
    for p, dropped in draws.items():
        kept = sum(int((change != 0).sum()) for change in dropped.values()) / entries
        assert abs(kept - (1 - p)) < 5 * (p * (1 - p) / entries) ** 0.5
    for name, change in delta.change.items():
        few, many = draws[0.9][name], draws[0.5][name]
        assert bool((many[few != 0] != 0).all())
        assert torch.allclose(few[few != 0], 10 * change[few != 0])
    factors = dict.fromkeys(delta.change, 3.0)
    by_matrix = delta.dropped(0.5, torch.Generator().manual_seed(1), factors)
    name = next(iter(factors))
    assert torch.allclose(by_matrix[name], 1.5 * draws[0.5][name])


def test_largest_entries_are_kept(tuned):
    _, delta, _ = tuned
    for name, kept in delta.largest(0.9).items():
        change = delta.change[name]
        assert int((kept != 0).sum()) == change.numel() - round(0.9 * change.numel())
        assert change[kept != 0].abs().min() >= change[kept == 0].abs().max()


def test_ratios_of_outputs_are_sums_over_all_of_them(tuned):
    model, delta, _ = tuned
    text, seen = rows(3, 9), {}
    hooks = [
        layer.register_forward_pre_hook(lambda _, x, name=name: seen.update({name: x[0]}))
        for name, layer in linear_layers(model).items()
    ]
    with torch.no_grad():
        model(input_ids=text)
    for hook in hooks:
        hook.remove()
    for name, ratio in output_ratios(model, delta, text).items():
        x, change = seen[name].reshape(-1, seen[name].shape[-1]).numpy(), delta.change[name].numpy()
        parts = x[:, None, :] * change[None]  # inputs, outputs, terms
        expected = (parts**2).sum() / (parts.sum(axis=2) ** 2).sum()
        assert ratio == pytest.approx(expected), name


def test_sizes_of_a_change():
    start, change = {"a": torch.full((2, 2), 2.0)}, {"a": torch.tensor([[1.0, 3.0], [1.0, 3.0]])}
    delta = Delta(start, change)
    assert delta.relative_size == pytest.approx((20 / 16) ** 0.5)
    assert delta.mean_over_deviation == pytest.approx(2.0)
