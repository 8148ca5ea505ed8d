"""JupyterLab on a host that starts it itself, such as Binder: what `ntpcompanion lab` gives on the
command line is written where any JupyterLab of this environment reads it.

Run by `.binder/postBuild`: `python -m ntpcompanion.workflow.notebooks.hosted`.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.notebooks.lab import CONTENTS, OVERRIDES

SERVER = Path("etc", "jupyter", "jupyter_server_config.json")
VIEWERS = Path("share", "jupyter", "lab", "settings", "overrides.json")


def set_up(prefix: Path) -> None:
    """Let every JupyterLab of the environment at `prefix` open text notebooks by a click, and save
    them without laying them out anew. Other settings there are kept.
    """
    files: dict[Path, Mapping[str, Mapping[str, object]]] = {
        SERVER: {"ServerApp": {"contents_manager_class": CONTENTS}},
        VIEWERS: OVERRIDES,
    }
    for path, settings in files.items():
        present = json.loads((prefix / path).read_text()) if (prefix / path).is_file() else {}
        for name, values in settings.items():
            present[name] = {**present.get(name, {}), **values}
        write_atomically(prefix / path, json.dumps(present, indent=1) + "\n")


if __name__ == "__main__":
    set_up(Path(sys.prefix))
