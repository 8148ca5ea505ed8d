"""The examples in the docstrings of the package, as a reader would type them.

Like `--doctest-modules`, which would import every module in every process that tests; and here an
example imports what it uses.
"""

import ast
import doctest

import pytest

from tests.sources import DOCUMENTED, FILES, parsed, relative

# over 0.6 s of processor time: trainings, and in `experiments` those of plans at the smallest size
# that they take
SLOW = {
    "attention/joint.py",
    "attention/offset_vector.py",
    "capacity/fitting.py",
    "flatness/valley_flow.py",
}


def is_slow(name):
    return name in SLOW or name.startswith("experiments/")


WITH_EXAMPLES = [path for path in FILES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * is_slow(relative(path)), id=relative(path))
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
