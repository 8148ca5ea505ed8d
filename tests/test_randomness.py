import numpy as np
import pytest
import torch

from ntpcompanion.randomness import stream, torch_stream


def test_equal_seed_and_name_give_equal_draws():
    assert np.array_equal(stream(3, "embeddings").random(5), stream(3, "embeddings").random(5))


@pytest.mark.parametrize(
    ("seed", "name"), [(4, "embeddings"), (3, "decoder"), (3, "embedding"), (3, "sembeddings")]
)
def test_another_seed_or_name_gives_other_draws(seed, name):
    assert not np.array_equal(stream(3, "embeddings").random(5), stream(seed, name).random(5))


def test_integers_of_numpy_are_seeds():
    assert stream(np.int64(3), "a").random() == stream(3, "a").random()


@pytest.mark.parametrize("seed", [-1, np.int64(-2), True])
def test_a_seed_that_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError, match=r"`seed` must be a non-negative integer, got .*(-|True)"):
        stream(seed, "a")


def test_a_stream_needs_a_name():
    with pytest.raises(ValueError, match=r"`name` must say what the draws are for, got ''"):
        stream(0, "")


def test_streams_of_torch_depend_on_seed_and_name_alone():
    draws = [torch.rand(5, generator=torch_stream(seed, name)) for seed, name in KEYS]
    assert torch.equal(draws[0], torch.rand(5, generator=torch_stream(np.int64(3), "masks")))
    assert not any(torch.equal(draws[0], other) for other in draws[1:])
    with pytest.raises(ValueError, match="`seed` must be a non-negative integer, got -1"):
        torch_stream(-1, "masks")


KEYS = ((3, "masks"), (4, "masks"), (3, "labels"))
