import numpy as np
import pytest

from ntpcompanion.experiments.scale import large_svm
from ntpcompanion.experiments.scale.large_descent import Plan, Result, run
from ntpcompanion.linear import step_bound

SIZES = {"num_contexts": 30, "vocab_size": 9, "dim": 12, "support_size": 2}
RIGHT = {"sizes": SIZES, "times_bound": 2.0, "steps": 10, "seed": 0}


def test_losses_are_those_of_dense_descent_on_the_table_of_the_svm():
    plan = Plan.from_json(RIGHT)
    found = run(plan)
    table = large_svm.table_of(
        large_svm.Plan(sizes=plan.sizes, table="planted", solver="gram", seed=0)
    )
    assert found.learning_rate == pytest.approx(2 * step_bound(table), rel=1e-15)
    W, dense = np.zeros((9, 12)), []
    for _ in range(11):
        logits = table.embeddings @ W.T
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        target = table.distributions.toarray()
        dense.append(float(-(table.weight[:, None] * target * np.log(p)).sum()))
        W -= found.learning_rate * (table.weight[:, None] * (p - target)).T @ table.embeddings
    assert found.losses == pytest.approx(dense, rel=1e-6)
    per_context = [-(q[q > 0] * np.log(q[q > 0])).sum() for q in target]
    assert found.entropy == pytest.approx(table.weight @ per_context, rel=1e-12)
    assert Result.from_json(found.to_json()) == found
