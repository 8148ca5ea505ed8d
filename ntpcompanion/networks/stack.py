"""Several networks of one shape as one program: every parameter has a leading axis of networks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.networks.build_network import INITIAL_DEVIATION, build_model
from ntpcompanion.networks.language_model import FIRST_WORD, LanguageModel
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.networks.tensor_checks import (
    check_asked,
    check_parameters,
    check_stackable,
    check_stacked,
    check_tokens,
)
from ntpcompanion.validation import (
    check_all,
    check_instance,
    check_module,
    check_named_tensors,
    check_range,
    check_row,
    check_rows,
    check_seeds,
    check_size,
)

Parameters = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Stack:
    """Networks of one shape, computed together: small networks leave most of a processor idle, and
    a stack of them costs little more than one.

    Fields
    ------
    plan, parameters
        their shape; their numbers by name as in `named_parameters` of one network, each
        (models, …).

    Notes
    -----
    Measured at width 32 with 2 layers on one core: training a stack of 4 takes 1.3 times less time
    a network than `mlm.train` with batches of 32, and 1.2 times less with batches of 128.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import TransformerSize, initial_stack
    >>> plan = TransformerSize(8, layers=1, heads=1).for_sentences(words=20, positions=4)
    >>> stack = initial_stack(plan, seeds=[0, 1, 2])
    >>> tokens, at = torch.tensor([[7, -2, 3, 19], [5, 5, 5, -2]]), torch.tensor([[1], [3]])
    >>> stack.logits(tokens, at).shape
    torch.Size([3, 2, 1, 20])
    >>> torch.allclose(stack.model(2)(tokens, at), stack.logits(tokens, at)[2], atol=1e-6)
    True
    """

    plan: ModelPlan
    parameters: dict[str, Tensor]

    def __len__(self) -> int:
        check_parameters("parameters", self.parameters)
        return len(self.parameters["bias"])

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        check_parameters("parameters", self.parameters)
        return self.parameters["bias"].device

    @cached_property
    def network(self) -> LanguageModel:
        """The shape alone, for `torch.func.functional_call`."""
        return build_model(self.plan, 0, "meta")

    @torch.no_grad()
    def logits(
        self,
        tokens: Int[Tensor, "n positions"],
        positions: Int[Tensor, "n asked"],
        *,
        batch: int = 1024,
    ) -> Float[Tensor, "models n asked words"]:
        """What each network says of the same sentences, `batch` at a time. Raises ValueError for
        what is not a sentence or position of these networks, and for parameters of others.
        """
        check_stacked("parameters", self.parameters, self.network)
        check_tokens("tokens", tokens)
        check_tokens("positions", positions)
        check_asked("positions", positions, tokens)
        check_range("tokens", tokens, -FIRST_WORD, self.plan.words - 1)
        check_range("positions", positions, 0, self.plan.positions - 1)
        check_size("batch", batch)
        mapped = vmap(partial(functional_logits, self.network), (0, None, None))
        pairs = zip(tokens.split(batch), positions.split(batch), strict=True)
        return torch.cat([mapped(self.parameters, *pair) for pair in pairs], 1)

    @torch.no_grad()
    def features(
        self, tokens: Int[Tensor, "n positions"], *, batch: int = 1024
    ) -> Float[Tensor, "models n vectors width"]:
        """The contextual vectors that each network gives to the same sentences, `batch` at a
        time. Raises ValueError as `logits`.
        """
        check_stacked("parameters", self.parameters, self.network)
        check_tokens("tokens", tokens)
        check_range("tokens", tokens, -FIRST_WORD, self.plan.words - 1)
        check_size("batch", batch)
        mapped = vmap(partial(functional_features, self.network), (0, None))
        return torch.cat([mapped(self.parameters, part) for part in tokens.split(batch)], 1)

    def take(self, rows: Sequence[int]) -> "Stack":
        """Copies of some of the networks, in this order; one of them may be taken several times.
        Raises ValueError for what is not a list of at least one row.
        """
        check_instance("plan", self.plan, ModelPlan)
        check_rows("rows", rows, len(self), minimum=1)
        index = torch.as_tensor(rows, device=self.device)
        return Stack(
            self.plan, {name: p.detach()[index].clone() for name, p in self.parameters.items()}
        )

    def model(self, row: int) -> LanguageModel:
        """One of the networks, alone. Raises ValueError for what is not a row."""
        check_row("row", row, len(self))
        model = build_model(self.plan, 0, self.device)
        check_stacked("parameters", self.parameters, model)
        model.load_state_dict({name: p.detach()[row] for name, p in self.parameters.items()})
        return model


def initial_stack(
    plan: ModelPlan,
    seeds: Sequence[int],
    device: torch.device | str = "cpu",
    *,
    deviation: float = INITIAL_DEVIATION,
) -> Stack:
    """The networks that `build_model` makes of each seed.

    Parameters
    ----------
    plan
        their common shape.
    seeds
        one for each network.
    device, deviation
        as for `build_model`.

    Returns
    -------
    Stack
        of as many networks as seeds.

    Raises
    ------
    ValueError
        no seed, or one that is not a non-negative integer; what `build_model` rejects.

    Examples
    --------
    >>> from ntpcompanion.networks import TransformerSize, initial_stack
    >>> plan = TransformerSize(8, layers=1, heads=1).for_sentences(words=20, positions=4)
    >>> len(initial_stack(plan, seeds=range(5)))
    5
    """
    check_instance("plan", plan, ModelPlan)
    check_seeds(seeds)
    if not seeds:
        raise ValueError("`seeds` must hold at least one seed, got none.")
    return stack_models([build_model(plan, seed, device, deviation=deviation) for seed in seeds])


def stack_models(models: Sequence[LanguageModel]) -> Stack:
    """A stack with copies of some networks.

    Parameters
    ----------
    models
        of one shape; they are not changed when the stack is.

    Returns
    -------
    Stack
        in the order of `models`.

    Raises
    ------
    ValueError
        networks of several shapes, or none; what is not a network; networks on several devices, and
        causal ones, as those of a stack attend to both sides.

    Examples
    --------
    >>> from ntpcompanion.networks import TransformerSize, build_model, stack_models
    >>> plan = TransformerSize(8, layers=1, heads=1).for_sentences(words=20, positions=4)
    >>> stack = stack_models([build_model(plan, seed) for seed in (3, 4)])
    >>> stack.parameters["words.weight"].shape  # 20 words, mask, padding, CLS
    torch.Size([2, 23, 8])
    """
    check_all("models", models, LanguageModel)
    check_stackable("models", models)
    if len(plans := {model.plan for model in models}) != 1:
        raise ValueError(
            f"`models` must have one shape, got {len(plans)}: {sorted(map(str, plans))}."
        )
    columns = [dict(model.named_parameters()) for model in models]
    return Stack(
        models[0].plan,
        {name: torch.stack([column[name].detach() for column in columns]) for name in columns[0]},
    )


def functional_logits(
    network: LanguageModel, parameters: Parameters, tokens: Tensor, positions: Tensor
) -> Tensor:
    """The logits of a network whose numbers are `parameters`; they can be differentiated twice, and
    mapped over networks and sentences. Raises ValueError for what are none.
    """
    check_module("network", network, LanguageModel)
    check_named_tensors("parameters", parameters)
    with sdpa_kernel(SDPBackend.MATH):  # fused attention has no second derivative
        return functional_call(network, dict(parameters), (tokens, positions))


def functional_features(network: LanguageModel, parameters: Parameters, tokens: Tensor) -> Tensor:
    """The contextual vectors of all positions, likewise."""
    check_module("network", network, LanguageModel)
    check_named_tensors("parameters", parameters)
    check_tokens("tokens", tokens)
    with sdpa_kernel(SDPBackend.MATH):
        named = {f"network.{name}": p for name, p in parameters.items()}
        return functional_call(_Features(network), named, tokens)


class _Features(torch.nn.Module):
    """The method `features` as a call, which is all that `functional_call` knows."""

    def __init__(self, network: LanguageModel) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor) -> Tensor:
        return self.network.features(tokens)
