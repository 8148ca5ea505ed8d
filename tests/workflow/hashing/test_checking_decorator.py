"""The decorator that checks arguments is left out, with what it reads beside types."""

import pytest

import ntpcompanion
from ntpcompanion.workflow.hashing.reach import definition_hashes
from tests.workflow.hashing.test_purity import CAUGHT
from tests.workflow.hashing.tiny_package import EXPERIMENT, files, user

IMPORT = "from ntpcompanion.checks import Is, Range, Size, checked, need\n"
PLAIN = "def half(x: int) -> int:\n    return x"
HALF = {
    "alone": "@checked\n" + PLAIN,
    "with brackets": "@checked()\n" + PLAIN,
    "with a need": "@checked(need('x', 'x > 2', 'be {x}'))\n" + PLAIN,
    "with another annotation": "@checked\n" + PLAIN.replace("int)", "Size)"),
}


@pytest.mark.parametrize("half", HALF.values(), ids=HALF)
def test_the_decorator_is_left_out(book, half):
    code = user(IMPORT + half)
    assert book(**code) == book(**user(PLAIN))


COUNTED = {
    "of the same name": "def checked(f):\n    return lambda x: f(x) + 1\n@checked\n" + PLAIN,
    "beside another one": IMPORT + "@checked\n@abs\n" + PLAIN,
    "with a condition by a name": IMPORT + "C = 'x > 2'\n@checked(need('x', C, ''))\n" + PLAIN,
    "with a condition by keyword": IMPORT + "@checked(need('x', condition='x'))\n" + PLAIN,
    "with a condition that is none": IMPORT + "@checked(need('x', 'x >', ''))\n" + PLAIN,
    "given another thing": IMPORT + "@checked(print)\n" + PLAIN,
    "with a need that draws": IMPORT + "@checked(need('x', 'x.random()', ''))\n" + PLAIN,
    "with a need that writes": IMPORT + "@checked(need('x', 'setattr(x, 0, 1)', ''))\n"
    + PLAIN,
    "with a need that calls": IMPORT + "def look(x):\n    x.sort()\n"
    "@checked(need('x', 'look(x)', ''))\n" + PLAIN,
    "with a need that asks for what runs": IMPORT + "class A:\n    @property\n    def b(self):\n"
    "        return 1\n@checked(need('x', 'x.b', ''))\n" + PLAIN.replace("x\n", "A\n"),
}  # fmt: skip


@pytest.mark.parametrize("half", COUNTED.values(), ids=COUNTED)
def test_one_that_may_do_more_counts(book, half):
    if "A:" in half:
        half = half.replace("return x", "return A().b + x")
        assert book(**user(half)) != book(**user(half.replace("'x.b'", "'x.c'")))
    else:
        assert book(**user(half))["half"] != book(**user(PLAIN))["half"]


BELOW = {name: code for name, code in CAUGHT.items() if "def inner" in code or "def go" in code}


@pytest.mark.parametrize("code", BELOW.values(), ids=BELOW)
def test_one_whose_error_may_be_caught_counts_with_the_annotations(book, code):
    name = "go" if "def go" in code else "inmost" if "inmost" in code else "inner"
    head, _, rest = code.replace("check_size('x', x)\n", "pass\n").partition(f"def {name}(")
    indent = head.rpartition("\n")[2]
    args = rest.replace("x)", "x: Size)", 1)
    once = f"{IMPORT}{head}@checked\n{indent}def {name}({args}"
    assert book(**user(once)) != book(**user(once.replace("@checked\n" + indent, "")))
    assert book(**user(once)) != book(**user(once.replace("x: Size", "x: int", 1)))


FIELD = EXPERIMENT.replace("class Plan", IMPORT + "from dataclasses import dataclass\n"
                           "from typing import Annotated\n@dataclass\nclass Plan")  # fmt: skip
FIELDS = {
    "a name": ("n: Size", True),
    "a range": ("n: Annotated[int, Range(1)]", True),
    "a condition": ("n: Annotated[int, Is(lambda n: n > 2, 'be large')]", True),
    "another type": ("n: Annotated[float, Range(1)]", False),
    "what is not of a check": ("n: Annotated[int, print]", False),
}


@pytest.mark.parametrize(("field", "equal"), FIELDS.values(), ids=FIELDS)
def test_what_stands_beside_the_type_of_a_field_is_left_out(tmp_path, field, equal):
    found = []
    for text in ("n: int", field):
        for name, content in files(experiment=FIELD.replace("n: int", text)).items():
            (tmp_path / "pkg").mkdir(exist_ok=True)
            (tmp_path / "pkg" / name).write_text(content)
        for name, content in {"__init__": "", "scales": "SCALE = 1",
                              "parts": "def half(x):\n    return x\ndef shifted(x):\n    return x\n"
                              }.items():  # fmt: skip
            (tmp_path / "pkg" / f"{name}.py").write_text(content)
        folders = tmp_path / "pkg", tmp_path / "ntpcompanion"
        if not folders[1].exists():
            folders[1].symlink_to(next(iter(ntpcompanion.__path__)))
        found.append(definition_hashes("pkg.experiment", ["Plan", "Result", "run"], *folders))
    assert (found[0] == found[1]) is equal
