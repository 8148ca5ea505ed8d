import json

import pytest

from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.files import checksum
from ntpcompanion.workflow.results import Result
from tests.workflow.test_baselines import result


@pytest.mark.parametrize(
    "change",
    [lambda data: data | {"schema": 2}, lambda data: data | {"more": 1}, lambda data: {k: data[k] for k in data if k != "seconds"}],
)
def test_results_of_another_schema_are_not_read(tmp_path, change):
    path = tmp_path / "coin.json"
    result("coin", toy_half=0.5).save(path)
    assert Result.load(path) == result("coin", toy_half=0.5)
    data = change({key: value for key, value in json.loads(path.read_text()).items() if key != "checksum"})
    path.write_text(json.dumps(data | {"checksum": checksum(data)}))
    with pytest.raises(WorkflowError, match=r"coin.json has schema \d, this version reads 1. Run the notebook again"):
        Result.load(path)
    path.unlink()
    with pytest.raises(WorkflowError, match=r"coin.json does not exist: the notebook has not been run"):
        Result.load(path)
