import pytest
import torch
from torch import nn

from ntpcompanion.languages.pretrained.word_model import WordModel
from tests.languages.opt import small_gpt2, small_opt


@pytest.mark.parametrize("make", [small_opt, small_gpt2])
def test_the_law_is_the_softmax_of_the_logits_that_are_left(make):
    model = make()
    reader = WordModel(model, [7, 4, 9], 2, 3)
    inputs = reader.inputs(torch.tensor([[0, 2, -1], [1, 1, 0]]))
    assert inputs[:, :3].tolist() == [[2, 7, 9], [2, 4, 4]]
    distribution, past = reader.read(inputs)
    logits = model(input_ids=inputs).logits[..., [7, 4, 9, 3]].detach()
    assert torch.allclose(distribution[:, 1:], logits[:, 1:].log_softmax(-1), atol=1e-12)
    assert torch.allclose(distribution[:, 0, :3], logits[:, 0, :3].log_softmax(-1), atol=1e-12)
    assert (distribution[:, 0, 3] == -torch.inf).all()
    again, _ = reader.read(inputs[:, 3:], reader.read(inputs[:, :3])[1])
    assert torch.allclose(again, distribution[:, 3:], atol=1e-12)
    assert past.get_seq_length() == 4


def test_without_an_end_there_are_only_words():
    reader = WordModel(small_opt(), [7, 4], 2)
    assert reader.read(torch.tensor([[2, 4]]))[0].exp().sum(-1).tolist() == [[pytest.approx(1)] * 2]
    assert (reader.columns.tolist(), reader.positions, reader.device) == (
        [7, 4],
        6,
        torch.device("cpu"),
    )


def test_an_output_layer_with_a_bias_keeps_it():
    model = small_opt()
    model.lm_head = nn.Linear(16, 12, dtype=torch.float64)
    distribution = WordModel(model, [7, 4], 2).read(torch.tensor([[2]]))[0]
    assert torch.allclose(
        distribution[0, 0],
        model(input_ids=torch.tensor([[2]])).logits[0, 0, [7, 4]].log_softmax(-1),
        atol=1e-12,
    )


def test_half_precision_is_normalized_in_float64():
    distribution = WordModel(small_opt().bfloat16(), [7, 4, 5], 2).read(torch.tensor([[2, 5, 4]]))[
        0
    ]
    assert distribution.dtype == torch.float64
    assert torch.allclose(distribution.exp().sum(-1), torch.ones(1, 3).double(), atol=1e-12)


def scaled(model):
    model.forward = lambda *args, **kwargs: type(
        "Output", (), {"logits": 0.9 * type(model).forward(model, *args, **kwargs).logits}
    )
    return model


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"model": nn.Linear(2, 2)},
            "`model`",
        ),
        (
            {"model": small_opt().base_model},
            "`model` must be a causal language model of transformers, got OPTModel",
        ),
        (
            {"model": small_opt().train()},
            r"`model` is in training mode.*Call model\.eval\(\) first",
        ),
        (
            {"model": scaled(small_opt())},
            "`model`: OPTForCausalLM changes its logits after the output layer, by",
        ),
        ({"words": [-1, 5]}, "`words` must lie in 0 … 11.* got -1"),
        (
            {"words": [4.0, 5.0]},
            "`words` must be an array of integers, got a numpy.ndarray of float64",
        ),
    ],
)
def test_what_is_no_word_model_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        WordModel(**{"model": small_opt(), "words": [4, 5], "bos": 2} | change)


def test_logits_that_are_not_numbers_are_refused():
    model = small_opt()
    reader = WordModel(model, [4, 5], 2)
    model.lm_head.weight.data[4] = torch.nan
    with pytest.raises(ValueError, match="`model`"):
        reader.read(torch.tensor([[2]]))
