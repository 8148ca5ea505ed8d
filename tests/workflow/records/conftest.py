import pytest

from tests.workflow.records.halves import PLAN, STUDY


@pytest.fixture
def study(importable):
    """A toy project whose one plan, `halves`, runs the experiment `study` at three points."""
    importable.write_experiment("study", STUDY)
    importable.plan_records(halves=PLAN)
    return importable
