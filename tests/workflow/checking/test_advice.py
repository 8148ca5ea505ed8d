from typing import get_args

from ntpcompanion.workflow.checking.advice import what_to_do
from ntpcompanion.workflow.checking.value_comparison import NOTES, Kind


def test_a_number_that_is_new_and_one_that_moved_are_accepted_by_one_command():
    moved, new = what_to_do("moved", "smoke"), what_to_do("new", "smoke")
    for said in (moved, new):
        assert "`ntpcompanion check --profile smoke --update`" in said
        assert "`tests/baselines/smoke.json`" in said
    assert "fix the change that moved it" in moved
    assert "moved" not in new, "it was nowhere before"


def test_every_kind_of_fault_has_advice_or_says_it_itself():
    silent = {kind for kind in get_args(Kind) if not what_to_do(kind, "book")}
    assert silent == {"unknown", *NOTES}  # an unknown id: "Add it to book/claims.yml."
