"""Names that were nearly right."""

import pytest

from ntpcompanion.spelling import known_as, nearest


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sead", " Did you mean 'seed'?"), ("dims", " Did you mean 'dim'?"), ("q", ""), ("", "")],
)
def test_the_nearest_name_is_offered_if_it_is_near(name, hint):
    assert nearest(name, iter(["seed", "dim"])) == hint


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_a_name_with_other_characters_for_the_same_letters_is_known_or_named():
    assert known_as(DECOMPOSED, iter([COMPOSED, "tea"])) == COMPOSED
    assert known_as(COMPOSED, [DECOMPOSED]) == DECOMPOSED
    assert known_as(COMPOSED, [DECOMPOSED, COMPOSED]) == COMPOSED
    assert known_as("tea", [COMPOSED]) == "tea"
    hint = nearest(DECOMPOSED, [COMPOSED])
    assert "encoded differently: 'caf\\xe9' there, 'cafe\\u0301' here" in hint


def test_among_no_names_none_is_near():
    assert nearest("seed", []) == ""
