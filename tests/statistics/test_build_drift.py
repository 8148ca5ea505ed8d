"""Numbers that moved between builds, beside what one sees by eye and Welch's test of scipy."""

import pytest
from scipy.stats import ttest_ind_from_stats

from ntpcompanion.statistics.build_drift import BuildHistory, moved_numbers, number_table


def build(**claims):
    return {"claims": claims}


def test_places_of_claims_with_several_numbers():
    wide, narrow = [[1.0, 2.0], 0.5, 8, "supported"], [[3.0], 0.0, 1, "supported"]
    numbers = number_table([build(one=narrow, two=wide), build(one=wide, two=wide)])
    assert numbers.build.tolist() == [0, 0, 1, 1, 1, 1]  # `one` had another form in the first
    assert numbers.place.tolist() == [0, 1, 0, 1, 0, 1]
    assert numbers.error.tolist() == [0.5] * 6


@pytest.mark.parametrize(("step", "moved"), [(0.09, False), (0.11, True)])
@pytest.mark.parametrize("band", [{"relative": 0.1}, {"absolute": 0.1}])
def test_an_exact_number_has_its_band(step, moved, band):
    numbers = number_table([build(one=[x, 0.0, 1, "supported"]) for x in (1.0, 1 + step)])
    found = moved_numbers(numbers, {"one": band}, 0.001)
    assert found.moved.tolist() == [moved]
    assert found[["first", "last", "size"]].to_numpy().tolist() == [[1.0, 1 + step, 2]]


def test_a_random_number_moves_where_welch_says_so():
    values, errors, n = (1.0, 1.4), (0.1, 0.15), (6, 9)
    numbers = number_table(
        [build(one=[*each, "supported"]) for each in zip(values, errors, n, strict=True)]
    )
    deviations = [error * count**0.5 for error, count in zip(errors, n, strict=True)]
    first, second = zip(values, deviations, n, strict=True)
    p = ttest_ind_from_stats(*first, *second, equal_var=False).pvalue
    assert 0.001 < p < 0.5
    assert [moved_numbers(numbers, {}, p * by).moved.item() for by in (0.99, 1.01)] == [False, True]


def test_a_claim_shows_the_number_that_spread_most():
    rows = ([1.0, 5.0], 0.0, 1, "supported"), ([1.1, 9.0], 0.0, 1, "supported")
    found = moved_numbers(number_table([build(one=row) for row in rows]), {}, 0.001)
    assert found.index.tolist() == [("one", 1)]
    assert found.moved.all()
    alone = number_table([build(one=rows[0])])
    assert moved_numbers(alone, {}, 0.001).moved.tolist() == [False]


def test_a_history_has_the_claims_of_today():
    def dated(day, numpy, **values):
        numbers = build(**{name: [x, 0.0, 1, "supported"] for name, x in values.items()})
        where = {"commit": "c", "machine": "m", "profile": "book"}
        versions = {"python": "3.11", "numpy": numpy, "scipy": "1"}
        return {**numbers, **where, "date": f"2026-01-0{day}T12", "versions": versions}

    builds = [dated("1", "2.0", one=1.0, two=5.0, gone=1.0), dated("2", "2.1", one=3.0, two=5.0)]
    claims = {name: {"notebook": "chapter", "locator": f"({name})"} for name in ("one", "two")}
    history = BuildHistory(builds, claims, 0.001)
    columns = ["date", "commit", "machine", "profile", "python", "numpy"]
    assert [*history.build_table.columns] == columns
    assert history.build_table.date.tolist() == ["2026-01-01", "2026-01-02"]
    assert history.moved_table.to_numpy().tolist() == [["one", "(one)", 1, 1.0, 3.0, 1.0, 3.0, 2]]
    assert history.still_table.to_numpy().tolist() == [["chapter", 1]]
    assert {claim: away.tolist() for claim, away in history.deviations().items()} == {"one": [0, 1]}
