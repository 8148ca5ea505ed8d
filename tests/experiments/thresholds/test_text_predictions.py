import numpy as np
import pytest

from ntpcompanion.experiments.thresholds import shuffled_text, text_crossing, text_threshold
from ntpcompanion.experiments.thresholds.text_predictions import read_texts
from ntpcompanion.recorded import Run

SHA = "0" * 64


def tasks(kind, words, results):
    shape = {"num_words": words, "vocab_size": 8, "context_length": 1}
    if kind is text_threshold:
        shape |= {"num_tokens": 3, "draws": 200, "iterations": 10}
    plans = (kind.Plan.from_json({**shape, "seed": seed}) for seed in range(len(results)))
    found = (kind.Result.from_json({**result, "text_sha256": SHA}) for result in results)
    return [*map(Run, plans, found)]


def crossings(kind, words, firsts, **more):
    sides = [{"separable_from": d, "not_separable_to": d - 1} for d in firsts]
    return tasks(kind, words, [{"contexts": 100, **side, **more} for side in sides])


def thresholds(words, saddles, two_tokens):
    bound = {"contexts": 100, "fraction": 0.5, "two_tokens": two_tokens, "change": 0.0}
    return tasks(text_threshold, words, [{**bound, "saddle": saddle} for saddle in saddles])


@pytest.fixture(scope="module")
def found():
    """200 words, where the saddle point decides, and 100, 400, where two tokens do."""
    text = crossings(text_crossing, 200, [41, 43], mean_support=1.5)
    text += crossings(text_crossing, 100, [31, 31], mean_support=1.2)
    text += crossings(text_crossing, 400, [51, 53], mean_support=1.5)
    shuffled = [
        row
        for words, firsts in ((100, [11, 13]), (200, [14, 14]), (400, [31, 31]))
        for row in crossings(shuffled_text, words, firsts, predicted=0.1)
    ]
    saddles = thresholds(100, [0.2, 0.22], 0.3) + thresholds(200, [0.4, 0.42], 0.3)
    return read_texts(text, shuffled, saddles + thresholds(400, [0.4, 0.4], 0.5))


def test_the_larger_prediction_counts(found):
    table = found.table
    assert table.index.tolist() == [100, 200, 400]
    assert table.predicted.tolist() == pytest.approx([0.3, 0.41, 0.5])
    assert table["text"].tolist() == pytest.approx([0.305, 0.415, 0.515])
    assert table["text: above (contexts)"].tolist() == pytest.approx([0.5, 0.5, 1.5])
    # two crossings 0.02 apart, each known to half a dimension; then a saddle known to 0.01
    error = np.hypot(0.01, 0.005)
    assert table["±"].tolist() == pytest.approx([0.005, error, error])
    relative = np.hypot(error / 0.415, 0.01 / 0.41)
    assert table["±   "][200] == pytest.approx(0.415 / 0.41 * relative)
    assert table["±   "][400] == pytest.approx(error / 0.5)


def test_estimates_over_texts(found):
    ratio = [0.305 / 0.115, 0.415 / 0.135, 0.515 / 0.305]
    assert found.ratio.tolist() == pytest.approx(ratio)
    smallest = found.smallest_ratio
    error = ratio[2] * np.hypot(found.table["±"][400] / 0.515, 0.005 / 0.305)
    assert (smallest.mean, smallest.stderr) == (pytest.approx(ratio[2]), pytest.approx(error))
    assert smallest.replicates == found.replicates == 2
    values, errors = np.array([0.415 / 0.41, 0.515 / 0.5]), found.table["±   "].to_numpy()[1:]
    assert found.long_text.mean == pytest.approx(np.average(values, weights=errors**-2))
    assert found.long_text.stderr == pytest.approx((errors**-2).sum() ** -0.5)
    assert (found.worst.mean, found.worst.stderr) == (pytest.approx(0.03), errors[1])
