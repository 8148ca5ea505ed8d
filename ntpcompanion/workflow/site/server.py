"""The built site over HTTP, on this machine: its files, and nothing else."""

import functools
import http.server
import os
from http import HTTPStatus
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError


def site_server(html: Path, port: int) -> http.server.ThreadingHTTPServer:
    """A server of the folder `html` at `127.0.0.1:port` (0: a free port), to be started by its
    method `serve_forever`.

    Raises WorkflowError for a port that does not exist, is taken, or is reserved.
    """
    try:
        return http.server.ThreadingHTTPServer(
            ("127.0.0.1", port), functools.partial(_Pages, directory=html)
        )
    except OverflowError:
        raise WorkflowError(f"`--port` must be from 0 to 65535, got {port}.") from None
    except OSError as error:
        raise WorkflowError(
            f"Port {port} cannot be used ({error.strerror}). Choose another with --port."
        ) from error


class _Pages(http.server.SimpleHTTPRequestHandler):
    """Files of the site. A folder without a page of its own, and a symbolic link out of the site,
    are not found.
    """

    def translate_path(self, path: str) -> str:
        target = super().translate_path(path)
        inside = "\0" not in target and Path(target).resolve().is_relative_to(
            Path(self.directory).resolve()
        )
        return target if inside else str(Path(self.directory, "not of this site"))

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        self.send_error(HTTPStatus.NOT_FOUND, "File not found")
