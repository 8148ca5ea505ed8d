import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.claim_positions import measure_lines
from ntpcompanion.workflow.claims.claims import load_claims


def test_the_line_is_that_of_the_call(toy):
    path = toy.project.notebooks / "coin.md"
    lines = path.read_text().splitlines()
    found = measure_lines(path)
    assert lines[found["toy.half"] - 1].startswith('measure("toy.half"')
    assert lines[found["toy.powers"] - 1].startswith('measure("toy.powers"')


TABLE = """# A title with "toy.b"

```{code-cell} ipython3
:tags: [hide-input]
%matplotlib inline
for name in (
    "toy.a",
    "toy.b",
):
    claims.measure(name, 1)
```

````{code-cell}
text = "toy.c"
text = '''
```
'''
measure(
    "toy.c", 1)
````
"""


def test_an_id_in_a_table_has_the_line_of_its_name_and_a_call_goes_first(tmp_path):
    path = tmp_path / "table.md"
    path.write_text(TABLE)
    found = measure_lines(path)
    lines = TABLE.splitlines()
    assert lines[found["toy.a"] - 1] == '    "toy.a",'
    assert lines[found["toy.b"] - 1] == '    "toy.b",'
    assert lines[found["toy.c"] - 1] == "measure("


def test_a_magic_or_a_continued_line_moves_no_line(tmp_path):
    text = "```{code-cell}\n%%time\nrest = (7\n    % 5)\nmeasure('toy.a', 1)\n```\n"
    (tmp_path / "a.md").write_text("\ufeff" + text.replace("\n", "\r\n"), newline="")
    assert measure_lines(tmp_path / "a.md")["toy.a"] == 5


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'```{code-cell}\nmeasure("a.b"\n```\n'])
def test_what_cannot_be_read_has_no_lines(tmp_path, content):
    path = tmp_path / "broken.md"
    path.write_bytes(content)
    assert measure_lines(path) == {}
    assert measure_lines(tmp_path / "absent.md") == {}


def test_every_claim_of_the_book_is_found_in_its_notebook():
    project = Project.find()
    claims = load_claims(project).values()
    lines = {claim.notebook: {} for claim in claims}
    for name in lines:
        lines[name] = measure_lines(project.notebooks / f"{name}.md")
    for claim in claims:
        text = (project.notebooks / f"{claim.notebook}.md").read_text(encoding="utf-8")
        line = text.splitlines()[lines[claim.notebook][claim.id] - 1]
        assert f'"{claim.id}"' in line or line.strip().endswith("measure("), claim.id
