"""A run reads what it declares and nothing else, whichever way it reads."""

import json
import shutil
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest

from tests.toy import HEAD

# each way gives the number that the data hold; `here` is the folder of the data
WAYS = '''
import builtins, ctypes, glob, json, os, pathlib, shutil, sqlite3, subprocess, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np, pandas as pd, pyarrow.parquet, pyarrow.dataset


def library(path):
    libc = ctypes.CDLL(None)
    number = libc.open(os.fsencode(path), 0)
    if number < 0:
        raise OSError(path)
    buffer = ctypes.create_string_buffer(9)
    libc.read(number, buffer, 9)
    return buffer.value


def child(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


ONE = "import sys; print(open(sys.argv[1]).read())"
MODULE = "import sys; sys.path.insert(0, sys.argv[1]); import held; print(held.V)"
WAYS = {
    "open": lambda d: open(f"{d}/d.txt").read(),
    "pathlib": lambda d: pathlib.Path(d, "d.txt").read_text(),
    "os.open": lambda d: os.read(os.open(f"{d}/d.txt", os.O_RDONLY), 9),
    "sqlite": lambda d: sqlite3.connect(f"{d}/d.sqlite").execute("select v from t").fetchone()[0],
    "arrow": lambda d: pyarrow.parquet.read_table(f"{d}/d.parquet")["v"][0].as_py(),
    "dataset": lambda d: pyarrow.dataset.dataset(f"{d}/parts").to_table()["v"][0].as_py(),
    "pandas": lambda d: pd.read_parquet(f"{d}/d.parquet")["v"][0],
    "folder": lambda d: pd.read_parquet(f"{d}/parts")["v"][0],
    "memmap": lambda d: np.memmap(f"{d}/d.bin", dtype="f8", mode="r")[0],
    "ctypes": lambda d: library(f"{d}/d.txt"),
    "program": lambda d: child("cat", f"{d}/d.txt"),
    "python": lambda d: child(sys.executable, "-c", ONE, f"{d}/d.txt"),
    "isolated": lambda d: child(sys.executable, "-I", "-S", "-c", ONE, f"{d}/d.txt"),
    "module": lambda d: child(sys.executable, "-c", MODULE, d),
    "shell": lambda d: child("sh", "-c", f"read v < {d}/d.txt; echo $v"),
    "listing": lambda d: len(os.listdir(f"{d}/many")),
    "glob": lambda d: len(glob.glob(f"{d}/many/*")) or None,
    "exists": lambda d: {True: 2}[pathlib.Path(d, "flag").exists()],
    "stat": lambda d: os.stat(f"{d}/sized").st_size,
    "link": lambda d: open(f"{d}/link.txt").read(),
    "through": lambda d: open(f"{d}/linked/d.txt").read(),
    "copy": lambda d: open(shutil.copy(f"{d}/d.txt", "copied.txt")).read(),
}


def asked(folder):
    found = {}
    for name, way in WAYS.items():
        try:
            found[name] = float(way(folder))
        except Exception as error:
            found[name] = type(error).__name__
    return found
'''
NOTEBOOK = (
    HEAD
    + """---
(coin)=
# What a run reads

```{code-cell} ipython3
:tags: [parameters]
folder = "data"  # of the data
seed = 0  # unused
```

```{code-cell} ipython3
WAYS
from ntpcompanion.workflow import measure

print(json.dumps(asked(folder)))
measure("toy.half", 0.5)
measure("toy.powers", [1, 2])
```
"""
).replace("WAYS\n", WAYS, 1)


def write_data(folder, value):
    """The same number in every form."""
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("parts", "many", "behind"):
        (folder / part).mkdir(parents=True)
    for name in ("d.txt", "behind/d.txt"):
        (folder / name).write_text(str(value))
    with sqlite3.connect(folder / "d.sqlite") as base:
        base.execute("create table t (v real)")
        base.execute("insert into t values (?)", (value,))
    base.close()
    for name in ("d.parquet", "parts/a.parquet"):
        pd.DataFrame({"v": [float(value)]}).to_parquet(folder / name)
    for number in range(value):
        (folder / "many" / f"{number}.txt").touch()
    np.array([value], dtype="f8").tofile(folder / "d.bin")
    (folder / "sized").write_text("x" * value)
    (folder / "flag").touch()
    (folder / "held.py").write_text(f"V = {value}\n")
    (folder / "link.txt").symlink_to("behind/d.txt")
    (folder / "linked").symlink_to("behind")


def answers(toy, path=None):
    """What each way gave in a stored run."""
    node = json.loads((path or toy.project.book / "chapters" / "coin.ipynb").read_text())
    texts = ["".join(output.get("text", "")) for output in node["cells"][-1]["outputs"]]
    return json.loads(texts[0])


@pytest.fixture
def asking(toy):
    """A toy project whose notebook reads the folder `data` in every way."""
    (toy.project.notebooks / "coin.md").write_text(NOTEBOOK)
    (toy.project.notebooks / "profiles.yml").write_text("{}\n")
    write_data(toy.project.root / "data", 2)
    return toy


def values(toy, path=None):
    """The ways that gave a number."""
    return {way: value for way, value in answers(toy, path).items() if isinstance(value, float)}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux closes what lies elsewhere")
def test_whichever_way_a_run_reads_what_it_does_not_declare_is_not_there(asking, tmp_path):
    assert "coin (book): executed" in asking.command("execute", "coin")
    assert values(asking) == {}
    write_data(tmp_path / "data", 2)
    for place in (asking.project.root / "data", tmp_path / "data"):
        output = asking.command("execute", "coin", "-p", f"folder={place}", "--profile", "smoke")
        (stored,) = (asking.project.runs("smoke", custom=True)).glob("coin-*.ipynb")
        # to ask whether a file is there, and how large it is, opens nothing
        assert values(asking, stored).keys() <= {"exists", "stat"}
        assert f"a cell names {place}, which lies outside of what a run may read" in output
        stored.unlink()


def test_whichever_way_a_run_reads_a_change_of_what_it_declares_is_seen(asking):
    data = asking.project.root / "data"
    asking.edit("notebooks/coin.md", "---\n(coin)", "ntp: {files: [data]}\n---\n(coin)")
    asking.command("execute", "coin")
    assert set(answers(asking).values()) == {2.0}
    assert "up to date" in asking.command("why", "coin")
    for change in (
        lambda: (data / "behind" / "d.txt").write_text("3"),
        lambda: (data / "many" / "more").touch(),
        lambda: (data / "flag").unlink(),
        lambda: (data / "parts" / "empty").mkdir(),
    ):
        kept = shutil.copytree(data, data.with_name("kept"), symlinks=True)
        change()
        assert "coin (book): files: data/" in asking.command("why", "coin")
        shutil.rmtree(data)
        kept.rename(data)
    write_data(data, 3)
    assert "coin (book): executed" in asking.command("execute", "coin")
    assert set(answers(asking).values()) == {3.0, 2.0}, "that a flag is there is still 2"
