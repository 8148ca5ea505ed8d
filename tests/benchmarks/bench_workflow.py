"""The runner, the build, sweeps, pages, and the threads that the solvers choose."""

import contextlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jupytext
import numpy as np

from ntpcompanion.workflow.base.project import ONE_THREAD, Project
from ntpcompanion.workflow.base.provenance import usable_cores
from ntpcompanion.workflow.site.look import ASSETS
from ntpcompanion.workflow.starting.new_book import new_book
from tests.benchmarks.timing import about, clocked, turns
from tests.browsing import BROWSER, FLAGS, PATIENCE

PART = "Workflow"
BINARY = Path(sys.executable).parent
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


def call(command, folder):
    """Run a command in a folder; its error is that of the benchmark."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout)[-400:]}")


@about("What the runner adds to papermill, one notebook that computes nothing", PART)
def test_runner(timing):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notebooks").mkdir()
        (folder / "book").mkdir()
        (folder / "_config.yml").write_text("title: x\n")
        (folder / "book" / "_toc.yml").write_text("format: jb-book\nroot: intro\n")
        (folder / "notebooks" / "profiles.yml").write_text("")
        (folder / "notebooks" / "nothing.md").write_text(TEXT)
        jupytext.write(jupytext.reads(TEXT, fmt="md:myst"), folder / "nothing.ipynb")
        bare = [str(BINARY / "papermill"), "nothing.ipynb", "out.ipynb", "-p", "seed", "1"]
        ours = [str(BINARY / "ntpcompanion"), "execute", "--profile", "smoke", "--force"]
        mine, theirs = turns(
            lambda: call(ours, folder),
            lambda: call([*bare, "--no-progress-bar"], folder),
            budget=20,
            least=5,
        )
    added = [a - b for a, b in zip(mine, theirs, strict=True)]
    timing.amount("s", added, at_most=0.5, note="Both as whole processes, in turns.")


@contextlib.contextmanager
def small_book():
    """The book that `ntpcompanion init` makes."""
    with tempfile.TemporaryDirectory() as name:
        yield new_book(Path(name) / "small", "small", "A small book")


def build(folder):
    call([str(BINARY / "ntpcompanion"), "build"], folder)


@about("Building a small book from nothing", PART, busy=False)
def test_build_cold(timing):
    with small_book() as folder:
        timing.amount("s", [clocked(lambda: build(folder))])


@about("Building it again where nothing changed", PART)
def test_build_warm(timing):
    with small_book() as folder:
        build(folder)
        timing.amount("s", [clocked(lambda: build(folder)) for _ in range(3)])


@about("Building it again after an edit of its prose", PART, busy=False)
def test_build_prose(timing):
    with small_book() as folder:
        build(folder)
        notebook = folder / "notebooks" / "mean.md"
        found = []
        for number in range(2):
            text = notebook.read_text(encoding="utf-8")
            notebook.write_text(f"{text}\nA sentence, number {number}.\n", encoding="utf-8")
            found.append(clocked(lambda: build(folder)))
        timing.amount("s", found, note="No notebook is executed: its page is made again.")


def speedup(workers, runs=32, budget=60):
    """How many times as fast so many workers are as one, for two sweeps of so many runs each; again
    with other seeds, if the first two took no more than the budget, as one pair can be off by a
    quarter.
    """
    options = ["-p", "n=64", "-p", "means=60000", "--seeds"]
    found: list[float] = []

    def sweep(folder, first, jobs):
        command = [str(BINARY / "ntpcompanion"), "sweep", "spread", *options]
        return clocked(
            lambda: call([*command, f"{first}:{first + runs}", "--jobs", str(jobs)], folder)
        )

    with small_book() as folder:
        took = 0.0
        while len(found) < 2 and took <= budget:
            first = 2 * runs * len(found)
            alone, together = sweep(folder, first, 1), sweep(folder, first + runs, workers)
            found.append(alone / together)
            took += alone + together
    return found


@about("A sweep of 32 runs with two workers", PART, busy=False, threads=2)
def test_sweep_two(timing):
    timing.amount(
        "times as fast as with one", speedup(2), at_least=1.6, note="Start of the workers included."
    )


@about("A sweep of 32 runs with four workers", PART, busy=False, threads=4)
def test_sweep_four(timing):
    timing.amount(
        "times as fast as with one",
        speedup(4),
        note=f"Start of the workers included; there are {usable_cores()} cores.",
    )


# first paint of content; formulas set and typefaces there: seconds since the page was asked for
WAITED = """async () => {
  await window.MathJax?.startup?.promise;
  await document.fonts.ready;
  return performance.now() / 1000;
}"""


def without_ours(html):
    """A page as Jupyter Book would make it."""
    folders = (ASSETS, Project.find().book / "assets")
    names = [
        path.relative_to(folder).as_posix()
        for folder in folders
        for path in folder.rglob("*")
        if path.suffix in (".js", ".css")
    ]
    ours = "|".join(map(re.escape, names))
    added = [
        rf'<script[^>]* src="[^"]*_static/(?:{ours})(?:\?[^"]*)?"[^>]*></script>',
        rf'<link[^>]* href="[^"]*_static/(?:{ours})(?:\?[^"]*)?"[^>]*>',
        r'<script type="application/json"[^>]*>.*?</script>',
    ]
    return re.sub("|".join(added), "", html, flags=re.DOTALL)


def readable(play, address):
    """Seconds until a page is readable, in a browser that was never used."""
    with play.chromium.launch(executable_path=BROWSER, args=FLAGS) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(address, wait_until="commit")
        page.wait_for_load_state("domcontentloaded")
        return page.evaluate(WAITED)


@about("A chapter until it can be read, from disk, in a new browser", PART)
def test_page(timing):
    from playwright.sync_api import sync_playwright

    project, name = Project.find(), "chapters/ntp_svm.html"
    sites = [project.html(profile) for profile in ("book", "smoke")]
    built = [site for site in sites if (site / name).is_file()]
    if not BROWSER or not built:
        raise RuntimeError("needs Chromium and a built book: run `make book` first")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        plain = Path(folder)
        (plain / "chapters").mkdir()
        for shared in ("_static", "searchindex.js"):
            (plain / shared).symlink_to(built[0] / shared)
        html = (built[0] / name).read_text(encoding="utf-8")
        (plain / name).write_text(without_ours(html), encoding="utf-8")
        waited = [
            [readable(play, (site / name).as_uri()) for site in (built[0], plain)] for _ in range(5)
        ]
    ours, theirs = map(list, zip(*waited, strict=True))
    timing.paired(
        ours="this book", peer="plain Jupyter Book", our_seconds=ours, peer_seconds=theirs,
        at_least=0.67, note="The same page without what this book adds to the theme.",
    )  # fmt: skip


# threads of a process, 0 for the solvers' own choice, and what its environment says besides
SETTINGS = {
    "default": (0, {}),
    "1 thread": (1, {}),
    "2 threads": (2, {}),
    "2 threads, passive": (2, {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}),
}


@contextlib.contextmanager
def solving(threads, variables):
    """Ask a process with these settings to solve: a function of the request that returns seconds of
    the wall clock.
    """
    kept = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    command = [sys.executable, "-m", "tests.benchmarks.solving", str(threads)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env={**kept, **variables}) as process:
        assert process.stdout.readline() == "ready\n"

        def ask(request):
            print(request, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())[0]

        yield ask
        process.stdin.close()


def best_of_the_others(rounds):
    """For each round the column whose median is least in the other rounds: chosen by its own round,
    too, the best of several equal columns would look better than each of them is.
    """
    others = [np.delete(rounds, row, axis=0) for row in range(len(rounds))]
    return [int(np.median(each, axis=0).argmin()) for each in others]


def chosen_threads(timing, request, repeats=11):
    """The threads that a solver chooses against the best of the settings, each in a process of its
    own, in turns whose order changes.
    """
    with contextlib.ExitStack() as stack:
        asks = [stack.enter_context(solving(*setting)) for setting in SETTINGS.values()]
        orders = list(itertools.permutations(range(len(asks))))
        rounds = []
        for turn in range(repeats + 2):
            took = {i: asks[i](request) for i in orders[7 * turn % len(orders)]}
            rounds.append([took[i] for i in range(len(asks))])
    rounds = rounds[2:]
    best = best_of_the_others(rounds)
    names = dict.fromkeys(list(SETTINGS)[i] for i in best)
    timing.paired(
        ours="threads as chosen",
        peer=f"the best setting ({' or '.join(names)})",
        our_seconds=[row[0] for row in rounds],
        peer_seconds=[row[i] for row, i in zip(rounds, best, strict=True)],
        at_least=1 / 1.3,
    )


@about("Threads of the separability test, 100 contexts", "Threads", threads=2)
def test_threads_separability(timing):
    chosen_threads(timing, "separability 50 100 128 5")


@about("Threads of the SVM, 600 contexts and 300 tokens", "Threads", threads=2)
def test_threads_svm(timing):
    chosen_threads(timing, "svm 300 600 768 20", repeats=5)


@about("Threads of the nuclear-norm SVM, 100 contexts and 50 tokens", "Threads", threads=2)
def test_threads_nuclear(timing):
    chosen_threads(timing, "nuclear 50 100 8 5", repeats=7)


@about("Threads of the flow, 20 contexts", "Threads", threads=2)
def test_threads_flow(timing):
    chosen_threads(timing, "flow 10 20 25 3", repeats=22)
