"""Shared by all tests: draws that are the same in every run."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings
from jaxtyping import config

from tests.array_checks import checks  # before a module of the package is loaded
from tests.browsing import BROWSER, FLAGS, PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

TESTS = Path(__file__).parent

settings.register_profile(
    "derandomized", derandomize=True, deadline=None, max_examples=60, database=None
)
settings.load_profile("derandomized")


# The tests of these packages compute in floating point.
NUMERICAL = {
    "linear", "geometry", "flatness", "dyck", "languages", "networks", "attention", "capacity",
    "planning", "generalization", "adaptation", "mlm", "experiments",
}  # fmt: skip


# each reads every page of the book in many looks, which takes longer than any other file
LONGEST = {"test_book_from_disk.py", "test_book_over_http.py"}

MOST = 8  # processes that test: each holds up to two GiB


def pytest_configure() -> None:
    """A script's background job ignores Ctrl-C, and so would all that the tests start. They get one
    thread each, unless more are asked for: the processes that test fill the cores.
    """
    # of NumPy, SciPy and torch in all processes that are started from now on
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, as some test waits for a program most of the time."""
    from ntpcompanion.workflow.base.provenance import usable_cores  # after array_checks

    return min(usable_cores() + 1, MOST)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """While modules are loaded and tests are made, all of which stay, there is no garbage; to look
    for it would take a seventh of the time.
    """
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Mark what `make portable` runs under other kernels, and as slow what needs a browser; deal
    out the files of the tests that are chosen so that no process waits for another.
    """
    for item in items:
        if _computes(item.path):
            item.add_marker(pytest.mark.numerical)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    yield
    if hasattr(config, "workerinput"):  # of pytest-xdist, which takes the files in their order
        items[:] = dealt(items)


def pytest_runtest_logstart() -> None:
    """Each test has its own share of checks of types and shapes."""
    checks.start()


def _computes(path: Path) -> bool:
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).parts[0] in NUMERICAL


def dealt(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests file by file: first the files whose tests may start programs, be they few, then
    those that compute; of either first the files with most tests.

    The smoke runs and their site take minutes to make. What reads them and takes longest comes
    before all others, or any one file that reads them, and the rest after those that start
    programs: what would wait for it has something else to do.
    """
    tests = Counter(item.path for item in items)
    readers = {item.path for item in items if _reads_site(item)}
    first = {path for path in tests if path.name in LONGEST}
    first = first or {*sorted(readers, key=lambda path: (-tests[path], path))[:1]}

    def place(item: pytest.Item) -> tuple[bool, bool, bool, int, Path]:
        path = item.path
        return path not in first, _computes(path), path in readers, -tests[path], path

    return sorted(items, key=place)


def _reads_site(item: pytest.Item) -> bool:
    """Whether its file reads the smoke site, as slow tests do, or runs the notebooks."""
    module = getattr(item, "module", None)
    site = hasattr(module, "smoke_site") or "any_site" in getattr(item, "fixturenames", ())
    return hasattr(module, "smoke_runs") or (site and item.get_closest_marker("slow") is not None)


# of a module: one that lived on would be in the way of other tests that start a browser
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A headless browser that knows no host but this machine."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    if BROWSER is None and not os.environ.get("CI"):
        pytest.skip("no Chromium on this machine; `make browser` gets one or says how")
    assert BROWSER, "Chromium is needed under CI; `make browser` gets one or says how"
    with (
        sync_playwright() as play,
        play.chromium.launch(executable_path=BROWSER, args=FLAGS) as browser,
    ):
        yield browser


@pytest.fixture
def visit(browser: "Browser") -> Iterator[Callable[..., "Page"]]:
    """A function that opens an address offline in a window of its width; pages with equal options
    share what a browser stores. What a script or the console says is wrong fails the test; pages
    made by hand, which are not `whole`, do without some files.
    """
    contexts: dict[str, BrowserContext] = {}
    faults: list[str] = []

    def opened(
        address: str, width: int = 1280, height: int = 900, whole: bool = False, **options: Any
    ) -> "Page":
        def hear(said: "ConsoleMessage") -> None:
            if said.type in ("error", "warning") and (whole or "Failed to load" not in said.text):
                faults.append(said.text)

        look = {"viewport": {"width": width, "height": height}, "offline": True, **options}
        context = contexts.get(str(look)) or browser.new_context(**look)
        context.set_default_timeout(PATIENCE)
        page = contexts.setdefault(str(look), context).new_page()
        page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        page.on("console", hear)
        page.goto(address)
        return page

    yield opened
    for context in contexts.values():
        context.close()
    assert faults == []


@pytest.fixture(scope="module", params=["smoke", "book"])
def any_site(request: pytest.FixtureRequest) -> Path:
    """The folder of the smoke site, then that of the book, if one is built here."""
    from tests.built import built_book
    from tests.smoke import smoke_site

    return smoke_site() if request.param == "smoke" else built_book()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240228)


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """What a user meets: outside of tests no annotation is enforced, and the function's own words
    must say what is wrong.
    """
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)
