import sys
from types import ModuleType

import pytest

from ntpcompanion.workflow.notebooks.parameters import parse_check, run_checks
from tests.refusing import refused

KNOWN = {"text": "mine.txt", "text_vocab": 12, "seed": 0}
CALL = "lab.texts.enough(path=text, size=text_vocab, length=2)"


@pytest.fixture
def lab(monkeypatch):
    """A module `lab.texts` whose function `enough` is given by each test."""
    texts = ModuleType("lab.texts")
    monkeypatch.setitem(sys.modules, "lab", ModuleType("lab"))
    monkeypatch.setitem(sys.modules, "lab.texts", texts)
    return texts


def run(call=CALL, values=KNOWN):
    return run_checks([parse_check(call, KNOWN, "here")], [values], "Notebook 'words'")


def test_the_function_is_given_the_values_of_the_parameters(lab):
    seen = {}
    lab.enough = lambda **given: seen.update(given)
    assert run() == []
    assert seen == {"path": "mine.txt", "size": 12, "length": 2}


def test_what_it_says_names_the_parameters_of_the_notebook(lab):
    """Both at once: `size` becomes `text_vocab`, whatever other arguments are called."""
    lab.enough = lambda path, text, length: [f"`path` = {path!r} and `text` = {text}; `other`."]
    call = "lab.texts.enough(path=text, text=text_vocab, length=2)"
    assert run(call) == ["`text` = 'mine.txt' and `text_vocab` = 12; `other`."]


def test_variants_that_it_cannot_tell_apart_are_checked_once(lab):
    asked = []
    lab.enough = lambda path, size, length: asked.append(size) or ["`path` is short."]
    check = parse_check(CALL, KNOWN, "here")
    variants = [KNOWN | {"seed": seed, "text_vocab": size} for size in (3, 4) for seed in range(5)]
    assert run_checks([check], variants, "here") == ["`text` is short."]
    assert asked == [3, 4]


@pytest.mark.parametrize("kind", [ValueError, FileNotFoundError, ImportError])
def test_what_it_refuses_is_said_under_the_name_of_the_parameter(lab, kind):
    def enough(path, size, length):
        raise kind(f"`size` = {size} is too large for `path`.")

    lab.enough = enough
    with refused(r"^Notebook 'words': `text_vocab` = 12 is too large for `text`\.$"):
        run()


def test_a_function_that_is_not_there_or_takes_other_arguments_is_named(lab):
    with refused(r"check lab\.texts\.enough .* cannot be imported: "):
        run()
    with refused(r"no\.such\.check of .* cannot be imported: No module"):
        run("no.such.check(path=text)")
    lab.enough = lambda path: []
    with refused(r"lab\.texts\.enough cannot be called: .*'size'"):
        run()


@pytest.mark.parametrize(
    "call",
    [
        "",
        "lab.texts.enough",
        "enough(path=text)",
        "lab.enough(text)",
        "lab.enough(**text)",
        "lab.enough(path=text + 1)",
        "lab.enough(path=",
    ],
)
def test_what_is_no_call_is_refused(call):
    with refused(r"^here: the check '.*' in the front matter is not a call"):
        parse_check(call, KNOWN, "here")


def test_a_parameter_that_is_not_there_is_refused():
    with refused(r"is given 'text_vocap', which is not a parameter\. Did you mean 'text_vocab'"):
        parse_check("lab.enough(size=text_vocap)", KNOWN, "here")
