"""Estimates from margins that are written down here."""

import numpy as np
import pytest

from ntpcompanion.experiments.adaptation import pruned_recall
from ntpcompanion.experiments.adaptation.pruned_effects import ASKED, PrunedAnswers
from ntpcompanion.recorded import Run

SPARSITIES = (0.2, 0.4)
# sparsity from which on an answer is wrong among all tokens, for two facts of each kind
LOST = {"recall": (0.2, 0.4), "copying": (0.4, 0.6), "overriding": (0.0, 0.6)}


def run(kind, start):
    """Among candidates nothing is lost; copying starts with a margin that is larger by `start`."""
    margins = []
    for rule, sparsity in [("magnitude", 0.0), *((r, s) for r in pruned_recall.RULES
                                                 for s in SPARSITIES)]:  # fmt: skip
        for ability, lost in LOST.items():
            first = 2.0 + start * (ability == "copying")
            right = [first if sparsity < each else -1.0 for each in lost]
            margins.append(
                pruned_recall.Margins(
                    rule=rule,
                    sparsity=sparsity,
                    ability=ability,
                    all_tokens=tuple(right),
                    candidates=(1.0, 1.0),
                    one=(1.0, 1.0),
                )
            )
    plan = pruned_recall.Plan(kind=kind, facts=3, sums=4, sparsities=SPARSITIES, seed=0)
    result = pruned_recall.Result(
        asked=5,
        answered={"recall": 3, "copying": 5, "overriding": 2},
        facts=("one", "two"),
        sums=1,
        margins=tuple(margins),
        text_sha256="",
    )
    return Run(plan, result)


@pytest.fixture(scope="module")
def answers():
    return PrunedAnswers([run("a", 0.0), run("b", 5.0)])


def test_survival_counts_sparsities(answers):
    assert answers.survival["wanda", "all_tokens", "recall"].tolist() == [0, 0.5, 0, 0.5]
    assert answers.survival["wanda", "candidates", "overriding"].tolist() == [1] * 4


def test_leads_are_paired_by_fact(answers):
    lead = answers.lead(("wanda", "all_tokens", "recall"), ("wanda", "all_tokens", "copying"))
    assert (lead.mean, lead.sd, lead.replicates) == (-0.5, 0, 4)
    lead = answers.lead(
        ("magnitude", "candidates", "recall"), ("magnitude", "all_tokens", "copying")
    )
    assert lead.mean == pytest.approx(0.25)


def test_only_equal_margins_are_matched(answers):
    assert answers.matched_lead("wanda", caliper=1.0).replicates == 2  # of kind a
    assert answers.matched_lead("wanda", caliper=9.0).replicates == 4


def test_curves_and_tolerated_sparsities(answers):
    curves = answers.curves("wanda", "all_tokens")
    assert curves["copying"].tolist() == [1, 1, 0.5]
    table = answers.tolerated_table(draws=50, seed=0).set_index(["rule", "answers", "ability"])
    row = table.loc["wanda", ASKED["all_tokens"], "copying"]
    assert row.tolerated == pytest.approx(0.2 + 0.2 * 0.1)  # half is lost at .4
    assert 0.2 < row["from"] <= row.tolerated <= row["to"] <= 0.4
    assert table.loc["wanda", ASKED["candidates"], "recall"].tolist() == [0.4, 0.4, 0.4]
    never_worse = table.loc["wanda", ASKED["all_tokens"], "overriding"]  # half, at each sparsity
    assert never_worse.tolist() == [0.4, 0.4, 0.4]
    assert np.isfinite(table.to_numpy()).all()


def test_counts_are_sums_over_kinds(answers):
    counts = answers.counts
    assert counts[["asked", "recall", "facts", "sums", "sum prompts"]].iloc[-1].tolist() == [
        10, 6, 4, 2, 8]  # fmt: skip
