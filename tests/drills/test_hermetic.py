"""A run reads what it declares and nothing else, whichever way it reads."""

import json
import shutil
import sqlite3
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ntpcompanion.workflow.records.record import load_record
from tests.marks import slow
from tests.toy import HEAD

# each way gives the number that the data hold; `here` is the folder of the data
WAYS = """
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
"""
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


EXPERIMENT = """DECLARED
WAYS

def run(plan):
    return Result(value=asked((str(ROOT) + "/" if plan.n else "") + "data"))
"""


@pytest.fixture
def swept(toy):
    """A function: what each way gives in a task, by a relative path or with `n` by the full one."""
    write_data(toy.project.root / "data", 2)

    def write(declared, n=0, code=0):
        text = EXPERIMENT.replace("WAYS\n", WAYS, 1).replace("DECLARED", declared, 1)
        toy.write_experiment("asks", text)
        plan = {"experiment": "asks", "about": "Reads.", "grid": {"n": [n]}}
        toy.plan_records(asks=plan)
        output = toy.run("record", "asks", code=code, PYTHONPATH=str(toy.project.root))
        stored = json.loads((toy.project.records / "asks.json").read_text())
        ways = stored["results"][0]["result"]["value"].items()
        return {way: value for way, value in ways if isinstance(value, float)}, output, stored

    return write


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux closes what lies elsewhere")
def test_whichever_way_a_task_reads_it_has_what_its_experiment_declares(swept, toy):
    got, output, stored = swept("")
    assert (got, stored["inputs"]) == ({}, {})
    assert (
        "the experiment 'asks' names data/d.txt, which lies in the project and is not declared"
        in output
    )
    assert 'Add it to `FILES = ("data/d.txt",)` in the module of the experiment' in output
    got, _, stored = swept("", n=1)
    assert got.keys() <= {"exists", "stat"}
    got, output, stored = swept('FILES = ("data",)')
    assert set(got.values()) == {2.0}
    assert stored["inputs"].keys() >= {"data", "data/d.txt", "data/many", "data/behind/d.txt"}
    for change in (
        lambda: (toy.project.root / "data" / "behind" / "d.txt").write_text("3"),
        lambda: (toy.project.root / "data" / "many" / "more").touch(),
        lambda: (toy.project.root / "data" / "flag").unlink(),
    ):
        change()
        assert load_record(toy.project, "asks").outdated
        write_data(toy.project.root / "data", 2)
        assert load_record(toy.project, "asks").outdated == []


CELL = """from ntpcompanion.workflow import measure
{code}
measure("toy.half", value)
measure("toy.powers", [1, 2])
"""


@pytest.fixture
def given(toy):
    """A function: have the notebook of the toy project compute `value` by some code."""

    def write(code, front=""):
        head = NOTEBOOK.partition("import builtins")[0]
        text = head + CELL.format(code=code) + "```\n"
        (toy.project.notebooks / "coin.md").write_text(
            text.replace("---\n(coin)", f"{front}---\n(coin)")
        )
        (toy.project.notebooks / "profiles.yml").write_text("{}\n")
        return toy

    return write


def value_of(toy):
    """The first number of the stored run."""
    stored = json.loads((toy.project.book / "chapters" / "coin.json").read_text())
    return stored["measurements"][0]["value"]


@pytest.mark.parametrize(
    ("files", "code", "named"),
    [
        (["data/d.txt"], "value = float(open('data/d.txt').read())", "data/d.txt"),
        (["helper.py"], "from helper import value", "helper.py"),
        *slow(
            (["data/d.txt"], "value = float(open('data' + '/d.txt').read())", "data/d.txt"),
            (
                ["data/t.db"],
                "import sqlite3\nsqlite3.connect('data/t.db').execute('select')",
                "data/t.db",
            ),
            (["notebooks/helper.py"], "import helper\nvalue = 1", "notebooks/helper.py"),
        ),
    ],
)
def test_what_is_missing_is_named_with_how_to_declare_it(given, files, code, named):
    toy = given(code)
    for name in files:
        (toy.project.root / name).parent.mkdir(exist_ok=True)
        (toy.project.root / name).write_text("1.0")
    output = toy.command("execute", "coin", code=1)
    assert f"a cell names {named}, which lies in the project and is not declared" in output
    assert f"Add it to the front matter, `ntp: {{files: [{named}]}}`" in output


