import pytest
import torch

from ntpcompanion.mlm.data.mlm_checks import (
    as_integers,
    as_list,
    as_numbers,
)
from ntpcompanion.validation import as_positive, check_range


def test_what_is_right_passes_as_it_is():
    assert as_list("x", (1, "a"), "things") == [1, "a"]
    assert as_integers("x", torch.arange(3), 0) == [0, 1, 2]
    assert as_numbers("x", (0.5, 2), as_positive) == [0.5, 2.0]
    check_range("x", torch.tensor([0.0, 1.0]), 0, 1)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: as_list("x", "ab", "words"), "`x` must be a list of words, got 'ab'."),
        (lambda: as_integers("x", [1, 2.5]), "`x` must be an integer, got 2.5."),
        (lambda: as_numbers("x", []), "`x` must hold at least one number, got a list."),
        (
            lambda: check_range("x", torch.tensor([0.0, 1.5]), 0, 1),
            "`x` must lie in 0 … 1, got a torch.Tensor of torch.float32 with shape (2,) from 0 to "
            "1.5.",
        ),
    ],
)
def test_what_is_wrong_is_refused_in_a_sentence(ask, sentence):
    with pytest.raises(ValueError) as rejection:
        ask()
    assert str(rejection.value) == sentence
