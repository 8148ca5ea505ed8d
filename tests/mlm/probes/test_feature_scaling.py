import pytest
import torch

from ntpcompanion.mlm.probes.feature_scaling import scaled, scaled_stack


def features(n, seed=0):
    """Seven correlated features, one of them constant and one a copy of another."""
    drawn = torch.randn(
        n, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    ) @ torch.diag(torch.tensor([3.0, 1, 1e-2, 5, 1], dtype=torch.float64))
    mixed = torch.cat([drawn[:, :3].cumsum(1), drawn[:, 3:4] + 100, drawn[:, 4:], drawn[:, 4:]], 1)
    return torch.cat([mixed, torch.full((n, 1), 0.1, dtype=torch.float64)], 1)


def test_nothing_is_done_without_a_scaling():
    rows, others = features(20), features(5, 1)
    assert [x is y for x, y in zip(scaled(rows, others, "none"), (rows, others), strict=True)] == [
        True,
        True,
    ]


def test_standardized_features_have_mean_zero_and_variance_one():
    rows, others = features(3000), features(5, 1)
    found, elsewhere = scaled(rows, others, "standardized")
    assert found.mean(0).abs().max() < 1e-12
    assert torch.allclose(found[:, :-1].var(0, correction=0), torch.ones(6).double())
    assert found[:, -1].abs().max() == 0
    assert torch.allclose(
        elsewhere[:, 0], (others[:, 0] - rows[:, 0].mean()) / rows[:, 0].std(correction=0)
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_whitened_features_are_uncorrelated_and_lose_only_what_is_constant(dtype):
    rows, others = features(3000).to(dtype), features(400, 1).to(dtype)
    found, elsewhere = scaled(rows, others, "whitened")
    assert found.shape == (3000, 5)  # neither the constant feature nor the copy
    assert found.dtype == dtype
    moments = found.double().T @ found.double() / 3000
    assert torch.allclose(
        moments, torch.eye(5).double(), atol=1e-9 if dtype == torch.float64 else 1e-3
    )
    both = torch.cat([found, elsewhere]).double()
    design = torch.cat([both, torch.ones(3400, 1).double()], 1)
    original = torch.cat([rows, others]).double()
    # linear in the old ones, on new rows as well
    fitted = design @ torch.linalg.lstsq(design[:3000], original[:3000]).solution
    assert torch.allclose(fitted, original, atol=1e-9 if dtype == torch.float64 else 1e-2)


def test_an_unknown_scaling_is_refused():
    with pytest.raises(
        ValueError, match="`scaling` must be one of 'none', 'standardized', 'whitened', got 'pca'"
    ):
        scaled(features(5), features(5), "pca")


@pytest.mark.parametrize("scaling", ["none", "standardized"])
def test_a_stack_is_scaled_set_by_set(scaling):
    rows, others = (torch.stack([features(n, seed) for seed in (0, 1)]) for n in (300, 40))
    found = scaled_stack(rows, others, scaling)
    for k in range(2):
        alone = scaled(rows[k], others[k], scaling)
        assert all(torch.equal(a[k], b) for a, b in zip(found, alone, strict=True))


def test_a_stack_is_whitened_set_by_set_with_zeros_for_what_is_left_out():
    rows, others = (
        torch.stack([features(n, seed) for seed in seeds])
        for n, seeds in ((300, (0, 1)), (40, (2, 3)))
    )
    rows[1, :, 5] = rows[0, :, 3]  # no copy of another in the second set
    found = scaled_stack(rows, others, "whitened")
    assert [x.shape for x in found] == [rows.shape, others.shape]
    for k, kept in enumerate((5, 6)):
        alone = scaled(rows[k], others[k], "whitened")
        for whole, part in zip(found, alone, strict=True):
            assert part.shape[1] == kept
            assert torch.allclose(whole[k, :, -kept:], part, rtol=0, atol=1e-10)
            assert whole[k, :, :-kept].abs().max() == 0
