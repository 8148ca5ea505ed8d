"""How JupyterLab is started: in the project, with folders of its own."""

import json
import os
import sys

import pytest

from ntpcompanion.workflow.notebooks import lab


class Replaced(Exception):
    """This process is another program now."""


@pytest.fixture
def started(toy, monkeypatch):
    """A function that starts it; what would have replaced this process."""
    monkeypatch.setattr(lab, "NEEDED", ())
    monkeypatch.setattr(sys, "platform", "linux")

    def start(*arguments):
        def execve(*given):
            raise Replaced(given)

        monkeypatch.setattr(os, "execve", execve)
        with pytest.raises(Replaced) as caught:
            lab.start_lab(toy.project, arguments)
        return caught.value.args[0]

    return start


def test_it_serves_the_project_and_opens_text_notebooks_by_a_double_click(started, toy):
    program, command, environment = started("--port=9999")
    assert program == sys.executable
    assert f"--ServerApp.root_dir={toy.project.root}" in command
    assert f"--ContentsManager.preferred_dir={toy.project.notebooks}" in command
    assert command[-1] == "--port=9999"
    folder = toy.project.build / "lab" / "config" / "labconfig"
    assert environment["JUPYTER_CONFIG_DIR"] == str(folder.parent)
    overrides = json.loads((folder / "default_setting_overrides.json").read_text())
    viewers = overrides["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers["markdown"] == "Jupytext Notebook"


def test_it_keeps_nothing_at_home_and_heeds_no_settings_of_the_user(started, toy, monkeypatch):
    monkeypatch.setenv("JUPYTERLAB_SETTINGS_DIR", "/home/user/.jupyter/lab")
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", "/home/user/.jupyter")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    _, _, environment = started()
    kept = {name: value for name, value in environment.items() if "JUPYTER" in name}
    assert len(kept) == 3
    assert all(value.startswith(str(toy.project.build / "lab")) for value in kept.values())
    assert environment["IPYTHONDIR"].startswith(str(toy.project.build / "lab"))
    # kernels are those of a run of the book: its package first, one thread, figures inline
    assert environment["PYTHONPATH"].startswith(str(toy.project.package.parent))
    assert environment["OMP_NUM_THREADS"] == "1"
    assert "inline" in environment["MPLBACKEND"]


def test_a_click_opens_a_notebook(tmp_path):
    settings = tmp_path / lab.VIEWERS
    settings.parent.mkdir(parents=True)
    settings.write_text('{"another": {"port": 1234}}')
    lab.set_up(tmp_path)
    assert json.loads(settings.read_text()) == {"another": {"port": 1234}, **lab.OVERRIDES}