def test_a_variable_of_the_user_is_named_and_counts_where_the_settings_name_it(given, monkeypatch):
    toy = given("import os\nvalue = float(os.environ['LAB_VALUE'])")
    monkeypatch.setenv("LAB_VALUE", "3")
    output = toy.command("execute", "coin", code=1)
    assert (
        "a cell names 'LAB_VALUE', a variable of your environment that a run does not have"
        in output
    )
    settings = replace(toy.project.settings, environment=("LAB_VALUE",))
    toy.project = replace(toy.project, settings=settings)
    toy.command("execute", "coin")
    assert value_of(toy) == 3
    monkeypatch.setenv("LAB_VALUE", "4")
    assert toy.command("why", "coin") == "coin (book): environment: LAB_VALUE changed"


@pytest.mark.slow
def test_code_that_was_installed_to_be_edited_is_noted_and_counts(given, tmp_path, monkeypatch):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "lab_utils_xyz.py").write_text("X = 5.0\n")
    monkeypatch.syspath_prepend(str(tmp_path / "lab"))  # as a `.pth` file does
    toy = given("from lab_utils_xyz import X as value")
    assert f"note: it imports {tmp_path / 'lab'}" in toy.command("execute", "coin")
    assert value_of(toy) == 5
    (tmp_path / "lab" / "lab_utils_xyz.py").write_text("X = 6.0\n")
    assert "lab_utils_xyz.py changed" in toy.command("why", "coin")
    toy.command("execute", "coin")
    assert value_of(toy) == 6


def test_a_declared_path_must_be_one_of_the_project(given, tmp_path):
    for path, words in {
        "none.txt": "but there is no",
        "../words.txt": "is not a path below",
        "/etc/passwd": "is not a path below",
        ".": "is not a path below",
    }.items():
        toy = given("value = 1", f"ntp: {{files: [{path!r}]}}\n")
        assert words in toy.command("execute", "coin", code=1)


@pytest.mark.slow
def test_what_a_run_writes_is_handed_to_its_user(given):
    toy = given("open('out.txt', 'w').write('mine')\nvalue = 1")
    output = toy.command("execute", "coin")
    assert (
        "note: it wrote files in its own folder, which is removed; they are in "
        "book/chapters/coin-files." in output
    )
    assert (toy.project.book / "chapters" / "coin-files" / "out.txt").read_text() == "mine"
    assert not (toy.project.root / "out.txt").exists()


# what a library may do to the interpreter that imports it
LEAKS = {
    "patches.py": "import math\nmath.hypot = lambda *_: 9.0\n",
    "pools.py": "import threading as t\nt.Thread(target=t.Event().wait, daemon=True).start()\n",
    "exits.py": "import atexit, os\natexit.register(os._exit, 3)\n",
    "hides.py": "import sys, types\nsys.modules['json.tool'] = types.ModuleType('json.tool')\n",
}


@pytest.mark.slow
def test_what_a_library_does_on_import_ends_with_its_run(given):
    toy = given("import math, json.tool\nvalue = math.hypot(3, 4) if json.tool.main else 0")
    for name, code in LEAKS.items():
        (toy.project.root / name).write_text(code)
    names = ", ".join(LEAKS)
    toy.edit("notebooks/words.md", "{inputs: [text]}", f"{{inputs: [text], files: [{names}]}}")
    modules = ", ".join(name.removesuffix(".py") for name in LEAKS)
    toy.edit("notebooks/words.md", "from pathlib", f"import {modules}\nfrom pathlib")
    output = toy.command("execute", "words", "coin", "--jobs", "1")
    assert output.count("executed") == 2
    assert value_of(toy) == 5


