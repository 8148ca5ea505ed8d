"""One-shot pruning of the linear layers of a network: the weights of least importance become 0."""

from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.adaptation.finetuning import Matrices, linear_layers, read_inputs
from ntpcompanion.checks import Range, Shape, checked

Sparsity = Annotated[float, Range(0, 1)]
Rule = Literal["magnitude", "wanda"]


@checked
def prune_matrix(
    weight: Annotated[Tensor, Shape("out in")],
    sparsity: Sparsity,
    norms: Annotated[Tensor, Shape("in")] | None = None,
) -> Float[Tensor, "out in"]:
    """A matrix whose least important entries are 0.

    Parameters
    ----------
    weight
        (out, in), the matrix of a linear layer.
    sparsity
        the fraction of entries that become 0, rounded to whole entries.
    norms
        (in,), the norm of each input over a text. Without it the importance of an entry is its
        magnitude, and all entries of the matrix are compared. With it the importance is magnitude
        times the norm of its input, and the entries of each row are compared (Wanda, Sun et al.
        2024).

    Returns
    -------
    Tensor
        (out, in), a copy.

    Raises
    ------
    ValueError
        a sparsity outside [0, 1], another shape.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.adaptation import prune_matrix
    >>> weight = torch.tensor([[3.0, 1.0], [4.0, 5.0]])
    >>> prune_matrix(weight, 0.5).tolist()
    [[0.0, 0.0], [4.0, 5.0]]
    >>> prune_matrix(weight, 0.5, norms=torch.tensor([1.0, 9.0])).tolist()
    [[0.0, 1.0], [0.0, 5.0]]
    """
    size = weight.abs().flatten()[None] if norms is None else weight.abs() * norms
    number = round(sparsity * size.shape[1])
    order = np.argpartition(size.numpy(), min(number, size.shape[1] - 1), axis=1)
    mask = torch.ones_like(size).scatter_(1, torch.from_numpy(order[:, :number]), 0.0)
    return weight * mask.view_as(weight)


def input_norms(model: nn.Module, rows: Int[Tensor, "n t"]) -> dict[str, Float[Tensor, " in"]]:
    """Norm of each input of each linear layer of a causal model of transformers, over all tokens of
    these rows. The whole model is read once before it is pruned; Wanda's own program reads each
    block behind blocks that are pruned already.
    """
    norms: dict[str, Tensor] = {}

    def look(name: str, x: Float[Tensor, "n in"]) -> None:
        norms[name] = x.square().sum(0).sqrt()

    read_inputs(model, rows, look)
    return norms


@contextmanager
def pruned(
    model: nn.Module,
    names: Iterable[str],
    sparsity: float,
    norms: Mapping[str, Tensor] | None = None,
) -> Any:
    """The model with the named linear layers pruned, each to the same sparsity; on leaving they
    have their weights again.
    """
    layers = linear_layers(model)
    start: Matrices = {name: layers[name].weight.detach().clone() for name in names}
    try:
        with torch.no_grad():
            for name, weight in start.items():
                norm = None if norms is None else norms[name]
                layers[name].weight.copy_(prune_matrix(weight, sparsity, norm))
        yield model
    finally:
        with torch.no_grad():
            for name, weight in start.items():
                layers[name].weight.copy_(weight)
