from dataclasses import replace

import pytest

from tests.mlm.cases import TRANSFORMER


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heads": 3}, "`heads` must divide `width` = 8, got 3"),
        ({"layers": 0}, "`layers` must be at least 1, got 0"),
        ({"inner": 0}, "`inner` must be 0 for an LSTM only, got 0"),
        ({"kind": "lstm"}, "`heads` must be 1 for an LSTM, got 2"),
        (
            {"kind": "lstm", "heads": 1, "inner": 0, "width": 7},
            "`width` must be even for an LSTM, got 7",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        replace(TRANSFORMER, **change)
