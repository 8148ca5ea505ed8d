"""What a record rests on: edits of a tiny package, each with the right answer."""

import pytest

from tests.refusing import refused
from tests.workflow.hashing.tiny_package import EXPERIMENT, FILES, PARTS, files, user


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
    half = "def half(x):\n    SCALE = [SCALE for SCALE in (x,)]\n    return SCALE"
    assert book(**user("SCALE = 1\n" + half))["half"] == book(**user(half))["half"]
    assert "k" in book(**user("k = {}\ndef half(x):\n    return [k for k in x] + [k]"))


def test_equal_files_are_told_apart_by_what_their_names_mean(book):
    use = "from .value import VALUE\ndef get():\n    return VALUE\n"
    both = {f"{name}/{file}.py": "" for name in "ab" for file in ("__init__",)}
    both |= {f"{name}/use.py": use for name in "ab"} | {"a/value.py": "VALUE = 1\n"}
    code = user("from pkg.a.use import get\nfrom pkg.b.use import get as other\n"
                "def half(x):\n    return get() - other()")  # fmt: skip
    one = book(**code, **both, **{"b/value.py": "VALUE = 2\n"})
    assert {"get", "get (2)", "VALUE", "VALUE (2)"} <= one.keys()
    assert one != book(**code, **both, **{"b/value.py": "VALUE = 3\n"})


def test_a_file_that_is_not_python_is_named(book):
    with refused(r"tools\.py is not Python"):
        book(**files(tools="def ="))


def test_the_hash_is_the_same_in_every_version_of_python(book):
    """Records carry it from one version to another."""
    assert book()["half"][:6] == "6fb785"
