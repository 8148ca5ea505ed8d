import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.capacity import trained_widths
from ntpcompanion.experiments.capacity.trained_widths import printed_points, read_widths
from ntpcompanion.experiments.thresholds.least_width import Plan, Result
from ntpcompanion.recorded import Run


def task(documents, seed, excess):
    plan = {"targets": "text", "documents": documents, "widths": [1, 2, 4], "steps": 1}
    sizes = {"contexts": 2 * documents, "vocab_size": documents, "support": 5, "entropy": 2.0}
    result = {**sizes, "parameters": [100, 200, 400], "excess": excess}
    return Run(Plan.from_json({**plan, "seed": seed}), Result.from_json(result))


@pytest.fixture(scope="module")
def found():
    """Excesses 0.02, 0.002, 0.0002 are just within the three criteria at an entropy of 2."""
    text = [task(8, 0, [0.02, 0.02, 0.001]), task(16, 0, [0.03, 0.02, 0.003])]
    text += [task(8, 1, [0.02, 0.001, 0.0001]), task(16, 1, [0.03, 0.03, 0.002])]
    return read_widths({"text": text, "more steps": [task(8, 0, [0.02, 0.002, 0.001])]})


def test_the_narrowest_decoder_within_each_criterion_is_found(found):
    assert found.by_seed("text", 0.01).values.tolist() == [[100, 200], [100, 400]]
    tight = found.by_seed("text", 0.001)
    assert tight.fillna(0).values.tolist() == [[400, 0], [200, 400]]
    assert found.by_seed("text", 0.0001).count().tolist() == [1, 0]
    assert found.by_seed("text", "numbers").values.tolist() == [[112, 480]] * 2
    assert (found.table.widest == 400).all()


def test_ratios_and_powers_are_means_over_seeds(found):
    rise = found.log_ratio(("text", 0.001), ("text", 0.01), [8])
    assert rise.mean == pytest.approx((np.log(4) + np.log(2)) / 2)
    assert rise.replicates == 2
    slopes = np.log([2, 4]) / np.log(480 / 112)
    assert found.power("text", 0.01).mean == pytest.approx(slopes.mean())
    above = found.above_count("text", 0.01)
    assert above.loc[1, 16] == pytest.approx(np.log(400 / 480))


def test_changes_between_kinds_are_named():
    """Each next kind takes twice the parameters, and each next criterion three times."""
    rows = [
        {"kind": kind, "documents": documents, "seed": seed, "numbers": 50 * documents}
        | {c: documents * 2.0**k * 3.0**j for j, c in enumerate(trained_widths.CRITERIA)}
        for k, kind in enumerate(("text", "random", "Markov", "text, 4 times the steps"))
        for documents in (16, 32)
        for seed in (0, 1)
    ]
    chain = [{**row, "kind": "Markov, 4 times the steps"} for row in rows if row["kind"] == "text"]
    widths = trained_widths.TrainedWidths(pd.DataFrame([*rows, *chain]))
    factors = {name: np.exp(effect.mean) for name, effect in widths.changes.items()}
    assert factors == pytest.approx(
        {
            "tighter, text": 3,
            "tighter, random": 3,
            "tighter, Markov, longer": 3,
            "tightest, text, longer": 9,
            "longer, text": 8,
            "longer, Markov": 1 / 4,
            "random for text, tight": 2,
            "random for text, loose": 2,
        }
    )
    assert widths.least_above_count.mean == pytest.approx(np.log(6 / 50))


def test_the_summary_has_a_row_for_each_kind_and_criterion(found):
    table = found.summary().set_index(["targets", "within (%)"])
    assert len(table) == 6
    row = table.loc["text", "1"]
    assert row.reached == "4 of 4"
    assert row["k/count, fewest"] == pytest.approx(100 / 112)
    assert row["k/count, most"] == pytest.approx(300 / 480)
    assert row.power == found.power("text", 0.01).mean
    assert np.isnan(table.loc["more steps", "0.1"].power)
    assert table.loc["more steps", "0.1"].reached == "1 of 1"


def test_printed_points_are_those_of_the_figure():
    table = printed_points()
    assert table.k.iloc[-1] == 35442
    assert table.factor.iloc[-1] == pytest.approx(689 * 2637 / 35442)
    assert (table.per_context * table.N).tolist() == pytest.approx(table.k.tolist())
