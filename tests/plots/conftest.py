import matplotlib as mpl
import pytest

mpl.use("agg")

from matplotlib import pyplot

from ntpcompanion import plots
from ntpcompanion.languages import count_contexts

LENGTHS = [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def style():
    with mpl.rc_context():
        plots.use_style()
        yield
        pyplot.close("all")


@pytest.fixture
def counts(rng):
    return count_contexts(rng.integers(0, 4, 200), 4, LENGTHS)


@pytest.fixture
def ax():
    return plots.figure()[1][0]
