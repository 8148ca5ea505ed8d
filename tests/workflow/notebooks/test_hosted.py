"""JupyterLab as a host starts it: with no options, in an environment that was set up once."""

import json
import os
import subprocess
import sys

from ntpcompanion.workflow.notebooks import hosted, lab


def test_a_server_that_is_started_without_options_keeps_text_notebooks(tmp_path):
    config = tmp_path / hosted.SERVER
    config.parent.mkdir(parents=True)
    config.write_text('{"ServerApp": {"port": 1234}}')
    hosted.set_up(tmp_path)
    environment = {k: v for k, v in os.environ.items() if "JUPYTER" not in k}
    environment |= {
        "JUPYTER_CONFIG_PATH": str(tmp_path / "etc" / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "none"),
    }
    command = [sys.executable, "-m", "jupyter_server", "--show-config-json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    shown = json.loads(done.stdout)["ServerApp"]
    assert (shown["contents_manager_class"], shown["port"]) == (lab.CONTENTS, 1234)


def test_a_click_opens_a_notebook(tmp_path):
    hosted.set_up(tmp_path)
    written = json.loads((tmp_path / "share/jupyter/lab/settings/overrides.json").read_text())
    assert written == lab.OVERRIDES
