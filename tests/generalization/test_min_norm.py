import re

import numpy as np
import pytest
import torch

from ntpcompanion.generalization import (
    leave_one_out_predictions,
    min_norm_predictions,
    random_subsets,
)
from ntpcompanion.generalization.min_norm import as_flags


@pytest.mark.parametrize("width", [2, 5, 6, 7, 30])
def test_predictions_are_those_of_the_pseudoinverse(rng, width):
    features, targets = rng.standard_normal((9, width)), rng.standard_normal(9)
    points = rng.standard_normal((4, width))
    member = random_subsets(rng, 10, 9, 6)
    found = min_norm_predictions(features, targets, member, points)
    expected = [points @ np.linalg.pinv(features[rows]) @ targets[rows] for rows in member]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_enough_features_interpolate_each_subset(rng):
    features, targets = rng.standard_normal((9, 6)), rng.standard_normal(9)
    member = random_subsets(rng, 5, 9, 6)
    fitted = min_norm_predictions(features, targets, member, features)
    np.testing.assert_allclose(fitted[member], np.tile(targets, (5, 1))[member], atol=1e-9)


@pytest.mark.parametrize("width", [2, 7, 8, 20])
def test_leaving_one_out_is_as_many_fits(rng, width):
    features, targets = rng.standard_normal((8, width)), rng.standard_normal(8)
    fits = min_norm_predictions(features, targets, ~np.eye(8, dtype=bool), features)
    np.testing.assert_allclose(
        leave_one_out_predictions(features, targets), np.diag(fits), atol=1e-9
    )


CALLS = {
    "subsets of one size": lambda: min_norm_predictions(
        [[1.0], [2.0]], [1, 2], np.array([[True, True], [True, False]]), [[1.0]]
    ),
    r"`member` must be a matrix of shape \(any, 2\)": lambda: min_norm_predictions(
        [[1.0], [2.0]], [1, 2], np.array([[True]]), [[1.0]]
    ),
    "linearly dependent": lambda: min_norm_predictions(
        np.ones((4, 2)), np.ones(4), np.array([[True, True, True, False]]), [[1.0, 1.0]]
    ),
    "`targets`": lambda: leave_one_out_predictions([[1.0], [2.0]], [1]),
    "`features` are linearly dependent": lambda: leave_one_out_predictions(
        np.ones((3, 4)), np.ones(3)
    ),
}


@pytest.mark.parametrize("words", CALLS)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(words):
    with pytest.raises(ValueError, match=words):
        CALLS[words]()


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