@pytest.mark.parametrize(
    "code",
    [
        "%%capture\nmeasure('toy.half', 1)",
        "import multiprocessing\nprocess = multiprocessing.get_context('fork').Process("
        "target=measure, args=('toy.half', 1))\nprocess.start()\nprocess.join()",
        *slow(
            ("measure('toy.half', 1)\nfrom IPython.display import clear_output\nclear_output()",),
            (
                "from IPython.utils.capture import capture_output\nwith capture_output():\n"
                "    measure('toy.half', 1)",
            ),
        ),
    ],
    ids=["capture", "forked", "cleared", "captured"],
)
def test_a_measurement_that_reaches_no_output_is_an_error(given, code):
    toy = given("value = 1")
    text = (toy.project.notebooks / "coin.md").read_text()
    cell = f"```{{code-cell}} ipython3\n{code}\n```\n"
    text = text.replace('measure("toy.half", value)\n', "") + "\n" + cell
    (toy.project.notebooks / "coin.md").write_text(text)
    output = toy.command("execute", "coin", code=1)
    assert "called measure('toy.half', ...), and its value reached no output of a cell" in output
    assert not (toy.project.book / "chapters").exists()


@pytest.mark.slow
def test_a_flood_of_outputs_is_bounded_and_no_measurement_is_lost(given):
    toy = given(
        "from IPython.display import display\nfor i in range(20_000):\n    print(i)\n"
        "for i in range(300):\n    display(i)\nvalue = 1"
    )
    output = toy.command("execute", "coin")
    bounds = "1000 lines, 200000 characters or 200 outputs"
    assert f"note: code cell 2 showed more than {bounds}" in output
    node = json.loads((toy.project.book / "chapters" / "coin.ipynb").read_text())
    kinds = [output["output_type"] for output in node["cells"][-1]["outputs"]]
    assert kinds.count("display_data") == 202
    text = "".join("".join(output.get("text", "")) for output in node["cells"][-1]["outputs"])
    assert text.count("\n") < 1010
    assert "more, which are not kept." in text
    assert value_of(toy) == 1


@pytest.mark.slow
def test_a_package_with_the_line_ends_of_windows_is_the_same_code(toy):
    toy.command("execute", "coin")
    source = toy.project.package / "two.py"
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert "coin (book) is up to date" in toy.command("why", "coin")
    assert "executed" in toy.command("execute", "coin", "--force")
    assert value_of(toy) == 0.5


@pytest.mark.slow
def test_clock_language_and_settings_of_the_user_are_not_those_of_a_run(
    given, tmp_path, monkeypatch
):
    code = "import locale, time, matplotlib\nvalue = matplotlib.rcParams['lines.linewidth']"
    toy = given(f"{code} + time.localtime(0).tm_hour + len(locale.format_string('%.1f', 0.5))")
    settings = {
        ".config/matplotlib/matplotlibrc": "lines.linewidth: 7\n",
        ".ipython/profile_default/startup/00.py": "import time\ntime.localtime = None\n",
        ".ipython/profile_default/ipython_kernel_config.py": "c.IPKernelApp.exec_lines = ['1/0']\n",
    }
    for name, text in settings.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (toy.project.root / "matplotlibrc").write_text("lines.linewidth: 9\n")
    for name, place in {
        "HOME": "",
        "IPYTHONDIR": ".ipython",
        "MPLCONFIGDIR": ".config/matplotlib",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    for name, text in {"TZ": "Pacific/Kiritimati", "LC_ALL": "de_DE.UTF-8", "LANG": "de"}.items():
        monkeypatch.setenv(name, text)
    toy.command("execute", "coin")
    assert value_of(toy) == 4.5
