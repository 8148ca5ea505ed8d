"""Programs that read themselves, or look for modules: what cannot be seen counts."""

import pytest

from tests.workflow.hashing.tiny_package import files, user

SEEN = {
    "singledispatch": "from functools import singledispatch\n@singledispatch\ndef half(x):\n"
    "    return x\n@half.register\ndef _half(x: A):\n    return 1",
    "validate_call as a call": "import pydantic\ndef _half(x: A):\n    return x\n"
    "half = pydantic.validate_call(_half)",
    "an unknown library": "import lib\n@lib.deal\ndef half(x: A):\n    return x",
    "an unknown library as a call": "import lib\ndef _half(x: A):\n    return x\n"
    "def half(x):\n    return lib.deal(_half)(x)",
    "get_type_hints by another name": "from typing import get_type_hints as g\ndef half(x: A):\n"
    "    return g(half)",
    "__annotations__": "def half(x: A):\n    return half.__annotations__",
    "a dataclass": "from dataclasses import dataclass, fields\n@dataclass\nclass K:\n"
    "    x: A = 1\ndef half(x):\n    return fields(K)",
    "a method that is a validator": "import pydantic\nclass K(pydantic.BaseModel):\n"
    "    a: int = 1\n    @pydantic.field_validator('a')\n    @classmethod\n    def f(cls, x: A):\n"
    "        return x\ndef half(x):\n    return K(a=x)",
    "a partial": "import functools, lib\ndef g(x: A):\n    return x\n"
    "def half(x):\n    return lib.run(functools.partial(g, x))",
}


@pytest.mark.parametrize("code", SEEN.values(), ids=SEEN)
def test_annotations_that_may_decide_count(book, code):
    both = "A = int\nB = int\n"
    assert book(**user(both + code)) != book(**user(both.replace("int", "float", 1) + code))
    assert book(**user(both + code)) != book(**user(both + code.replace(": A", ": B")))


READS = {
    "__doc__ of another": "def half(x):\n    return look(g)\ndef look(f):\n"
    "    return getattr(f, '__doc__')\ndef g():\n    '''B'''",
    "__doc__ of the module": "def half(x):\n    return __doc__",
    "getdoc": "from inspect import getdoc as d\ndef half(x):\n    '''B'''\n    return d(half)",
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
    base = "class Base:\n    known = []\n    def __init_subclass__(cls):\n"
    base += "        Base.known += [cls]\n"
    code = user("from pkg.base import Base\nimport pkg.new\ndef half(x):\n    return Base.known",
                base=base)  # fmt: skip
    new = "from pkg.base import Base\nclass A(Base):\n    x = {}\n"
    assert book(**code, **files(new=new.format(1))) != book(**code, **files(new=new.format(2)))
