"""The command line, called in this process; kernels only where a command is about running them."""

import http.client
import threading

import pytest
from typer.testing import CliRunner

from ntpcompanion import cli
from ntpcompanion.workflow.project import Project


@pytest.fixture
def run(toy):
    return toy.command


def test_execute_check_why_and_list(run, toy):
    assert "never run" in run("list")
    assert "coin (book): executed" in run("execute")
    assert "no baseline yet (ours 0.5)" in run("check", "--profile", "book", code=1)
    assert "Wrote" in run("check", "--profile", "book", "--update")
    assert "3 measured values agree with book.json" in run("check", "--profile", "book")
    assert "coin (book) is up to date: key" in run("why", "coin")
    toy.edit("toypkg/half.py", "n / TWO", "n / TWO + 0.011 * n")
    assert "coin (book): package source: half.py changed" in run("why", "coin")
    assert "Run `ntpcompanion execute` first" in run("check", "--profile", "book", code=1)
    run("execute", "coin")
    assert "toy.half: baseline 0.5, now 0.511, moved 0.011, band ± 0.005" in run("check", "--profile", "book", code=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["execute", "coin", "-p", "m=1"], "error: Notebook 'coin' has no parameter 'm'."),
        (["execute", "coin", "-p", "n=many"], "parameter `n` must be of type int, like 1000, got 'many'"),
        (["execute", "-p", "n=1"], "`-p` needs one notebook"),
        (["execute", "coyn"], "No notebook 'coyn'. Did you mean 'coin'? Known: coin, words."),
        (["execute", "--profile", "bock"], "No profile 'bock'. Did you mean 'book'?"),
        (["record", "x"], "No record 'x'. Known: none."),
        (["serve"], "There is no site in"),
    ],
)
def test_mistakes_are_sentences(run, arguments, words):
    assert words in run(*arguments, code=1)


def test_a_command_finds_its_project_from_below_and_says_when_there_is_none(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(toy.project.book / "records")
    assert Project.find().root == toy.project.root
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.app, ["list"])
    assert result.exit_code == 1
    assert "Change into the checkout." in " ".join(result.output.split())


def test_overrides_say_where_the_outcome_is(run, toy):
    path = toy.runs("smoke", ["coin"], {"n": 4})[0].page
    assert path.name in run("execute", "coin", "--profile", "smoke", "-p", "n=4")
    assert path.is_file()


def test_serve_shows_the_site(run, toy, monkeypatch):
    html = toy.project.html("book")
    html.mkdir(parents=True)
    (html / "index.html").write_text("hello")
    started, servers = threading.Event(), []
    original = cli.http.server.ThreadingHTTPServer

    class Server(original):
        def serve_forever(self):
            servers.append(self)
            started.set()
            super().serve_forever(poll_interval=0.01)

    monkeypatch.setattr(cli.http.server, "ThreadingHTTPServer", Server)
    thread = threading.Thread(target=run, args=("serve", "--port", "0"))
    thread.start()
    assert started.wait(10)
    connection = http.client.HTTPConnection(*servers[0].server_address)
    connection.request("GET", "/index.html")
    assert connection.getresponse().read() == b"hello"
    connection.close()
    servers[0].shutdown()
    servers[0].server_close()
    thread.join()
