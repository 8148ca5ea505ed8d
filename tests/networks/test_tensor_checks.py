import pytest
import torch

from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.networks.stack import initial_stack
from ntpcompanion.networks.tensor_checks import (
    check_as_many,
    check_asked,
    check_embedded,
    check_long,
    check_on_device,
    check_parameters,
    check_stackable,
    check_stacked,
    check_tokens,
)

PLAN = ModelPlan("transformer", 8, 1, 2, 16, words=6, positions=3)
STACK = initial_stack(PLAN, [0, 1])
TOKENS = torch.tensor([[0, 1], [2, -1]])


def test_sentences_and_positions_pass():
    check_tokens("tokens", TOKENS.int())
    check_asked("at", None, TOKENS)
    check_asked("at", TOKENS[:, :1], TOKENS)
    check_as_many("fed", TOKENS, "prefix", TOKENS)
    check_long("tokens", TOKENS)
    check_on_device("tokens", TOKENS, TOKENS)
    check_embedded("rows", 8, 8)
    check_parameters("parameters", STACK.parameters)
    check_stacked("parameters", STACK.parameters, STACK.network)
    check_stackable("models", [build_model(PLAN, 0), build_model(PLAN, 1).double()])


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (
            lambda: check_tokens("tokens", TOKENS[0]),
            "`tokens` must be a matrix of integers (int64 or int32), a sentence in each row, got "
            "a torch.Tensor of torch.int64 with shape (2,).",
        ),
        (
            lambda: check_tokens("tokens", TOKENS > 0),
            "`tokens` must be a matrix of integers (int64 or int32), a sentence in each row, got "
            "a torch.Tensor of torch.bool with shape (2, 2).",
        ),
        (
            lambda: check_asked("at", TOKENS[:1], TOKENS),
            "`at` must have a row for each of the 2 rows of `tokens`, got a torch.Tensor of "
            "torch.int64 with shape (1, 2).",
        ),
        (
            lambda: check_tokens("tokens", TOKENS.to_sparse()),
            "`tokens` must be dense, got layout torch.sparse_coo. Use .to_dense().",
        ),
        (
            lambda: check_long("tokens", TOKENS.int()),
            "`tokens` must be of torch.int64, got a torch.Tensor of torch.int32 with shape (2, 2). "
            "Use .long().",
        ),
        (
            lambda: check_on_device("tokens", TOKENS.to("meta"), TOKENS),
            "`tokens` must be on the device of the model, cpu, got a torch.Tensor of torch.int64 "
            "with shape (2, 2) on meta. Use .to(...).",
        ),
        (
            lambda: check_embedded("rows", 7, 8),
            "`rows` must be at least 8 (words, mask and padding), got 7.",
        ),
        (
            lambda: check_parameters("parameters", {"bias": torch.zeros(2, 6), "a": torch.ones(3)}),
            "`parameters` must hold the parameters of networks, 'bias' among them, each with a "
            "first axis of as many networks, got {'bias': (2, 6), 'a': (3,)}.",
        ),
        (
            lambda: check_stacked("parameters", {"bias": torch.zeros(2, 6)}, STACK.network),
            "`parameters` must have the names of the parameters of `plan`, got a dict and "
            "'blocks.0.attention_norm.bias' in one of them only.",
        ),
        (
            lambda: check_stacked(
                "parameters", STACK.parameters | {"bias": torch.zeros(2, 5)}, STACK.network
            ),
            "`parameters` must hold floating-point numbers of shape (networks, 6) under 'bias', as "
            "`plan` says, got a dict with a torch.Tensor of torch.float32 with shape (2, 5).",
        ),
        (
            lambda: check_stackable("models", [build_model(PLAN, 0, "meta"), build_model(PLAN, 0)]),
            "`models` must be on one device, got a list on cpu, meta.",
        ),
        (
            lambda: check_stackable("models", [build_model(PLAN, 0, causal=True)]),
            "`models` must not be causal, as a stack computes attention to both sides, got a list "
            "with a causal network at 0.",
        ),
    ],
)
def test_what_is_wrong_is_told(check, sentence):
    with pytest.raises(ValueError) as rejection:
        check()
    assert str(rejection.value) == sentence


def test_entries_are_not_looked_at():
    """Under vmap nobody can."""

    def first(tokens):
        check_tokens("tokens", tokens)
        return tokens[:, 0]

    assert torch.func.vmap(first)(TOKENS.expand(3, 2, 2)).shape == (3, 2)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_checked_model_is_one_graph():
    """A graph that breaks is slower, and its numbers may be others."""
    model = build_model(PLAN, 0)
    tokens, at = torch.tensor([[0, 1, -2]]), torch.tensor([[2]])
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(tokens, at), model(tokens, at))
