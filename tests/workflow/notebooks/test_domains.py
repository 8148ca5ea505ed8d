import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.notebooks.domains import parse_domain


@pytest.mark.parametrize(
    ("comment", "inside", "outside"),
    [
        ("throws  [1, inf)", [1, 10**9], [0, float("inf"), float("nan"), "2", None]),
        ("a rate (0, 1]", [1e-9, 1.0, 1], [0, 1.0000001]),
        ("a power [-2.5, 3e2)", [-2.5, 299], [-2.6, 300]),
        ("open at both ends (0, 2)", [1], [0, 2]),
        ("anything below (-inf, 0]", [-1e300, 0], [1]),
        ("the rule {gd, adam}", ["gd", "adam"], ["sgd", "", "gd, adam", 3]),
        ("how it is split {words, FILE}", ["words", "a/b.json", ""], [3, None]),
    ],
)
def test_values_are_inside_or_outside(comment, inside, outside):
    domain = parse_domain(comment, "here")
    assert [value in domain for value in [*inside, *outside]] == [True] * len(inside) + [
        False
    ] * len(outside)
    assert comment.endswith(str(domain))


@pytest.mark.parametrize(
    "comment",
    [
        "n [1, ∞)",
        "n [1; 2]",
        "n [2, 1]",
        "n [1, 1]",
        "n [1,]",
        "n (0, one)",
        "rule {gd,}",
        "rule {}",
        "n [inf, 3]",
        "n  [1, 2, 4]",
    ],
)
def test_what_is_meant_as_a_domain_and_is_none_is_an_error(comment):
    with pytest.raises(
        WorkflowError,
        match=(
            r"here: its comment ends in '.*', which is not a domain. Write an interval like \[1, "
            r"inf\)"
        ),
    ):
        parse_domain(comment, "here")
