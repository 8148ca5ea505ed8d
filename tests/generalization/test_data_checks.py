import re

import numpy as np
import pytest
import torch

from ntpcompanion.generalization.data_checks import as_flags


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_lists_arrays_and_tensors_are_the_same_flags(kind):
    flags = as_flags("member", kind([[True, False]]), (None, 2))
    assert flags.dtype == bool
    assert flags.tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[1, 0]], "`m` must hold true and false only, got a numpy.ndarray of int64 with shape"),
        ([[0.0, np.nan]], "got a numpy.ndarray of float64 with shape (1, 2)."),
        ([["yes", "no"]], "`m` must hold true and false only, got"),
        ([True, False], "`m` must be a matrix of shape (any, 2), got shape (2,)."),
        ([[True]], "`m` must be a matrix of shape (any, 2), got shape (1, 1)."),
        (np.empty((0, 2), bool), "got shape (0, 2)."),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_other_entries_and_shapes_are_refused(value, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        as_flags("m", value, (None, 2))
