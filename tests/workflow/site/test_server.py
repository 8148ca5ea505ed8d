import http.client
import threading

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.site.server import site_server


@pytest.fixture
def ask(tmp_path):
    """A function: the status and the text of a path of a site with a page, a folder, and links
    inside and out of it.
    """
    html = tmp_path / "html"
    (html / "chapters").mkdir(parents=True)
    (html / "index.html").write_text("the start")
    (html / "chapters" / "coin.html").write_text("a coin")
    (tmp_path / "secret.txt").write_text("secret")
    for name, target in (
        ("out.txt", tmp_path / "secret.txt"),
        ("above", tmp_path),
        ("again.html", html / "index.html"),
    ):
        (html / name).symlink_to(target)
    with site_server(html, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()

        def answer(path):
            connection = http.client.HTTPConnection(*server.server_address)
            connection.request("GET", path)
            response = connection.getresponse()
            found = response.status, response.read().decode()
            connection.close()
            return found

        yield answer
        server.shutdown()
        thread.join()


def test_pages_are_shown_and_neither_listings_nor_what_is_outside(ask):
    assert ask("/") == ask("/index.html") == ask("/again.html") == (200, "the start")
    assert ask("/chapters/coin.html") == (200, "a coin")
    for path in (
        "/chapters/",
        "/out.txt",
        "/above/secret.txt",
        "/above/",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/none.html",
        "/%00",
    ):
        status, text = ask(path)
        assert (status, "secret" in text, "coin.html" in text) == (404, False, False), path


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_a_port_that_does_not_exist_is_named(tmp_path, port):
    with pytest.raises(WorkflowError, match=rf"`--port` must be from 0 to 65535, got {port}."):
        site_server(tmp_path, port)


def test_a_port_that_is_taken_is_named(tmp_path):
    with (
        site_server(tmp_path, 0) as server,
        pytest.raises(WorkflowError, match=r"Port \d+ cannot be used \(.*in use\). Choose another"),
    ):
        site_server(tmp_path, server.server_port)
