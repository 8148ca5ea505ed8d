"""The examples in the docstrings of the package, as a reader would type them.

Like `--doctest-modules`, which would import every module in every process that tests; and here an
example imports what it uses.
"""

import ast
import doctest

import pytest

from tests.sources import DOCUMENTED, FILES, parsed, relative

# over 0.6 s of processor time: trainings, those of plans at the smallest size that they take
SLOW = {
    "attention/joint.py",
    "attention/offset_vector.py",
    "capacity/fitting.py",
    "experiments/adam/adam_bias.py",
    "experiments/adam/adam_limit.py",
    "experiments/adam/adam_rate.py",
    "experiments/adam/optimizer_runs.py",
    "experiments/any_text/unseen_successors.py",
    "experiments/attention/attention_bridge.py",
    "experiments/attention/attention_directions.py",
    "experiments/attention/attention_starts.py",
    "experiments/capacity/last_layer_widths.py",
    "experiments/decoders/flow_limits.py",
    "experiments/decoders/own_margins.py",
    "experiments/decoders/small_limits.py",
    "experiments/decoders/stochastic_limits.py",
    "experiments/flatness/adam_drift.py",
    "experiments/flatness/bracket_descent.py",
    "experiments/flatness/drift_constant.py",
    "experiments/flatness/enlarged_traces.py",
    "experiments/flatness/feature_traces.py",
    "experiments/flatness/trace_estimates.py",
    "experiments/flatness/valley_runs.py",
    "experiments/geometry/contrastive_starts.py",
    "experiments/geometry/ridge_tables.py",
    "experiments/same_loss/bottleneck_ranks.py",
    "experiments/same_loss/downstream.py",
    "experiments/same_loss/equal_loss.py",
    "experiments/same_loss/penalized_traces.py",
    "experiments/thresholds/text_predictions.py",
    "flatness/drift.py",
}
WITH_EXAMPLES = [path for path in FILES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (relative(path) in SLOW), id=relative(path))
        for path in WITH_EXAMPLES
    ],
)
def test_examples_print_what_they_say(path):
    runner, said = doctest.DocTestRunner(), []
    for node in ast.walk(parsed(path)):
        text = isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False)
        if text:
            name, line = getattr(node, "name", path.stem), node.body[0].lineno - 1
            test = doctest.DocTestParser().get_doctest(text, {}, name, str(path), line)
            runner.run(test, out=said.append)
    assert "".join(said) == ""


def test_slow_files_are_there():
    assert {relative(path) for path in WITH_EXAMPLES} >= SLOW
