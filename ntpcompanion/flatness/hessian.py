"""Second derivatives of a scalar loss, given as a function of one flat parameter vector."""

from collections.abc import Callable
from math import prod
from typing import Annotated

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn
from torch.func import functional_call, grad, vjp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.checks import Finite, Is, checked, need
from ntpcompanion.validation import check_tensor, require

Loss = Callable[[Tensor], Tensor]
Theta = Annotated[
    Float[Tensor, " d"],
    Finite,
    Is(lambda theta: theta.dtype.itemsize > 2, "be float64 or float32 for second derivatives"),
]
# ranks cannot be told in fewer digits
ExactTheta = Annotated[
    Float64[Tensor, " d"], Finite, Is(lambda theta: theta.device.type == "cpu", "be on the CPU")
]

# So many entries of vectors go through the loss in one batch: all directions at once in small
# models, one at a time in large ones.
BATCH_ENTRIES = 2**16

# Sums of the same numbers in another order, as a GPU may take them, differ by less than this many
# units of rounding.
ORDER_OF_SUMS = 100


@checked(need("vectors", "theta.dtype == vectors.dtype", "have the dtype of `theta`"))
def hessian_products(
    loss: Loss, theta: Theta, vectors: Float[Tensor, "k d"]
) -> Float[Tensor, "k d"]:
    """∇²L(θ) v for every row v of `vectors`.

    Parameters
    ----------
    loss
        maps θ to a scalar tensor, the same one every time.
    theta
        float64 or float32, on any device.
    vectors
        (k, d), of the dtype of `theta`.

    Returns
    -------
    (k, d) tensor
        the products, row by row.

    Raises
    ------
    ValueError
        what `check_loss` rejects; vectors that are not (k, d) of the dtype of `theta`.

    Notes
    -----
    One forward and backward pass, kept for all products, then about two passes a product. Memory as
    one pass times BATCH_ENTRIES / d.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import hessian_products
    >>> def loss(theta):
    ...     return theta[0] ** 2 + 3 * theta[0] * theta[1] + 2 * theta[1] ** 2
    >>> theta = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> hessian_products(loss, theta, torch.eye(2, dtype=torch.float64)).tolist()
    [[2.0, 3.0], [3.0, 4.0]]
    """
    check_loss(loss, theta)
    return symmetric_products(loss, theta)(vectors)


def symmetric_products(loss: Loss, theta: Float[Tensor, " d"]) -> Callable[[Tensor], Tensor]:
    """The map from rows v to ∇²L(θ) v, of a loss that was checked; the gradient is differentiated
    once for all of them.
    """
    with sdpa_kernel(SDPBackend.MATH):  # fused attention has no second derivative
        # the Hessian is symmetric: rows from the left are products from the right
        _, pull = vjp(grad(loss), theta)
    return vmap(lambda v: pull(v)[0], chunk_size=max(1, BATCH_ENTRIES // len(theta)))


@checked
def full_hessian(loss: Loss, theta: Theta) -> Float[Tensor, "d d"]:
    """∇²L(θ) as a matrix, symmetric to rounding. Raises as `hessian_products`. Cost: d products,
    O(d²) memory.

    Parameters
    ----------
    loss
        maps θ to a scalar tensor, the same one every time.
    theta
        (d,), float64 or float32, on any device.

    Returns
    -------
    (d, d) tensor
        the Hessian.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import full_hessian
    >>> def loss(theta):
    ...     return theta[0] ** 2 + 3 * theta[0] * theta[1] + 2 * theta[1] ** 2
    >>> theta = torch.tensor([1.0, 2.0], dtype=torch.float64)
    >>> full_hessian(loss, theta).tolist()
    [[2.0, 3.0], [3.0, 4.0]]
    """
    return hessian_products(
        loss, theta, torch.eye(len(theta), dtype=theta.dtype, device=theta.device)
    )


def check_loss(loss: Loss, theta: Float[Tensor, " d"]) -> None:
    """Evaluate `loss` twice and raise ValueError unless it is one finite scalar that depends on
    `theta`.

    Differences of a few units of rounding are let through: a GPU may add in another order every
    time.
    """
    leaf = theta.detach().clone().requires_grad_()
    with torch.enable_grad():
        first, second = loss(leaf), loss(leaf)
    check_tensor("loss(theta)", first)
    require(not first.ndim, f"`loss` must return a scalar tensor, got shape {tuple(first.shape)}.")
    require(first.isfinite(), f"`loss` is {first.item()} at `theta`: it must be finite.")
    rounding = ORDER_OF_SUMS * torch.finfo(first.dtype).eps * abs(first)
    values = f"{first.item():.8g}, then {second.item():.8g}"
    advice = "Call `module.eval()`, and fix masks and batches before."
    require(
        abs(first - second) <= rounding,
        f"`loss` is not deterministic: {values} at `theta`. {advice}",
    )
    moves = first.requires_grad and torch.autograd.grad(first, leaf, allow_unused=True)[0]
    require(
        moves is not None and moves is not False,
        "`loss` does not depend on `theta`. Use `FlatModule`.",
    )


class FlatModule:
    """A torch module as a function of one flat vector of its parameters: `flat(theta, *inputs)` is
    the module's output at θ.

    The order is that of `module.named_parameters()`; a parameter used in two places counts once.
    Buffers are used as they are, and so are frozen parameters (`requires_grad` False): they are
    constants of the function, not entries of θ, and no curvature is counted in them. `module` is
    not changed, and keeps its own parameters.

    Raises ValueError for a module without parameters that are not frozen, or with such of several
    dtypes or on several devices.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import FlatModule
    >>> flat = FlatModule(torch.nn.Linear(3, 2))
    >>> theta = torch.arange(8.0)  # six weights, then two biases
    >>> flat(theta, torch.ones(1, 3)).tolist()
    [[9.0, 19.0]]
    """

    @checked
    def __init__(self, module: nn.Module) -> None:
        self.module = module
        parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self.shapes = {name: parameter.shape for name, parameter in parameters.items()}
        kinds = {f"{parameter.dtype} on {parameter.device}" for parameter in parameters.values()}
        got = ", ".join(sorted(kinds)) or "none at all"
        require(
            len(kinds) == 1,
            f"`module` must have parameters of one dtype on one device, got {got}.",
        )

    @property
    def theta(self) -> Float[Tensor, " d"]:
        """The module's own parameters now, as a new flat vector."""
        parameters = dict(self.module.named_parameters())
        return torch.cat([parameters[name].detach().flatten() for name in self.shapes])

    def parameters(self, theta: Float[Tensor, " d"]) -> dict[str, Tensor]:
        """The parts of θ by the names of the module's parameters: views, in their shapes. Raises
        ValueError if the length does not fit.
        """
        sizes = [prod(shape) for shape in self.shapes.values()]
        check_tensor("theta", theta)
        require(
            theta.shape == (sum(sizes),),
            f"`theta` must be a vector of {sum(sizes)} parameters, got shape {tuple(theta.shape)}.",
        )
        return {
            name: part.view(shape)
            for (name, shape), part in zip(self.shapes.items(), theta.split(sizes), strict=True)
        }

    def __call__(self, theta: Float[Tensor, " d"], *inputs: Tensor) -> Tensor:
        """The output of the module at θ."""
        return functional_call(self.module, self.parameters(theta), inputs)
