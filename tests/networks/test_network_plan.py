from dataclasses import replace

import pytest

from ntpcompanion.networks.network_plan import ModelPlan
from tests.mlm.cases import TRANSFORMER


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heads": 3}, "`heads` must divide `width` = 8, got 3"),
        ({"layers": 0}, "`layers` must be a whole number of at least 1, got 0"),
        ({"inner": 0}, "`inner` must be a whole number of at least 1, got 0"),
        ({"kind": "lstm"}, "`heads` and `inner` of an LSTM must be 1 and 0, got 2 and 16"),
        (
            {"kind": "lstm", "heads": 1, "inner": 0, "width": 7},
            "`width` of an LSTM must be even, one half for each direction, got 7",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        replace(TRANSFORMER, **change)


def test_values_of_another_kind_are_refused(unchecked_shapes):
    with pytest.raises(ValueError, match="`kind` must be one of transformer, lstm, got 'bert'"):
        replace(TRANSFORMER, kind="bert")
    with pytest.raises(ValueError, match=r"`width` must be a whole number of at least 1, got 8\.0"):
        ModelPlan("lstm", 8.0, 1)
