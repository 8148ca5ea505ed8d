import pytest
from pydantic import ValidationError

from ntpcompanion.workflow.claims.expectation import Expectation


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, r"must hold exactly one predicate of equals, order, at_least"),
        ({"at_least": 1, "at_most": 2}, r"must hold exactly one predicate"),
        ({"equals": 1}, r"`within` stands beside `equals`"),
        ({"at_least": 1, "within": 1}, r"`within` stands beside `equals`"),
        ({"at_most": float("inf")}, r"a predicate that cannot fail decides nothing"),
        ({"equals": 1, "within": float("inf")}, r"a predicate that cannot fail"),
        ({"equals": 1, "within": -1}, r"greater than or equal to 0"),
        ({"interval": [1, 1]}, r"is empty or a point"),
        ({"effect": 0}, r"the effect must not be 0: its sign is the direction"),
        ({"effect": float("nan")}, r"a predicate that cannot fail"),
        ({"atleast": 1}, r"must hold exactly one predicate"),
        (5, r"must hold exactly one predicate"),
    ],
)
def test_predicates_that_say_nothing_are_refused(data, words):
    with pytest.raises(ValidationError, match=words):
        Expectation.model_validate(data)


@pytest.mark.parametrize(
    ("data", "text", "bounds"),
    [
        ({"equals": 1.5, "within": 0.5}, "= 1.5 ± 0.5", (1.5, 1.0, 2.0)),
        ({"equals": 1, "within": 0}, "= 1", (1, 1, 1)),
        ({"order": 2, "within": 0.25}, "= 2 ± 0.25", (2, 1.75, 2.25)),
        ({"at_least": 0.5}, "≥ 0.5", (0.5,)),
        ({"at_most": 1e-12}, "≤ 1e-12", (1e-12,)),
        ({"interval": [0, 1]}, "in [0, 1]", (0, 1)),
        ({"sign": "negative"}, "< 0", (0,)),
        ({"effect": 1.4}, "an effect of at least +1.4", (1.4,)),
        ({"effect": -2}, "an effect of at most -2", (-2,)),
        ({"increasing": "weakly"}, "non-decreasing", ()),
        ({"increasing": "strictly"}, "increasing", ()),
        ({"decreasing": "weakly"}, "non-increasing", ()),
        ({"decreasing": "strictly"}, "decreasing", ()),
    ],
)
def test_descriptions_are_short_and_bounds_are_the_numbers_in_them(data, text, bounds):
    predicate = Expectation.model_validate(data)
    assert (predicate.describe(), predicate.bounds) == (text, bounds)
