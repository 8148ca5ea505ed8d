from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import line_of
from ntpcompanion.workflow.claims.claims import load_claims

TABLE = """A title with toy.b

for name in ("toy.a", "toy.ab"):
    claims.measure(name, 1)
text = "toy.c"
measure('toy.c', 1)
"""


def test_a_line_names_its_claim_and_a_call_goes_first():
    lines = TABLE.splitlines()
    places = {name: line_of(lines, name) for name in ("toy.a", "toy.ab", "toy.b", "toy.c", "toya")}
    assert places == {"toy.a": 3, "toy.ab": 3, "toy.b": 1, "toy.c": 6, "toya": 1}
    assert line_of([], "toy.a") == 1


def test_every_claim_of_the_book_is_found_in_its_notebook():
    project = Project.find()
    for claim in load_claims(project).values():
        text = (project.notebooks / f"{claim.notebook}.md").read_text(encoding="utf-8")
        lines = text.splitlines()
        assert f'"{claim.id}"' in lines[line_of(lines, claim.id) - 1]
