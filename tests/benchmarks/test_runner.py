"""What the runner adds to bare papermill on one notebook: both as whole processes, in turn."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import jupytext
import pytest

from ntpcompanion.workflow.base.provenance import hardware, hardware_line, versions

TEXT = """---
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# Nothing

```{code-cell} ipython3
:tags: [parameters]
seed = 0
```

```{code-cell} ipython3
import numpy as np
np.random.default_rng(seed).random()
```
"""


def seconds(command, cwd):
    began = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)
    return time.perf_counter() - began


@pytest.mark.benchmark
def test_the_runner_adds_at_most_half_a_second(tmp_path):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book").mkdir()
    (tmp_path / "_config.yml").write_text("title: x\n")
    (tmp_path / "book" / "_toc.yml").write_text("format: jb-book\nroot: intro\n")
    (tmp_path / "notebooks" / "profiles.yml").write_text("")
    (tmp_path / "notebooks" / "nothing.md").write_text(TEXT)
    jupytext.write(jupytext.reads(TEXT, fmt="md:myst"), tmp_path / "nothing.ipynb")
    binary = Path(sys.executable).parent
    bare = [
        str(binary / "papermill"),
        "nothing.ipynb",
        "out.ipynb",
        "-p",
        "seed",
        "1",
        "--no-progress-bar",
    ]
    ours = [str(binary / "ntpcompanion"), "execute", "--profile", "smoke", "--force"]
    # the first warms the disk
    pairs = [(seconds(ours, tmp_path), seconds(bare, tmp_path)) for _ in range(6)][1:]
    added = statistics.median(a - b for a, b in pairs)
    machine = f"{hardware_line(hardware())}; Python {versions(())['python']}"
    print(
        f"\nrunner {pairs[0][0]:.2f} s, bare papermill {pairs[0][1]:.2f} s, added {added:.2f} s "
        f"(median of 5); {machine}"
    )
    assert added <= 0.5
