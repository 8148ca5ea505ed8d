"""What JupyterLab reads and writes, by the requests that it makes."""

import json
import os
import shutil

import pytest

from tests.toy import ROOT
from tests.workflow.notebooks.test_saving import MOST_SLOW, NOTEBOOKS, changed_lines

if not os.environ.get("CI"):
    pytest.importorskip("jupyter_server", reason="no JupyterLab here; `make test` installs it")
from ntpcompanion.workflow.notebooks.jupyter_contents import TextNotebooks


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("a project")
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    shutil.copy2(ROOT / "pyproject.toml", root)
    return root


def opened(manager, path):
    """The notebook as it reaches a browser."""
    return json.loads(json.dumps(manager.get(path, type="notebook")["content"]))


def saved(manager, path, content):
    return manager.save({"type": "notebook", "format": "json", "content": content}, path)


def ran(content):
    """As a kernel and JupyterLab leave it."""
    for number, cell in enumerate(cell for cell in content["cells"] if cell["cell_type"] == "code"):
        cell["execution_count"] = number
        cell["metadata"] |= {"trusted": True, "execution": {"iopub.status.idle": "2026"}}
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "seen\n"}]
    content["metadata"]["kernelspec"]["display_name"] = "Python 3 (ipykernel)"
    content["metadata"]["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return content


@pytest.mark.parametrize("source", MOST_SLOW, ids=lambda path: path.stem)
def test_a_notebook_is_saved_byte_for_byte_also_after_a_run(folder, source):
    manager, path = TextNotebooks(root_dir=str(folder)), folder / "notebooks" / source.name
    before = path.read_bytes()
    content = opened(manager, f"notebooks/{source.name}")
    assert [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    saved(manager, f"notebooks/{source.name}", content)
    assert path.read_bytes() == before
    saved(manager, f"notebooks/{source.name}", ran(content))
    assert path.read_bytes() == before


def test_a_save_changes_one_line_and_says_when_the_file_was_written(folder):
    manager, path = TextNotebooks(root_dir=str(folder)), folder / "notebooks" / "adam.md"
    before = path.read_text()
    content = opened(manager, "notebooks/adam.md")
    parameters = next(cell for cell in content["cells"] if cell["cell_type"] == "code")
    parameters["source"] = parameters["source"].replace("num_contexts = 50", "num_contexts = 40")
    model = saved(manager, "notebooks/adam.md", content)
    assert [line[:19] for line in changed_lines(before, path.read_text())] == [
        "-num_contexts = 50 ",
        "+num_contexts = 40 ",
    ]
    # else JupyterLab asks at the next save whether to overwrite a file that somebody has changed
    assert (
        model["last_modified"] == manager.get("notebooks/adam.md", content=False)["last_modified"]
    )
    assert model["type"] == "notebook"
    assert model["content"] is None


def test_records_stay_listed_where_nothing_configures_jupytext(tmp_path):
    shutil.copy2(ROOT / "notebooks" / "adam.md", tmp_path)
    manager = TextNotebooks(root_dir=str(tmp_path))
    content = opened(manager, "adam.md")
    content["cells"][0]["source"] += "\n\nAdded."
    saved(manager, "adam.md", content)
    assert "records: [adam_bias]" in (tmp_path / "adam.md").read_text()


def test_other_files_are_saved_as_they_are(tmp_path):
    manager = TextNotebooks(root_dir=str(tmp_path))
    (tmp_path / "page.md").write_text("# A page\n\nText.\n")
    saved(manager, "page.md", opened(manager, "page.md"))
    assert (tmp_path / "page.md").read_text() == "# A page\n\nText.\n"
    manager.save({"type": "file", "format": "text", "content": "a: 1\n"}, "profiles.yml")
    assert (tmp_path / "profiles.yml").read_text() == "a: 1\n"
    text = NOTEBOOKS[0].read_text().replace("[parameters]", "[ parameters ]")  # in a text editor
    (tmp_path / "adam.md").write_text(NOTEBOOKS[0].read_text())
    manager.save({"type": "file", "format": "text", "content": text}, "adam.md")
    assert (tmp_path / "adam.md").read_text() == text


def test_a_new_notebook_and_an_ipynb_are_jupytexts_business(tmp_path):
    manager = TextNotebooks(root_dir=str(tmp_path))
    assert manager.new_untitled(type="notebook")["path"] == "Untitled.ipynb"
    content = opened(manager, "Untitled.ipynb")
    saved(manager, "new.md", content)
    assert (tmp_path / "new.md").read_text().startswith("---\njupyter")
    (tmp_path / "latin.md").write_bytes("# Caf\u00e9\n".encode("latin-1"))
    saved(manager, "latin.md", content)  # over what was no text in UTF-8
    assert (tmp_path / "latin.md").read_text().startswith("---\njupyter")
