import re

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.results.theorems import Statement, chapters_that_state, statements

STATED = """Prose with $p = 1/2$.

```{prf:theorem} A coin is fair (theorem 2 of the paper, constants ours)
:label: thm-fair

Always.
```

````{prf:lemma}
:nonumber:
:label: lem-bare

Yes.
````

```{prf:definition} Half (not in the paper)
:label: def-half
```

```{prf:proof}
:label: no-statement
(Of {prf:ref}`thm-fair`.)
```
"""


def test_statements_with_number_and_title(toy):
    toy.edit("notebooks/coin.md", "Prose with $p = 1/2$.\n", STATED)
    notebooks = find_notebooks(toy.project)
    assert statements(notebooks) == [
        Statement("theorem", "A coin is fair", "Theorem 2, constants ours", "thm-fair", "coin"),
        Statement("lemma", "", "", "lem-bare", "coin"),
        Statement("definition", "Half", "", "def-half", "coin"),
    ]
    assert chapters_that_state(notebooks) == [("A coin", statements(notebooks))]


def test_no_labelled_statement_of_the_book_is_missed():
    notebooks = find_notebooks(Project.find())
    opened = 0
    for notebook in notebooks.values():
        text = notebook.path.read_text(encoding="utf-8")
        opened += len(re.findall(r"\{prf:(?:theorem|lemma|proposition|definition|remark)\}", text))
        opened += len(re.findall(r"\{prf:(?:corollary|assumption|example|conjecture)\}", text))
    found = statements(notebooks)
    assert len(found) == opened > 20
    assert len({statement.label for statement in found}) == len(found)
