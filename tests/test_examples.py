"""The examples in the docstrings of the faces' names, as a reader would type them."""

import doctest
import importlib
import inspect

import pytest

from tests.test_lazy_names import SCIENCE, found_at

# interfaces and results, which the examples of others show; and what needs a download
WITHOUT = {"Language", "ContextCounts", "EntropyFloor", "Verdict", "TraceEstimate"}
WITHOUT |= {"CausalLanguage", "WordModel", "load_opt", "ConvergedProbe"}
# trainings, those of plans at the smallest size that they take: seconds each
LONG = {"adam_rate.run", "adam_bias.run", "adam_limit.run", "train_jointly", "fit_decoders"}


@pytest.mark.parametrize(
    ("room", "name"),
    [
        pytest.param(*each, marks=pytest.mark.slow) if each[1] in LONG else each
        for each in SCIENCE
        if each[1] not in WITHOUT
    ],
)
def test_an_example_prints_what_it_says(room, name):
    found = inspect.unwrap(found_at(room, name))
    module = importlib.import_module(found.__module__)
    # an example imports what it uses
    tests = doctest.DocTestFinder().find(found, name, module, globs={})
    assert tests[0].examples, f"{room}.{name} has no example"
    runner, said = doctest.DocTestRunner(), []
    for test in tests:
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
