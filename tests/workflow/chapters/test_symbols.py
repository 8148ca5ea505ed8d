import json
import re

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.chapters.symbols import bare, meanings, read_notation, with_symbols
from ntpcompanion.workflow.notebooks.notebook import find_notebooks

NOTATION = r"""# Notation

## Text

% pages: one two

| Symbol | Meaning | In the code |
|---|---|---|
| $V$ | number of tokens | `vocab_size` |
| $j = 1, \dots, m$ | the contexts; $m_t$ is their number | |
| $z, z'$ | tokens with $a < b$ | |
| $\mathrm{KL}(p \,\Vert\, q)$ | divergence | |
| $\beta_1, \beta_2$, $v$ | constants of Adam | |
| crossing | a threshold | |

## Curvature

% pages: two

| Symbol | Meaning | In the code |
|---|---|---|
| $V$ | a potential | |
| $W^{\mathrm{mm}}$ | the solution | |

## Elsewhere

| Symbol | Meaning | In the code |
|---|---|---|
| $q$ | nothing that a chapter uses | |
"""


@pytest.fixture
def entries():
    return read_notation(NOTATION)


def test_a_list_of_symbols_is_several_and_a_function_of_two_is_one(entries):
    found = {symbol for entry in entries for symbol in entry.symbols}
    assert {"z", "z'", "\\beta_1", "\\beta_2", "v", "\\mathrm{KL}(p \\,\\Vert\\, q)"} <= found
    assert not any("\\dots" in symbol for symbol in found)
    assert "q" not in found


def test_a_symbol_with_two_meanings_in_a_chapter_has_none(entries):
    assert meanings(entries, "chapters/one")["V"].meaning == "number of tokens"
    assert "V" not in meanings(entries, "chapters/two")
    assert meanings(entries, "intro") == {}


def formula(tex):
    return f'<span class="math notranslate nohighlight">\\({tex}\\)</span>'


def test_formulas_that_are_one_symbol_say_which_and_the_page_has_the_meanings(entries):
    body = " ".join(map(formula, ["W^{\\mathrm{mm}}", "z", "z + 1"]))
    made = with_symbols(body, entries, "chapters/two")
    assert re.findall(r'data-symbol="([^"]*)"', made) == ["W^{\\mathrm{mm}}", "z"]
    data = json.loads(re.search(r'id="ntp-symbols">(.*)</script>', made)[1])
    assert set(data) == {"W^{\\mathrm{mm}}", "z"}
    assert data["z"] == {"symbols": "\\(z\\), \\(z'\\)", "meaning": "tokens with \\(a < b\\)"}
    assert "<" not in re.search(r'id="ntp-symbols">(.*)</script>', made)[1]


def test_the_chapters_that_the_notation_names_are_those_of_the_book():
    project = Project.find()
    entries = read_notation((project.book / "notation.md").read_text(encoding="utf-8"))
    named = {page for entry in entries for page in entry.pages}
    assert named <= set(find_notebooks(project))
    assert len({symbol for entry in entries for symbol in entry.symbols}) > 80
    assert meanings(entries, "ntp_svm")[bare("W^{\\mathrm{mm}}")].meaning.startswith("solution")
    assert "H" not in meanings(entries, "flatness_downstream"), "a Hessian, and an entropy"
