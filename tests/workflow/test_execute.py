"""What the runner does with a notebook: every test here starts real kernels."""

import nbformat
import pytest

from ntpcompanion.workflow import execute as runner
from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.results import Result


@pytest.fixture
def executed(toy):
    outcomes = toy.execute()
    assert {o.status for o in outcomes.values()} == {"done"}, [o.message for o in outcomes.values()]
    return toy


def test_a_run_leaves_a_clean_notebook_and_its_results(executed):
    run = executed.runs(names=["coin"])[0]
    result = Result.load(run.results)
    assert [(m["id"], m["value"], m["cell"]) for m in result.measurements] == [("toy.half", 0.5, 2), ("toy.powers", [1.0, 2.0, 4.0], 2)]
    assert result.parameters == {"n": 1000, "seed": 0}
    assert result.peak_memory > 2**24
    assert len(result.cell_seconds) == 2
    node = nbformat.read(run.page, as_version=4)
    nbformat.validate(node)
    text = nbformat.writes(node)
    assert "papermill" not in text
    assert str(executed.project.root) not in text
    assert [cell.source for cell in node.cells if "injected-parameters" in cell.metadata.get("tags", [])] == [
        "n = 1000  # throws\nseed = 0  # of the generator"
    ]


def test_other_profiles_and_overrides_stay_out_of_the_book(toy):
    smoke = toy.runs("smoke", ["coin"])[0]
    custom = toy.runs("book", ["coin"], {"n": 7})[0]
    runner.execute([smoke, custom])
    assert smoke.results.parent == custom.results.parent.parent / "smoke" == toy.project.build / "runs" / "smoke"
    assert Result.load(smoke.results).parameters["n"] == 10
    assert Result.load(custom.results).overrides == {"n": 7}
    assert custom.page.name.startswith("coin-")
    assert not (toy.project.book / "chapters").exists()


def test_a_missing_input_is_named(toy):
    (toy.project.root / "words.txt").unlink()
    assert "parameter `text` = 'words.txt' is neither a file nor a Python module" in toy.execute(names=["words"])["words"].message
    with pytest.raises(WorkflowError, match="`--jobs` must be at least 1, got 0"):
        toy.execute(jobs=0)
