"""What JupyterLab reads and writes, by the requests that it makes."""

import json
import os
import shutil

import pytest

from tests.toy import COIN, ROOT
from tests.workflow.base.test_texts import AMBIGUOUS
from tests.workflow.notebooks.test_saving import MOST_SLOW, NOTEBOOKS, changed_lines

if not os.environ.get("CI"):
    pytest.importorskip("jupyter_server", reason="no JupyterLab here; `make test` installs it")
from tornado.web import HTTPError

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
    saved(manager, "latin.md", content)  # over what was not text in UTF-8
    assert (tmp_path / "latin.md").read_text().startswith("---\njupyter")


@pytest.fixture
def lab(tmp_path):
    """A manager of a folder with the notebook of the toy project, the path of that, and what an
    editor holds of it.
    """
    path = tmp_path / "coin.md"
    path.write_text(COIN)
    manager = TextNotebooks(root_dir=str(tmp_path))
    return manager, path, opened(manager, "coin.md")


def test_a_mark_and_the_line_ends_of_windows_stay_after_an_edit(lab):
    manager, path, content = lab
    path.write_bytes(before := b"\xef\xbb\xbf" + COIN.replace("\n", "\r\n").encode())
    cells = [*map(essence, content["cells"])]
    content = opened(manager, "coin.md")
    assert [*map(essence, content["cells"])] == cells
    saved(manager, "coin.md", content)
    assert path.read_bytes() == before
    content["cells"][-1]["source"] += "\nadded = 1"
    saved(manager, "coin.md", content)
    assert path.read_bytes() == before[: -len("```\r\n")] + b"added = 1\r\n```\r\n"


def caption(text):
    return {"mystnb": {"figure": {"caption": text}}}


@pytest.mark.parametrize("character", AMBIGUOUS, ids=ascii)
def test_what_may_end_a_line_is_not_saved(lab, character):
    manager, path, content = lab
    text, words = f"one\ntwo{character}three", rf"line \d+: U\+{ord(character):04X} \("
    for cell, change in ((0, {"source": text}), (-1, {"source": text})):
        changed = [*content["cells"]]
        changed[cell] = changed[cell] | change
        with pytest.raises(HTTPError, match=r"coin.md, cell \d \('one.*" + words):
            saved(manager, "coin.md", content | {"cells": changed})
    changed = [*content["cells"][:-1], content["cells"][-1] | {"metadata": caption(text)}]
    try:
        saved(manager, "coin.md", content | {"cells": changed})
    except HTTPError:
        assert path.read_text() == COIN
    else:
        assert opened(manager, "coin.md")["cells"][-1]["metadata"] == caption(text)
    path.write_text(stored := COIN.replace("Prose", text), encoding="utf-8", newline="")
    with pytest.raises(HTTPError, match=rf"The stored notebook, {words}"):
        saved(manager, "coin.md", content)
    assert path.read_bytes() == stored.encode(), "a text editor opens it, and can fix it"
    assert manager.get("coin.md", type="file")["content"] == stored


def test_a_pasted_picture_is_named_and_nothing_is_saved(lab):
    manager, path, content = lab
    cell = content["cells"][0]
    cell["attachments"] = {"a b.png": {"image/png": "iVBORw0KGgo="}}
    cell["source"] += "\n\n![image](attachment:a%20b.png)"
    with pytest.raises(HTTPError, match=r"cell 1 .*a picture was pasted.*as a file in book/assets"):
        saved(manager, "coin.md", content)
    assert path.read_text() == COIN
    cell["source"] = cell["source"].replace("attachment:", "../assets/")  # nothing shows it now
    saved(manager, "coin.md", content)
    assert "../assets/a%20b.png" in path.read_text()


def essence(cell):
    return cell["cell_type"], cell["source"].strip(), cell["metadata"]
