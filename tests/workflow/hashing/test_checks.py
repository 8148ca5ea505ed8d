"""What only looks at arguments is left out: marked checks, their decorator, what it reads."""

import contextlib
import importlib
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import ntpcompanion
from ntpcompanion.workflow.hashing.definitions import definition_hashes
from tests.workflow.hashing.tiny_package import EXPERIMENT, files, user

PLAIN = "def half(x: int) -> int:\n    return x"
CHECKED = (
    "from ntpcompanion.checks import Size, checked, need\n"
    "from ntpcompanion.validation import argument_check\n"
    "@argument_check\ndef check_size(name, x):\n    if x < 0:\n        raise ValueError(name)\n"
)
CALL = CHECKED + PLAIN.replace("return", "check_size('x', x)\n    return")
LEFT_OUT = {
    "a call": CALL,
    "a call with a length": CALL.replace("'x', x", "'x', len(x.y)"),
    "a call with another name": CALL.replace("'x', x", "'y', x"),
    "the decorator": f"{CHECKED}@checked\n{PLAIN}",
    "the decorator with brackets": f"{CHECKED}@checked()\n{PLAIN}",
    "a need": f"{CHECKED}@checked(need('x', 'x > 2', 'be {{x}}'))\n{PLAIN}",
    "another annotation": f"{CHECKED}@checked\n{PLAIN.replace('int)', 'Size)')}",
    "the mark itself": f"{CHECKED}@argument_check\n{PLAIN}",
}


@pytest.mark.parametrize("half", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_checks_is_left_out(book, half):
    assert book(**user(half)) == book(**user(PLAIN))
    assert book(**user(half)) == book(**user(half.replace("x < 0", "x < 1")))


COUNTED = {
    "a call of what is not marked": CALL.replace("@argument_check\n", ""),
    "one of another mark": CALL.replace("@argument", "def argument_check(f): return f\n@argument"),
    "one with a call": CALL.replace("'x', x)", "'x', next(x))"),
    "one that binds": CALL.replace("'x', x)", "'x', (x := 1))"),
    "one whose answer is used": CALL.replace("check_size('x', x)\n", "x = check_size('x', x)\n"),
    "a decorator of the same name": "def checked(f):\n    return lambda x: 1\n@checked\n" + PLAIN,
    "one beside the decorator": f"{CHECKED}@checked\n@abs\n{PLAIN}",
}


@pytest.mark.parametrize("half", COUNTED.values(), ids=COUNTED)
def test_what_may_do_more_counts(book, half):
    assert book(**user(half))["half"] != book(**user(PLAIN))["half"]


FIELDS = {
    "a name": ("n: Size", True),
    "a range": ("n: Annotated[int, Range(1)]", True),
    "a condition": ("n: Annotated[int, Is(lambda n: n > 2, 'be large')]", True),
    "another type": ("n: Annotated[float, Range(1)]", False),
    "what is not of a check": ("n: Annotated[int, print]", False),
}


@pytest.mark.parametrize(("field", "equal"), FIELDS.values(), ids=FIELDS)
def test_what_stands_beside_the_type_of_a_field_is_left_out(book, tmp_path, field, equal):
    (tmp_path / "ntpcompanion").symlink_to(next(iter(ntpcompanion.__path__)))
    head = (
        "from ntpcompanion.checks import Is, Range, Size, checked\nfrom typing import Annotated\n"
    )
    hashes = []
    for text in ("n: int", field):
        book(**files(experiment=f"{head}{EXPERIMENT}".replace("n: int", text)))
        folders = tmp_path / "pkg", tmp_path / "ntpcompanion"
        hashes.append(definition_hashes("pkg.experiment", ["Plan", "Result", "run"], *folders))
    assert (hashes[0] == hashes[1]) is equal


PACKAGE = Path(ntpcompanion.__file__).parent
MARKED = [
    (".".join(["ntpcompanion", *path.relative_to(PACKAGE).with_suffix("").parts]), name)
    for path in sorted(PACKAGE.rglob("*.py"))
    for name in re.findall(r"^@argument_check\ndef (\w+)", path.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize(("module", "name"), MARKED)
def test_marked_checks_keep_their_promise(module, name):
    """Arguments and generators are as they were."""
    check = getattr(importlib.import_module(module), name)
    count = len(inspect.signature(check).parameters)
    for value in (np.arange(6.0).reshape(2, 3), [3, -1], np.random.default_rng(0), "x", -1, None):
        values = ["name", value, *[3] * count][:count] if count > 1 else [value]
        before = pickle.dumps([values])
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            assert check(*values) is None
        assert pickle.dumps([values]) == before
