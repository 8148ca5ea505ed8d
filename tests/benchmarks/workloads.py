"""`make bench-against COMMIT=REVISION`: short pieces of Python by the code of the folder that this
is run in. It imports nothing of ours: the code that is timed may be of any age.
"""

import sys
from pathlib import Path

import pytest
import yaml

WORKLOADS = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload(benchmark, name):
    names = {}
    exec(compile(WORKLOADS[name]["setup"], f"<setup of {name}>", "exec"), names)
    statement = compile(WORKLOADS[name]["statement"], f"<statement of {name}>", "exec")
    benchmark(exec, statement, names)
    package = Path(sys.modules["ntpcompanion"].__file__)
    assert package.is_relative_to(Path.cwd()), f"timed {package}, not the code of this folder"
