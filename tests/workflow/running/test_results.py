import json

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from ntpcompanion.workflow.base.files import checksum
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.running.results import (
    Result,
    collect_measurements,
    complaints,
    outputs_digest,
    require_listed_records,
)
from tests.refusing import refused
from tests.workflow.checking.test_baselines import result

HALF = Measurement.of("toy.half", 0.5, stderr=0.1, replicates=4, seed=3, records=["halves"])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data | {"schema": 1},
        lambda data: data | {"more": 1},
        lambda data: {k: data[k] for k in data if k != "seconds"},
    ],
)
def test_results_of_another_schema_are_not_read(tmp_path, change):
    path = tmp_path / "coin.json"
    result("coin", toy_half=0.5).save(path)
    assert Result.load(path) == result("coin", toy_half=0.5)
    data = change(
        {key: value for key, value in json.loads(path.read_text()).items() if key != "checksum"}
    )
    path.write_text(json.dumps(data | {"checksum": checksum(data)}))
    with refused(r"coin.json has schema \d, this version reads 2. Run the notebook again"):
        Result.load(path)
    path.unlink()
    with refused(r"coin.json does not exist: the notebook has not been run"):
        Result.load(path)


def notebook(**changes):
    """An executed notebook of three code cells, the second of them injected; `changes` are made to
    its last cell.
    """
    cells = [
        new_code_cell("n = 1  # of them", metadata={"tags": ["parameters"]}),
        new_code_cell("n = 2"),
        new_code_cell("f(n)"),
    ]
    cells[1].metadata["tags"] = ["injected-parameters"]
    shown = {MEASUREMENT_MIME: HALF.to_json(), "text/html": "<p>0.5</p>"}
    cells[2].update(
        {"execution_count": 3, "outputs": [new_output("display_data", shown)], **changes}
    )
    return new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )


def test_the_digest_of_outputs_is_that_of_what_a_page_takes():
    def digest(node=None, **changes):
        return outputs_digest(node or notebook(**changes))

    def shown(**data):
        return [new_output("display_data", data)]

    measured = {MEASUREMENT_MIME: HALF.to_json()}
    recorded = {RECORD_MIME: {"name": "halves"}}
    assert digest(outputs=shown(**measured, **{"text/html": "drawn otherwise"})) == digest()
    assert digest(outputs=shown(**recorded, **{"text/html": "a"})) == digest(
        outputs=shown(**recorded, **{"text/html": "b"})
    )
    counted = [
        [new_output("execute_result", {"text/plain": "1"}, execution_count=n)] for n in (3, 4)
    ]
    assert digest(outputs=counted[0]) == digest(outputs=counted[1])
    defaults, kernel = notebook(), notebook()
    defaults.cells[0].source = "n = 1  # of those"
    kernel.metadata["kernelspec"]["name"] = "other"
    assert digest(defaults) == digest()
    others = [
        digest(kernel),
        digest(source="g(n)"),
        digest(execution_count=4),
        digest(outputs=[]),
        digest(outputs=counted[0]),
        digest(outputs=shown(**{**measured, MEASUREMENT_MIME: {**HALF.to_json(), "value": 0.6}})),
        digest(outputs=shown(**{"text/html": "a"})),
        digest(outputs=shown(**{"text/html": "b"})),
        digest(outputs=[new_output("stream", text="a")]),
        digest(outputs=[new_output("stream", text="b")]),
    ]
    assert len({digest(), *others}) == 1 + len(others)


def test_a_claim_is_measured_once():
    node = notebook()
    assert collect_measurements(node, "coin") == [HALF]
    node.cells[0].outputs = node.cells[2].outputs
    with refused(r"Notebook 'coin' measures toy.half more than once. One claim, one number"):
        collect_measurements(node, "coin")


def test_a_record_is_shown_if_it_is_listed(toy):
    words = find_notebooks(toy.project)["words"]
    node = notebook(outputs=[new_output("display_data", {RECORD_MIME: {"name": "halves"}})])
    with refused(r"'words' shows the record halves, .*: add `ntp: {records: \[halves\]}`"):
        require_listed_records(node, words)
    toy.edit("notebooks/words.md", "inputs: [text]", "inputs: [text], records: [halves, others]")
    require_listed_records(node, find_notebooks(toy.project)["words"])


def test_what_a_cell_wrote_to_stderr_is_told_with_its_number():
    said = [
        new_output("stream", name=name, text=text)
        for name, text in (("stdout", "1\n"), ("stderr", "\na.py:2: UserWarning: far\n  f(n)\n"))
    ]
    assert complaints(notebook(outputs=[])) == []
    assert complaints(notebook(outputs=said[:1])) == []
    assert complaints(notebook(outputs=said)) == [
        "code cell 2 wrote to stderr, and a page would show it: a.py:2: UserWarning: far"
    ]
