from pathlib import Path

import nbformat
import pytest

from ntpcompanion.workflow.chapters.downloads import downloads
from ntpcompanion.workflow.chapters.figures import NARROW_MIME, SVG_MIME, inline_figures
from ntpcompanion.workflow.chapters.widgets import load_widgets
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.notebooks.cells import code_cells


def files(toy, name):
    (run,) = toy.runs(names=[name])
    toy.execute(names=[name])
    return downloads(run.notebook, nbformat.read(run.page, 4)), run


def test_the_notebook_has_all_code_and_outputs_and_nothing_of_a_page(instant):
    (content, run) = files(instant, "coin")
    node = nbformat.reads(content["coin.ipynb"], as_version=4)
    nbformat.validate(node)
    assert node.cells[0].source == run.notebook.node.cells[0].source
    defaults, injected, code = code_cells(node)
    own = [cell.source for cell in code_cells(run.notebook.node)]
    assert [defaults.source, code.source] == own
    assert injected.source == "n = 1000  # throws\nseed = 0  # of the generator"
    shown = [set(output.data) for output in code.outputs]
    assert shown == [{MEASUREMENT_MIME, "text/plain"}] * 2
    assert node.metadata["kernelspec"]["name"] == "python3"
    assert content["coin.md"] == Path(run.notebook.path).read_text()


@pytest.fixture
def shown(instant):
    """A function: the chapter as it ran, whose last cell has shown this, and what it offers."""
    instant.execute(names=["coin"])
    (run,) = instant.runs(names=["coin"])
    executed = nbformat.read(run.page, 4)

    def make(data):
        code_cells(executed)[-1].outputs = [nbformat.v4.new_output("display_data", data)]
        return executed, lambda: downloads(run.notebook, executed)

    return make


def test_a_figure_is_the_picture_of_the_run(shown):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'
    executed, offered = shown({SVG_MIME: svg, NARROW_MIME: svg, "text/plain": "a figure"})
    inline_figures(executed)
    (output,) = code_cells(nbformat.reads(offered()["coin.ipynb"], 4))[-1].outputs
    assert output.data == {SVG_MIME: svg, "text/plain": "a figure"}
    assert output.metadata == {}


def test_an_interactive_figure_is_that_of_the_run_after_a_build_too(shown):
    html = '<figure class="ntp-widget" data-widget="plane"></figure>'
    executed, offered = shown({"text/html": html})
    before = offered()
    load_widgets(executed, ["plane"], "coin")
    assert code_cells(executed)[-1].outputs[0].data["text/html"] != html
    assert offered() == before
