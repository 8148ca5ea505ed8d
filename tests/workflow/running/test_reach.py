"""What a record rests on: edits of a tiny package, each with the right answer."""

import textwrap

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running.reach import definition_hashes

EXPERIMENT = '''
"""An experiment."""
import numpy as np
from pkg.parts import half, shifted
from pkg import scales

class Plan:
    """What is asked."""
    n: int = 1

class Result:
    value: float

def run(plan):
    """The answer."""
    return half(plan.n) + shifted(plan.n) + scales.SCALE
'''
PARTS = '''
from pkg.tools import helper
from pkg.others import helper as other

OFFSET = 3

def half(x: float) -> float:
    """Half of x."""
    return helper(x) / 2  # a comment

def shifted(x, by=OFFSET):
    return other(x) + by
'''
FILES = {
    "__init__.py": "",
    "experiment.py": EXPERIMENT,
    "parts.py": PARTS,
    "tools.py": "def helper(x):\n    return x * 2\n",
    "others.py": "def helper(x):\n    return x * 3\n",
    "scales.py": "SCALE = 5\nUNUSED = 6\n",
}


@pytest.fixture
def book(tmp_path):
    """A function: what the experiment rests on, for files that differ from those above."""

    def hashes(**changes):
        folder = tmp_path / "pkg"
        for path in [*folder.rglob("*.*")]:
            path.unlink()
        for name, text in (FILES | changes).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is not None:
                path.write_text(textwrap.dedent(text))
        return definition_hashes("pkg.experiment", ["Plan", "Result", "run"], folder)

    return hashes


def files(**changes):
    """Files by name without what no keyword can have."""
    return {f"{name.replace('__', '/', 1)}.py": text for name, text in changes.items()}


def test_the_definitions_are_those_that_are_reached(book):
    expected = {"Plan", "Result", "run", "half", "shifted", "SCALE", "OFFSET"}
    assert set(book()) == {*expected, "helper", "helper (2)"}


