"""The examples in the docstrings of the faces' names, as a reader would type them."""

import doctest
import importlib
import inspect

import pytest

from tests.test_faces import NAMES, face


def examples(room, name):
    """The doctests of a name and, if it is a class, of its methods."""
    found = inspect.unwrap(getattr(face(room), name))
    module = importlib.import_module(found.__module__)
    return [test for test in doctest.DocTestFinder().find(found, name, module) if test.examples]


EXAMPLES = [
    pytest.param(test, id=f"{room}.{test.name}")
    for room, name in NAMES
    if room != "plots"
    for test in examples(room, name)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_prints_what_it_says(example):
    example.globs = {}  # an example imports what it uses
    said = []
    runner = doctest.DocTestRunner()
    runner.run(example, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
