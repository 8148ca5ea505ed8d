"""Arguments are checked by their annotations, whose every kind has its tests in `test_checks.py`.
So it is enough that each function asks for its checks, and that each annotation makes one.
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

from ntpcompanion import checks
from tests.public_names import PACKAGES, SCIENCE, found_at

NOTHING = object()  # of no kind that an argument may have
# What looks at its arguments itself, or hands them on to what does.
BY_ITSELF = {
    "adaptation": "move_margin",
    "attention": "logit_gradient plain_logit_gradient log_excess",
    "dyck": "squared_gradient_norm balance_globally balance_neurons losses_of_moves predict "
    "success_probability dyck_sentences masked_support memoriser",
    "experiments": "tasks_table table_of read_widths read_crossings read_texts printed_points",
    "flatness": "imbalance",
    "generalization": "memorization_scores min_norm_predictions leave_one_out_predictions",
    "geometry": "centred_support in_support_logits project_in_support polar_certificate "
    "solve_nuclear_svm balanced_factors certified_nuclear_gap ridge_path predicted_grams "
    "equal_supports",
    "languages": "encode count_contexts",
    "linear": "predicted_threshold widest_margin",
    "mlm": "trained_stack named",
    "planning": "plan_path",
}


def is_checked(function):
    """Whether `checked` stands above it, be it below other decorators."""
    while function is not None:
        if getattr(function, "__code__", None) and function.__code__.co_filename == checks.__file__:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def checked_in(package):
    """Functions, methods and dataclasses of a package that are checked, by their names."""
    top = importlib.import_module(f"ntpcompanion.{package}")
    for module in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if getattr(value, "__module__", None) != module.name:
                continue
            members = vars(value).items() if inspect.isclass(value) else [("", value)]
            for member, one in members:
                if is_checked(function := getattr(one, "__func__", one)):
                    yield f"{module.name}.{name}.{member}".rstrip("."), value, function


def depends_on_others(parameter):
    """Whether its bounds are told by other arguments."""
    marks = getattr(parameter.annotation, "__metadata__", ())
    ranges = [mark for mark in marks if isinstance(mark, checks.Range)]
    return any(isinstance(end, str) for each in ranges for end in (each.minimum, each.maximum))


# plans of experiments have a test of their own
@pytest.mark.parametrize("package", sorted(set(PACKAGES) - {"workflow", "experiments"}))
@pytest.mark.usefixtures("unchecked_shapes")
def test_every_argument_with_an_annotation_is_named_if_it_is_of_no_such_kind(package):
    number, unnamed = 0, []
    for place, owner, function in checked_in(package):
        if place.endswith("__post_init__"):
            fields = [each.name for each in dataclasses.fields(owner) if each.init]
            calls = [(fields, functools.partial(owner, **dict.fromkeys(fields, NOTHING)))]
        else:
            calls = [
                ([name], functools.partial(function, **{name: NOTHING}))
                for name, parameter in inspect.signature(function).parameters.items()
                if name not in ("self", "cls")
                and parameter.annotation is not Any
                and parameter.kind is not parameter.VAR_KEYWORD
                and not depends_on_others(parameter)
            ]
        for names, call in calls:
            number += 1
            with pytest.raises(ValueError) as rejection:
                call()
            if not any(f"`{name}`" in str(rejection.value) for name in names):
                unnamed.append((place, names))
    assert unnamed == []
    assert number


def test_every_public_function_checks_its_arguments():
    unchecked = {}
    for package, name in SCIENCE:
        one = found_at(package, name)
        if inspect.isfunction(inspect.unwrap(one)) and not (
            name.endswith(".run") or is_checked(one)
        ):
            unchecked.setdefault(package, set()).add(name)
    assert unchecked == {package: set(names.split()) for package, names in BY_ITSELF.items()}
