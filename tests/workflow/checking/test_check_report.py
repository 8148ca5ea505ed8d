from typing import get_args

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import ADVICE, line_of
from ntpcompanion.workflow.checking.value_comparison import NOTES, Kind
from ntpcompanion.workflow.claims.claims import load_claims


def test_every_kind_of_fault_has_advice_or_says_it_itself():
    assert set(get_args(Kind)) - set(ADVICE) == {"unknown", *NOTES}
    assert all("check --profile {profile} --update" in ADVICE[kind] for kind in ("moved", "new"))
    assert "moved" not in ADVICE["new"], "it was nowhere before"


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
