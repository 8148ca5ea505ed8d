import contextlib
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.workflow.claims.measurement import Measurement


def test_numbers_of_any_library_become_floats():
    assert Measurement.of("a.b", np.float32(0.5), stderr=np.array(0.1), replicates=3).stderr == 0.1
    assert Measurement.of("a.b", np.arange(3)).value == (0.0, 1.0, 2.0)
    assert Measurement.of("a.b", [1, 2], stderr=0.5, replicates=2).errors == (0.5, 0.5)
    drawn = Measurement.of("a.b", 1, stderr=1, replicates=np.int64(3), seed=np.int32(0))
    assert [type(drawn.replicates), type(drawn.seed)] == [int, int]


@pytest.mark.parametrize(
    ("value", "options", "words"),
    [
        (math.nan, {}, r"`value` of 'a.b' is nan"),
        ([1.0, math.inf], {}, r"`value` of 'a.b' is inf"),
        (10**400, {}, r"`value` of 'a.b' is inf"),
        ([], {}, r"`value` of 'a.b' is empty"),
        ("0.5", {}, r"`value` of 'a.b' must be a number .* got '0.5'"),
        (True, {}, r"`value` of 'a.b' must be a number .* got True"),
        ([[1.0]], {}, r"flat sequence of numbers, got \[1.0\]"),
        (1.0, {"stderr": -0.1}, r"`stderr` of 'a.b' must not be negative, got -0.1"),
        ([1.0, 2.0], {"stderr": [0.1]}, r"got 1 errors for"),
        (1.0, {"stderr": 0.1}, r"`replicates` of 'a.b' is missing: .* its standard error 0.1"),
        (1.0, {"replicates": 1}, r"`replicates` of 'a.b' must be at least 2, got 1"),
        (1.0, {"replicates": 2.0}, r"`replicates` of 'a.b' must be an integer or None, got 2.0"),
        (1.0, {"seed": True}, r"`seed` of 'a.b' must be an integer or None, got True"),
        (1.0, {"seed": -1}, r"`seed` of 'a.b' must not be negative, got -1"),
        (1.0, {"records": [3]}, r"`records` of 'a.b' must be names of records, got \[3\]"),
        (1.0, {"records": "../x"}, r"`records` of 'a.b' must be names of records, got '../x'"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_cannot_be_judged_is_refused(value, options, words):
    with pytest.raises(ValueError, match=words):
        Measurement.of("a.b", value, **options)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("claim", ["", " ", 5, None, "A B!", "a", "a.", "a.b\n", "a.<b>"])
def test_a_claim_has_an_id_that_a_claim_can_have(claim):
    words = rf"`claim` must be the id .* got {re.escape(repr(claim))}"
    with pytest.raises(ValueError, match=words):
        Measurement.of(claim, 1.0)


def test_json_names_every_field_and_nothing_else():
    data = Measurement.of("a.b", [1, 2], stderr=0.5, replicates=4, seed=1, records="r").to_json()
    assert data == {
        "id": "a.b",
        "value": [1.0, 2.0],
        "stderr": 0.5,
        "replicates": 4,
        "seed": 1,
        "records": ["r"],
    }
    for broken in (data | {"more": 1}, {k: v for k, v in data.items() if k != "seed"}):
        with pytest.raises(ValueError, match=r"missing or unknown: (more|seed)"):
            Measurement.from_json(broken)


FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.one_of(FINITE, st.lists(FINITE, min_size=1, max_size=4))
ERRORS = st.floats(min_value=0, max_value=1e300)


@given(VALUES, ERRORS, st.integers(2, 10**6), st.one_of(st.none(), st.integers(0)))
def test_it_survives_json(value, stderr, replicates, seed):
    item = Measurement.of("a.b", value, stderr=stderr, replicates=replicates, seed=seed)
    assert Measurement.from_json(json.loads(json.dumps(item.to_json()))) == item


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ("id", "value", "stderr", "replicates", "seed", "records")


@given(st.one_of(JSON, st.fixed_dictionaries(dict.fromkeys(NAMES, JSON))))
@pytest.mark.usefixtures("unchecked_shapes")
def test_arbitrary_json_is_a_measurement_or_a_sentence(data):
    with contextlib.suppress(ValueError):
        assert isinstance(Measurement.from_json(data), Measurement)
