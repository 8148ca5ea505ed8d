import pytest
import torch

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.tokens import padded_to


def test_padding_to_more_and_to_fewer_columns():
    short = torch.tensor([[1, 2, PADDING], [3, PADDING, PADDING]])
    assert padded_to(short, 4).tolist() == [[1, 2, -1, -1], [3, -1, -1, -1]]
    assert padded_to(short, 2).tolist() == [[1, 2], [3, -1]]
    with pytest.raises(ValueError, match="holds sentences of 3 words, the model has 1 `positions`"):
        padded_to(short, 1)
