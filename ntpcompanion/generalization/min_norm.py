"""Least squares of minimum norm on many subsets of one sample, and with one example left out."""

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from ntpcompanion.validation import as_matrix, as_shaped, check_shape, described

DEPENDENT = 1e-10  # smallest over largest pivot, below which rows count as linearly dependent


def min_norm_predictions(
    features: ArrayLike, targets: ArrayLike, member: ArrayLike, points: ArrayLike
) -> Float[np.ndarray, "models k"]:
    """Fit least squares of minimum norm on many subsets, and predict.

    Parameters
    ----------
    features
        (n, width), of which the rows or the columns of each subset are linearly independent.
    targets
        (n,), numbers to fit, such as labels of 1 and -1.
    member
        (models, n), the subsets, all of one size.
    points
        (k, width), features of the points to predict.

    Returns
    -------
    array (models, k)
        predictions. With at least as many features as examples a model interpolates its subset.
        Cost O(size² min(size, width)) for a model, and O(n width (n + k)) once.

    Raises
    ------
    ValueError
        shapes that do not fit, subsets of different sizes, linearly dependent features.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.generalization import min_norm_predictions
    >>> member = np.array([[True, True, False], [False, True, True]])
    >>> features = [[1.0], [2.0], [3.0]]
    >>> min_norm_predictions(features, [1.0, 2.0, 6.0], member, [[1.0]]).round(3).tolist()
    [[1.0], [1.692]]
    """
    inputs = as_matrix("features", features, (None, None))
    n, width = inputs.shape
    wanted = as_shaped("targets", targets, (n,), "one for each row of `features`")
    test_inputs = as_matrix("points", points, (None, width))
    seen = as_flags("member", member, (None, n))
    size = int(seen[0].sum())
    if not size or (seen.sum(axis=1) != size).any():
        raise ValueError(
            f"`member` must hold subsets of one size, got {seen.sum(axis=1).min()} … "
            f"{seen.sum(axis=1).max()} examples."
        )
    rows = np.nonzero(seen)[1].reshape(len(seen), size)
    if width <= size:
        return _coefficients(inputs[rows], wanted[rows]) @ test_inputs.T
    products = inputs @ inputs.T
    gram = products[rows[:, :, None], rows[:, None, :]]
    duals = np.zeros(seen.shape)
    duals[seen] = np.linalg.solve(gram, wanted[rows][..., None]).ravel()
    return duals @ (inputs @ test_inputs.T)


def leave_one_out_predictions(features: ArrayLike, targets: ArrayLike) -> Float[np.ndarray, " n"]:
    """What least squares of minimum norm predicts for each example if it is trained on the others,
    from one fit on all of them.

    Parameters
    ----------
    features
        (n, width), linearly independent rows, or columns if there are fewer of them.
    targets
        (n,), numbers to fit.

    Returns
    -------
    array (n,)
        y_i - r_i / (1 - P_ii) with residuals r and the projection P on the columns, for width < n;
        y_i - (K⁻¹ y)_i / (K⁻¹)_ii with K = features · featuresᵀ, for width ≥ n. Cost O(n² min(n,
        width)) in place of n times that.

    Raises
    ------
    ValueError
        targets that do not fit, or linearly dependent features.

    Examples
    --------
    >>> from ntpcompanion.generalization import leave_one_out_predictions
    >>> leave_one_out_predictions([[1.0], [1.0], [1.0]], [1.0, 2.0, 6.0]).round(6).tolist()
    [4.0, 3.5, 1.5]
    """
    inputs = as_matrix("features", features, (None, None))
    wanted = as_shaped("targets", targets, inputs.shape[:1], "one for each row of `features`")
    if inputs.shape[1] < len(inputs):
        basis, triangle = np.linalg.qr(inputs)
        _check_pivots(triangle)
        residual = wanted - basis @ (basis.T @ wanted)
        return wanted - residual / (1 - (basis**2).sum(axis=1))
    basis, triangle = np.linalg.qr(inputs.T)
    _check_pivots(triangle)
    inverse = np.linalg.inv(triangle.T @ triangle)
    return wanted - inverse @ wanted / np.diag(inverse)


def _coefficients(
    inputs: Float[np.ndarray, "models size width"], targets: Float[np.ndarray, "models size"]
) -> Float[np.ndarray, "models width"]:
    basis, triangle = np.linalg.qr(inputs)
    _check_pivots(triangle)
    along = np.einsum("tsw,ts->tw", basis, targets)
    return np.linalg.solve(triangle, along[..., None])[..., 0]


def _check_pivots(triangle: Float[np.ndarray, "*models r r"]) -> None:
    pivots = np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))
    if (pivots.min(axis=-1) <= DEPENDENT * pivots.max(axis=-1)).any():
        raise ValueError(
            "`features` are linearly dependent, so that the fit is not determined to rounding. "
            "Leave out features, or take others."
        )


def as_flags(
    name: str, value: ArrayLike, shape: tuple[int | None, int | None]
) -> Bool[np.ndarray, "rows columns"]:
    """`value` as a matrix of true and false of a shape (None: any positive length). Raises
    ValueError for entries of another kind, zeros and ones too, and for another shape.
    """
    flags = np.asarray(value)
    if flags.dtype != bool:
        raise ValueError(f"`{name}` must hold true and false only, got {described(flags)}.")
    check_shape(name, flags.shape, shape)
    return flags
