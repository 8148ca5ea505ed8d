"""Checks of arguments are left out where they can only raise, and nobody catches."""

import contextlib
import importlib
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import ntpcompanion
from ntpcompanion.workflow.hashing.modules import Packages
from ntpcompanion.workflow.hashing.purity import is_marked, only_raises
from tests.workflow.hashing.tiny_package import files, user

CHECK = "from ntpcompanion.validation import argument_check\n"
CHECKED = (
    CHECK
    + """
@argument_check
def check_size(name: str, x: object) -> None:
    if not isinstance(x, int):
        raise ValueError(f"{name} is {x!r}")
"""
)
LEFT = user("from pkg.checks import check_size\ndef half(x):\n    check_size('x', x)\n    return x",
            checks=CHECKED)  # fmt: skip


def test_an_argument_check_is_left_out(book):
    without = user("def half(x):\n    return x")
    assert set(book(**LEFT)) == {"Plan", "Result", "run", "half", "shifted", "SCALE"}
    assert book(**LEFT) == book(**without)
    other = files(checks=CHECKED.replace("x!r", "type(x)"))
    assert book(**LEFT) == book(**LEFT | other)


CALLS = "def half(x):\n    check_size(x)\n    return x"
IMPURE = {
    "changes an array": "x -= x.mean()",
    "changes an entry": "x[0] = 1",
    "sorts in place": "x.sort()",
    "draws": "if x.random() > 2: raise ValueError",
    "draws at second hand": "look(x)",
    "goes through an iterator": "for y in x:\n        if y < 0: raise ValueError",
    "goes through one by a builtin": "if sum(x) < 0: raise ValueError",
    "takes the next": "next(x)",
    "sets an attribute": "setattr(x, 'a', 1)",
    "prints": "print(x)",
    "writes to out": "import numpy as np\n    np.abs(x, out=x)",
    "remembers": "SEEN.append(x)",
    "returns": "return x",
    "is a generator": "yield x",
}


@pytest.mark.parametrize("body", IMPURE.values(), ids=IMPURE)
@pytest.mark.parametrize("mark", ["@argument_check\n", ""], ids=["marked", "by its name alone"])
def test_a_check_that_does_more_counts(book, body, mark):
    def checks(body):
        helper = "SEEN = []\ndef look(x):\n    x.random()\n"
        return f"{CHECK}{helper}{mark}def check_size(x):\n    {body}\n"

    code = user("from pkg.checks import check_size\n" + CALLS, checks=checks(body))
    other = user("from pkg.checks import check_size\n" + CALLS, checks=checks("pass"))
    assert book(**code) != book(**other)
    assert "check_size" in book(**code)


CAUGHT = {
    "in a try": "def half(x):\n    try:\n        check_size('x', x)\n    except ValueError:\n"
    "        x = 1\n    return x",
    "one level below": "def inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    try:\n        return inner(x)\n    except Exception:\n        return 1",
    "two levels below": "def inmost(x):\n    check_size('x', x)\n    return x\n"
    "def inner(x):\n    return inmost(x)\n"
    "def half(x):\n    try:\n        return inner(x)\n    except (TypeError, ValueError):\n"
    "        return 1",
    "in a method": "class A:\n    def go(self, x):\n        check_size('x', x)\n        return x\n"
    "def half(x):\n    return caught(A(), x)\n"
    "def caught(a, x):\n    try:\n        return a.go(x)\n    except ValueError:\n        return 1",
    "by a call without arguments": "def inner(*x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    try:\n        return inner()\n    except ValueError:\n        return 1",
    "by a method without arguments": "class A:\n    def go(self, *x):\n        check_size('x', x)\n"
    "        return self\ndef half(x):\n    a = A()\n    try:\n        return a.go()\n"
    "    except ValueError:\n        return 1",
    "handed on": "def inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    return caught(inner, x)\n"
    "def caught(f, x):\n    try:\n        return f(x)\n    except ValueError:\n        return 1",
    "suppressed": "import contextlib\ndef inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    with contextlib.suppress(ValueError):\n        return inner(x)",
    "suppressed by another name": "from contextlib import suppress as quiet\ndef inner(x):\n"
    "    check_size('x', x)\n    return x\n"
    "def half(x):\n    with quiet(ValueError):\n        return inner(x)",
    "by an own context": "class C:\n    def __enter__(self): pass\n"
    "    def __exit__(self, *a): return True\n"
    "def inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    with C():\n        return inner(x)",
    "by a context of a generator": "import contextlib\n@contextlib.contextmanager\ndef c():\n"
    "    try:\n        yield\n    except ValueError:\n        pass\n"
    "def inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    with c():\n        return inner(x)",
    "in a thread": "import threading\ndef inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    threading.Thread(target=inner, args=(x,)).start()",
    "by a decorator": "import contextlib\n@contextlib.suppress(ValueError)\ndef half(x):\n"
    "    check_size('x', x)\n    return x",
    "in a finally": "def inner(x):\n    check_size('x', x)\n    return x\n"
    "def half(x):\n    try:\n        inner(x)\n    finally:\n        return 1",
}  # fmt: skip


@pytest.mark.parametrize("code", CAUGHT.values(), ids=CAUGHT)
def test_a_check_whose_error_may_be_caught_counts(book, code):
    code = "from pkg.checks import check_size\n" + code
    before = book(**user(code, checks=CHECKED))
    assert "check_size" in before
    assert before != book(**user(code, checks=CHECKED.replace("not isinstance", "isinstance")))


PACKAGE = Path(ntpcompanion.__file__).parent
PACKAGES = Packages([PACKAGE])
MARKED = [
    (module, statement)
    for path in sorted(PACKAGE.rglob("*.py"))
    if "@argument_check" in path.read_text() and "workflow" not in path.parts
    for name in [".".join(["ntpcompanion", *path.relative_to(PACKAGE).with_suffix("").parts])]
    for module in [PACKAGES.module(name)]
    for statement in module.statements
    if is_marked(PACKAGES, module, statement)
]


@pytest.mark.parametrize(("module", "statement"), MARKED, ids=[s.node.name for _, s in MARKED])
def test_marked_checks_are_pure(module, statement):
    """They can be seen to be, and are: arguments and generators are as they were."""
    assert only_raises(PACKAGES, module, statement)
    check = getattr(importlib.import_module(module.name), statement.node.name)
    count = len(inspect.signature(check).parameters)
    for value in (np.arange(6.0).reshape(2, 3), [3, -1], np.random.default_rng(0), "x", -1, None):
        values = ["name", value, *[3] * count][:count] if count > 1 else [value]
        before = pickle.dumps([values])
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            assert check(*values) is None
        assert pickle.dumps([values]) == before
