import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from ntpcompanion.adaptation import fit_adjustment
from ntpcompanion.experiments.adaptation import adjusted_classes
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"num_classes": 12, "dim": 30, "separation": 3.0, "smallest": 8, "largest": 80}
RIGHT |= {"ridge": 1e-3, "validation": [3, 200], "tested": 100, "seeds": 4, "seed": 2}
found, test_a_result_repeats_and_is_plain = small_run(adjusted_classes, RIGHT)


def test_gains_are_paired_percentage_points(found):
    table = found.table[found.table.validation == 3]
    gain = found.gain("size", "prior", 3)
    assert gain.mean == pytest.approx(100 * (table.prior - table["size"]).mean())
    assert gain.replicates == 4


def test_the_ridge_is_chosen_by_the_loss_of_what_a_fit_leaves_out():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(6), 4))
    logits = 3 * np.eye(6)[labels] + 2 * rng.standard_normal((24, 6)) + rng.standard_normal(6)
    folds = np.array([(labels[:i] == labels[i]).sum() for i in range(24)])  # four of six examples
    losses = []
    for ridge in adjusted_classes.RIDGES:
        held_out = 0.0
        for fold in range(4):
            rest = folds != fold
            fitted = fit_adjustment(logits[rest], labels[rest], np.eye(6), ridge)
            theirs = softmax(fitted.apply(logits[~rest]), axis=1)
            held_out += 6 * log_loss(labels[~rest], theirs, labels=range(6))
        losses.append(held_out)
        ours = [adjusted_classes._validated(logits, labels, folds != f, ridge) for f in range(4)]
        assert sum(ours) == pytest.approx(held_out)
    chosen = adjusted_classes._chosen_ridge(logits, labels)
    assert chosen == adjusted_classes.RIDGES[int(np.argmin(losses))]


@pytest.mark.parametrize(("count", "left_out"), [(3, [1] * 3), (5, [1] * 5), (12, [3, 3, 2, 2, 2])])
def test_every_fit_leaves_out_as_many_examples_of_each_class(count, left_out, monkeypatch):
    labels, fits = np.random.default_rng(0).permutation(np.repeat(np.arange(4), count)), []
    monkeypatch.setattr(adjusted_classes, "_validated", lambda *given: fits.append(given[2]) or 0.0)
    adjusted_classes._chosen_ridge(np.zeros((len(labels), 4)), labels)
    assert len(fits) == len(left_out) * len(adjusted_classes.RIDGES)
    rest = [np.bincount(labels[~fit], minlength=4).tolist() for fit in fits[: len(left_out)]]
    assert rest == [[number] * 4 for number in left_out]
    assert (sum(~fit for fit in fits[: len(left_out)]) == 1).all(), "each example once"


def test_a_size_is_named_once():
    with pytest.raises(ValueError, match=r"`validation` must not repeat a size, got .20, 20"):
        adjusted_classes.Plan.from_json(RIGHT | {"validation": [20, 20]})


def test_adjustments_are_what_their_names_say(found):
    """Drawn again from the same stream: the decoder, then the first validation sample."""
    plan = adjusted_classes.Plan.from_json(RIGHT)
    rng, k = stream(2, "classes 0"), 12
    centres = rng.standard_normal((k, 30)) * np.sqrt(2 / 30) * 3.0
    sizes = np.geomspace(8, 80, 100)[rng.integers(100, size=k)].round().astype(int)
    noise = np.geomspace(0.5, 2, 100)[rng.integers(100, size=k)]

    def draw(counts):
        labels = np.repeat(np.arange(k), counts)
        return centres[labels] + noise[labels, None] * rng.standard_normal(
            (len(labels), 30)
        ), labels

    x, y = draw(sizes)
    decoder = LogisticRegression(C=1 / (plan.ridge * len(y)), max_iter=200, tol=1e-3).fit(x, y)
    spread = [np.sqrt(((x[y == c] - x[y == c].mean(0)) ** 2).sum() / 30 / (n - 1))
              for c, n in enumerate(sizes)]  # fmt: skip
    features = np.column_stack([np.log(sizes), np.log(spread)])
    features -= features.mean(0)
    others = features[rng.permutation(k)]
    test, answers = draw(np.full(k, 100))
    sample, labels = draw(np.full(k, 3))
    logits, given = decoder.decision_function(test), decoder.decision_function(sample)
    shifted = {"none": logits, "prior": logits - np.log(sizes)}
    for name, design in {"size": features[:, :1], "map": features, "shuffled": others}.items():
        shifted[name] = fit_adjustment(given, labels, design).apply(logits)
    first = found.errors[0]
    errors = {name: (each.argmax(1) != answers).mean() for name, each in shifted.items()}
    assert {name: getattr(first, name) for name in errors} == pytest.approx(errors, abs=2e-3)
    fitted = fit_adjustment(given, labels, features)
    weights = fitted.coefficients / fitted.scale
    assert [first.weight_size, first.weight_noise] == pytest.approx(weights.tolist(), rel=1e-3)