MOVED = {
    "a comment": files(parts=PARTS.replace("# a comment", "# another")),
    "layout": files(parts=PARTS.replace("helper(x) / 2", "(\n        helper(x)\n        / 2)")),
    "a docstring": files(parts=PARTS.replace("Half of x.", "x over two.")),
    "an annotation": files(parts=PARTS.replace("x: float", "x: 'object'")),
    "an unused name": files(scales="SCALE = 5\nUNUSED = 7\nMORE = 8\n"),
    "an unused import": files(parts="import pkg.scales\n" + PARTS),
    "a docstring of a class": files(experiment=EXPERIMENT.replace("What is asked", "All")),
    "line ends of Windows": files(tools="def helper(x):\r\n    return x * 2\r\n"),
    "a module of pure definitions": files(new="A = 1\ndef f(): pass\n"),
    "a move": files(
        tools="", places="def helper(x):\n    return x * 2\n",
        parts=PARTS.replace("pkg.tools", "pkg.places"),
    ),
    "a re-export": files(
        tools="from pkg.places import helper\n", places="def helper(x):\n    return x * 2\n"
    ),
    "a re-export by a star": files(
        tools="from .places import *\n", places="def helper(x):\n    return x * 2\n"
    ),
    "a merge": files(
        parts=PARTS.replace("from pkg.tools import helper\n", "")
        + "\ndef helper(x):\n    return x * 2\n",
        tools="",
    ),
    "a split": files(
        parts="from pkg.one import half\nfrom pkg.two import shifted\n",
        one=PARTS.partition("OFFSET")[0] + "def half(x):\n    return helper(x) / 2\n",
        two="from pkg.others import helper as other\nOFFSET = 3\n"
        "def shifted(x, by=OFFSET):\n    return other(x) + by\n",
    ),
    "an import moved into the function": files(
        parts=PARTS.replace("from pkg.tools import helper\n", "").replace(
            "    return helper(x)", "    from pkg.tools import helper\n    return helper(x)"
        )
    ),
    "a package for a module": {
        "scales.py": None, "scales/__init__.py": "from .sizes import SCALE\n",
        "scales/sizes.py": "SCALE = 5\n",
    },
    "public names that are loaded late": {
        "scales.py": None,
        "scales/__init__.py": "import lazy_loader\n"
        "__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n",
        "scales/__init__.pyi": "from .sizes import SCALE as SCALE\n",
        "scales/sizes.py": "SCALE = 5\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("change", MOVED)
def test_what_moves_no_number_changes_nothing(book, change):
    before = book()
    if change == "an import moved into the function":
        before.pop("half")  # the import is a statement of the function now
        assert {k: v for k, v in book(**MOVED[change]).items() if k != "half"} == before
    else:
        assert book(**MOVED[change]) == before


LATE = {
    "scales.py": None,
    "scales/__init__.py": "import lazy_loader\n"
    "__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n",
    "scales/__init__.pyi": "from .sizes import SCALE as SCALE\n",
    "scales/sizes.py": "SCALE = 5\n",
    "scales/more.py": "SCALE = 6\n",
}
CHANGED = {
    "a body": files(tools="def helper(x):\n    return x * 4\n"),
    "a default": files(parts=PARTS.replace("by=OFFSET", "by=3")),
    "a constant": files(parts=PARTS.replace("OFFSET = 3", "OFFSET = 4")),
    "a constant by another name": files(scales="from pkg.parts import OFFSET as SCALE\n"),
    "equal names exchanged": files(
        tools=FILES["others.py"], others=FILES["tools.py"]
    ),
    "imports exchanged": files(
        parts=PARTS.replace("pkg.tools", "pkg.x").replace("pkg.others", "pkg.tools").replace(
            "pkg.x", "pkg.others")
    ),
    "a re-export that leads elsewhere": files(tools="from pkg.others import helper\n"),
    "a decorator": files(
        tools="from pkg.others import helper as twice\n@twice\ndef helper(x):\n    return x * 2\n"
    ),
    "a statement that runs at import": files(tools="import numpy\nnumpy.seterr(all='raise')\n"
                                             + FILES["tools.py"]),
    "a constant changed from elsewhere": files(
        others="from pkg import scales\nscales.SCALE = 7\n" + FILES["others.py"]
    ),
    "a constant changed in place": files(scales="SCALE = 5\nSCALE += 1\n"),
    "a registered function": files(
        tools="import atexit\n@atexit.register\ndef bye(): pass\n" + FILES["tools.py"]
    ),
    "a module that is imported for what it does": files(
        tools="import pkg.acting\n" + FILES["tools.py"], acting="import os\nos.environ['A'] = '1'\n"
    ),
    "a parameter that hides the name": files(
        parts=PARTS.replace("def half(x: float)", "def half(x: float, helper=abs)")
    ),
    "a field": files(experiment=EXPERIMENT.replace("n: int", "n: float")),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGED)
def test_what_may_move_a_number_changes_it(book, change):
    assert book() != book(**CHANGED[change])


def test_names_that_one_statement_binds_are_told_apart(book):
    scales = files(scales="SCALE, OTHER = 5, 6\n")
    other = EXPERIMENT.replace("scales.SCALE", "scales.OTHER")
    assert book(**scales) != book(**scales, **files(experiment=other))


USES = "from pkg.user import half, shifted"


def user(text, **more):
    """Files in which the experiment uses `half` of a module `user`."""
    return files(
        experiment=EXPERIMENT.replace("from pkg.parts import half, shifted", USES),
        user=textwrap.dedent(text) + "\n" + "def shifted(x):\n    return x\n",
        **more,
    )


CHECK = "from ntpcompanion.argument_check import argument_check\n"
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
        return f"{CHECK}SEEN = []\ndef look(x):\n    x.random()\n{mark}def check_size(x):\n    {body}\n"

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


PLAIN = "def half(x: A) -> A:\n    {}'''B'''\n    return x"
SEEN = {
    "singledispatch": "from functools import singledispatch\n@singledispatch\ndef half(x):\n"
    "    '''B'''\n    return x\n@half.register\ndef _half(x: A):\n    return 1",
    "validate_call": "from pydantic import validate_call\n@validate_call\ndef half(x: A):\n"
    "    '''B'''\n    return x",
    "validate_call as a call": "import pydantic\ndef _half(x: A):\n    '''B'''\n    return x\n"
    "half = pydantic.validate_call(_half)",
    "an unknown library": "import lib\n@lib.deal\ndef half(x: A):\n    '''B'''\n    return x",
    "an unknown library as a call": "import lib\ndef _half(x: A):\n    '''B'''\n    return x\n"
    "def half(x):\n    return lib.deal(_half)(x)",
    "get_type_hints": "import typing\ndef half(x: A):\n    '''B'''\n    return inner(half)\n"
    "def inner(f):\n    return typing.get_type_hints(f)",
    "get_type_hints by another name": "from typing import get_type_hints as g\ndef half(x: A):\n"
    "    '''B'''\n    return g(half)",
    "__annotations__": "def half(x: A):\n    '''B'''\n    return half.__annotations__",
    "a dataclass": "from dataclasses import dataclass, fields\n@dataclass\nclass K:\n    '''B'''\n"
    "    x: A = 1\ndef half(x):\n    return fields(K)",
    "a method that is a validator": "import pydantic\nclass K(pydantic.BaseModel):\n    a: int = 1\n"
    "    @pydantic.field_validator('a')\n    @classmethod\n    def f(cls, x: A):\n"
    "        '''B'''\n        return x\ndef half(x):\n    return K(a=x)",
    "a signature": "import inspect\ndef half(x: A):\n    '''B'''\n"
    "    return inspect.signature(half)",
    "a partial": "import functools, lib\ndef g(x: A):\n    '''B'''\n    return x\n"
    "def half(x):\n    return lib.run(functools.partial(g, x))",
}


@pytest.mark.parametrize("code", SEEN.values(), ids=SEEN)
def test_annotations_that_may_decide_count(book, code):
    assert book(**user("A = int\n" + code)) != book(**user("A = float\n" + code))
    other = code.replace(": A", ": B")
    assert book(**user("A = int\nB = int\n" + code)) != book(**user("A = int\nB = int\n" + other))


READS = {
    "__doc__": "def half(x):\n    '''B'''\n    return len(half.__doc__)",
    "__doc__ of another": "def half(x):\n    return look(g)\ndef look(f):\n"
    "    return getattr(f, '__doc__')\ndef g():\n    '''B'''",
    "__doc__ of the module": "def half(x):\n    return __doc__",
    "__doc__ of a class": "class A:\n    '''B'''\ndef half(x):\n    return A().__doc__",
    "getdoc": "from inspect import getdoc as d\ndef half(x):\n    '''B'''\n    return d(half)",
    "its source": "import inspect\ndef half(x):\n    # B\n    return inspect.getsource(half)",
    "its file": "def half(x):\n    # B\n    return open(__file__).read()",
    "its line": "import sys\ndef half(x):\n    # B\n    return sys._getframe().f_lineno",
    "its code": "def half(x):\n    # B\n    return half.__code__.co_firstlineno",
    "a command line": "import click\n@click.command\ndef half(x):\n    '''B'''\n    return x",
}


@pytest.mark.parametrize("code", READS.values(), ids=READS)
def test_texts_that_a_program_reads_count(book, code):
    code = "'''B'''\n" + code
    assert book(**user(code)) != book(**user(code.replace("B", "C")))


SOMEWHERE = {
    "__getattr__": {"scales.py": "import importlib\ndef __getattr__(name):\n"
                    "    return getattr(importlib.import_module('.new', __package__), name)\n"},
    "__getattr__ of a table": {"scales.py": "from importlib import import_module as i\n"
                               "T = {'SCALE': 'new'}\ndef __getattr__(name):\n"
                               "    return getattr(i(f'pkg.{T[name]}'), name)\n"},
    "import_module": user("import importlib\ndef half(x):\n"
                          "    return importlib.import_module('pkg.new').SCALE"),
    "a computed import": user("import importlib\ndef half(x):\n"
                              "    return importlib.import_module('pkg.' + x).SCALE"),
    "a relative import": user("import importlib\ndef half(x):\n"
                              "    return importlib.import_module('.' + x, __package__).SCALE"),
    "by its own name": user("def half(x):\n"
                            "    return __import__(__name__.split('.')[0] + x).SCALE"),
    "pkgutil": user("import pkgutil, pkg\ndef half(x):\n"
                    "    return len(list(pkgutil.iter_modules(pkg.__path__)))"),
    "os.listdir": user("import os, pkg\ndef half(x):\n"
                       "    return len(os.listdir(os.path.dirname(pkg.__file__)))"),
    "listdir by another name": user("from os import listdir as ls\ndef half(x):\n"
                                    "    return ls(x)"),
    "glob": user("from pathlib import Path\ndef half(x):\n"
                 "    return len(list(Path('pkg').glob('*.py')))"),
    "the module glob": user("import glob as g\ndef half(x):\n    return g.glob(x)"),
    "walk": user("import os\ndef half(x):\n    return list(os.walk(x))"),
    "resources": user("from importlib import resources\ndef half(x):\n"
                      "    return list(resources.files('pkg').iterdir())"),
    "exec": user("def half(x):\n    exec('from pkg.new import SCALE')\n    return SCALE"),
    "eval": user("def half(x):\n    return eval(x)"),
    "globals": user("from pkg.new import SCALE\ndef half(x):\n    return globals()['SCALE']"),
    "sys.modules": user("import sys, pkg.new\ndef half(x):\n    return sys.modules[x].SCALE"),
    "a package handed on": user("import pkg.new\ndef half(x):\n    return getattr(pkg, x).SCALE"),
    "a module handed on": user("from pkg import new\ndef half(x):\n    return getattr(new, x)"),
    "subclasses": user("import pkg.new\nclass Base: pass\ndef half(x):\n"
                       "    return Base.__subclasses__()"),
}  # fmt: skip


@pytest.mark.parametrize("code", SOMEWHERE.values(), ids=SOMEWHERE)
def test_where_nothing_can_be_seen_the_whole_package_counts(book, code):
    assert book(**code, **files(new="SCALE = 1\n")) != book(**code, **files(new="SCALE = 2\n"))


def test_a_new_module_of_a_folder_of_plugins_counts(book):
    code = user(
        "import importlib, pkgutil\nfrom pkg import plugins\ndef half(x):\n"
        "    for each in pkgutil.iter_modules(plugins.__path__):\n"
        "        importlib.import_module(f'pkg.plugins.{each.name}')\n    return plugins.COUNT"
    )
    one = {"plugins/__init__.py": "COUNT = 0\n", "plugins/a.py": "A = 1\n"}
    assert book(**code, **one) != book(**code, **one, **{"plugins/b.py": "B = 1\n"})


def test_subclasses_that_register_count(book):
    base = "class Base:\n    known = []\n    def __init_subclass__(cls):\n        Base.known += [cls]\n"
    code = user("from pkg.base import Base\nimport pkg.new\ndef half(x):\n    return Base.known",
                base=base)  # fmt: skip
    new = "from pkg.base import Base\nclass A(Base):\n    x = {}\n"
    assert book(**code, **files(new=new.format(1))) != book(**code, **files(new=new.format(2)))


def test_where_a_name_of_its_own_module_decides_a_move_counts(book):
    text = "def helper(x):\n    return len(__name__)\n"
    moved = files(tools="from pkg.places import helper\n", places=text)
    assert book(**files(tools=text)) != book(**moved)


def test_a_late_name_that_leads_elsewhere_counts(book):
    before = book(**LATE)
    assert before == book()
    stub = {"scales/__init__.pyi": "from .more import SCALE as SCALE\n"}
    assert before != book(**LATE | stub)
    loader = {"scales/__init__.py": "from pkg.load import attach\n"
              "__getattr__, __dir__, __all__ = attach(__name__, __file__)\n"}  # fmt: skip
    one = book(**LATE | loader, **files(load="def attach(a, b):\n    return 1, 2, 3\n"))
    assert one != book(**LATE | loader, **files(load="def attach(a, b):\n    return 2, 2, 3\n"))


def test_local_names_are_no_definitions(book):
    code = user("SCALE = 1\ndef half(x):\n    SCALE = [SCALE for SCALE in (x,)]\n    return SCALE")
    assert book(**code)["half"] == book(**user(
        "def half(x):\n    SCALE = [SCALE for SCALE in (x,)]\n    return SCALE"))["half"]  # fmt: skip
    outer = user("k = {}\ndef half(x):\n    return [k for k in x] + [k]")
    assert "k" in book(**outer)


def test_a_file_that_is_not_python_is_named(book):
    with pytest.raises(WorkflowError, match=r"tools\.py is not Python"):
        book(**files(tools="def ="))


def test_the_hash_is_the_same_in_every_version_of_python(book):
    """Records carry it from one version to another."""
    assert book()["half"][:6] == "812d8e"
