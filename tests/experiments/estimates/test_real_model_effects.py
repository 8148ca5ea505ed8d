from types import SimpleNamespace

import numpy as np
import pytest

from ntpcompanion.experiments.estimates import real_model_effects as effects
from ntpcompanion.experiments.real_model import state_dimensions
from ntpcompanion.experiments.real_model import support_collapse as collapse
from ntpcompanion.experiments.real_model.output_matrix import Comparison, Result, Split, Step
from ntpcompanion.experiments.real_model.stored_table import HalfMatrix, StoredTable
from ntpcompanion.recorded import Run

COMMON = {"text_sha256": "0" * 64, "tokens": 5}


def dimensions(segment, embeddings, separable_from):
    """Of 10 contexts, proved from d on and not up to d - 3: d - 1.5 in the middle."""
    sides = {"contexts": 10, "separable_from": separable_from}
    found = state_dimensions.Result(
        **COMMON, **sides, not_separable_to=separable_from - 3, moved=0.25 * segment
    )
    return Run(SimpleNamespace(segment=segment, embeddings=embeddings), found)


def comparison(null, outside, ordered):
    cosines = {"outside_logits": 0.5, "inside": 0.5, "odds": outside**2}
    norms = {"norm": 9.0, "svm_norm": 3.0}
    return Comparison(null=null, outside=outside, ordered=ordered, **cosines, **norms)


def part(number):
    def course(change):
        return tuple(
            Step(step=s, excess=0.5, outside=0.1, change=change * s / 100) for s in (1, 100)
        )

    return Result(
        **{**COMMON, "tokens": 5 + number},
        times=20,
        one_successor=0.25,
        entropy=1.0 + number,
        text=Split(floor=1.0, inside=0.5, outside=0.25 * number),
        samples=(Split(floor=1.0, inside=0.25, outside=0.5),),
        comparisons=(
            comparison("none", 0.5 + 0.25 * number, 0.5),
            comparison("same last token", 0.25, 0.25),
        ),
        descent=course(0.5 + 0.25 * number),
        descent_from_zero=course(0.125),
    )


RUNS = [
    dimensions(segment, kind, d + segment)
    for segment in (0, 1)
    for kind, d in (("states", 5), ("same last token", 8))
]
FOUND = effects.RealModelEffects(RUNS, [Run(None, part(number)) for number in (0, 1)])


def test_thresholds_are_compared_part_by_part():
    """(8 - 1.5) / (5 - 1.5) and (9 - 1.5) / (6 - 1.5)."""
    ratio = FOUND.ratio_of("same last token", over="states")
    assert (ratio.mean, ratio.replicates) == (pytest.approx((6.5 / 3.5 + 7.5 / 4.5) / 2), 2)
    assert FOUND.undecided == pytest.approx(np.full(4, 1.5))
    assert FOUND.moved == 0.125


def test_cosines_are_compared_with_those_of_other_successors():
    assert FOUND.near.mean == 0.625
    assert FOUND.nearer().mean == 0.375
    assert FOUND.nearer("odds").mean == pytest.approx((0.25 + 0.5625) / 2 - 0.0625)
    assert FOUND.by_null.ordered.to_dict() == {"none": 0.5, "same last token": 0.25}
    assert FOUND.null_table.iloc[0, 0] == "the model on the text"


def test_descent_counts_from_the_model_at_its_last_step():
    assert FOUND.descended("change").mean == pytest.approx(0.625)
    assert FOUND.first_change == pytest.approx(0.00625)
    assert FOUND.log_time == pytest.approx(3 * 0.9 / np.sqrt(1 - 0.81))


def test_losses_and_texts_are_means_over_parts():
    assert (FOUND.excess(), FOUND.excess("own ")) == (0.625, 0.75)
    assert FOUND.texts.tokens.tolist() == [5, 6]
    assert FOUND.of_model["norm"] == 9.0


def collapse_part(number):
    def change(last, pairs=8):
        counts = {"pairs": pairs, "supports": 2, "affinity": last / 4}
        return collapse.Difference(**counts, cosines=(0.0, 0.25, last))

    matching = collapse.Matching(
        unmatched=change(1.0),
        matched=change(0.5 + 0.25 * number, pairs=7),
        matched_logits=change(0.125),
    )
    return collapse.Result(
        contexts=9 + number,
        times=20,
        one_successor=0.5,
        text=matching,
        permuted=(change(0.25), change(0.0)),
        text_sha256="0" * 64,
    )


def test_differences_of_cosines_are_means_over_parts():
    found = effects.CollapseEffects([Run(None, collapse_part(number)) for number in (0, 1)])
    assert found.difference().mean == 0.625
    assert found.difference("null").mean == found.difference("matched_logits").mean == 0.125
    assert found.difference("unmatched", 1).mean == 0.25
    assert (found.fraction().mean, found.fraction().replicates) == (0.625, 2)
    assert found.sizes.contexts.tolist() == [9, 10]
    assert found.sizes.iloc[0][["pairs", "matched", "supports"]].tolist() == [8, 7, 2]
    assert found.sizes[["affinity", "matched_affinity"]].iloc[0].tolist() == [0.25, 0.125]


STATES = np.eye(3)
STORED = StoredTable(
    contexts=("a", "b", "c"),
    successors=("x", "y"),
    times=((0, 0, 2), (1, 1, 2), (2, 0, 1), (2, 1, 1)),
    states=HalfMatrix.of(STATES),
    matrix=HalfMatrix.of(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]])),
)


def test_examples_are_shown_in_signs():
    """The output row of x has the largest logit at each of both contexts."""
    table = effects.example_table(STORED, 3, 2, str.upper)
    assert table.to_numpy().tolist() == [["A", "X", "X"], ["B", "Y", "X"]]


def test_the_live_table_counts_what_it_solved():
    table = effects.live_table(STORED, 3, 5).set_index("quantity").value
    assert table[["contexts", "successors"]].tolist() == [3, 2]
    assert abs(table["relative duality gap of the SVM"]) < 1e-6
    assert table["excess after 5 steps (nats)"] < table["excess after 1 step (nats)"]
    alike = STORED.model_copy(update={"states": HalfMatrix.of(np.ones((3, 1)))})
    with pytest.raises(ValueError, match="`contexts` = 3 are not separable"):
        effects.live_table(alike, 3, 5)
