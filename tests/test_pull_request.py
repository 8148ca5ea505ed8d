"""The comment of a pull request: its step is run as it stands, with a `gh` that keeps comments in a
file; and the workflow of a new book, which has the same job.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ntpcompanion.workflow.starting.new_book import new_book
from tests.toy import ROOT

WORKFLOW = Path(".github", "workflows", "book.yml")
JOBS = yaml.safe_load((ROOT / WORKFLOW).read_text(encoding="utf-8"))["jobs"]
COMMENT = JOBS["comment"]
BOT, STRANGER = "github-actions[bot]", "someone"
ENVIRONMENT = {
    "COMMENTS": "repos/lab/book/issues/7/comments",
    "COMMENT": "repos/lab/book/issues/comments",
    "COMMIT": "0123abcd",
    "RUN": "https://example.org/run",
    "MARK": COMMENT["env"]["MARK"],
}
GH = f"""#!{sys.executable}
import json, subprocess, sys
from pathlib import Path
kept = Path("comments.json")
comments = json.loads(kept.read_text())
match sys.argv[1:]:
    case ["api", "--paginate", "repos/lab/book/issues/7/comments", "--jq", wanted]:
        subprocess.run(["jq", "-r", wanted], input=kept.read_text(), text=True, check=True)
    case ["api", "--silent", "--method", method, address, "--field", given]:
        body = Path(given.removeprefix("body=@")).read_text(errors="replace")
        if method == "POST" and address == "repos/lab/book/issues/7/comments":
            made = {{"id": 100 + len(comments), "user": {{"login": "{BOT}"}}, "body": body}}
            comments.append(made)
        elif method == "PATCH":
            (known,) = [c for c in comments if address == f"repos/lab/book/issues/comments/{{c['id']}}"]
            known["body"] = body
        kept.write_text(json.dumps(comments))
    case other:
        sys.exit(f"asked for {{other}}")
"""  # noqa: E501


@pytest.fixture
def comment(tmp_path):
    """A function: the comments after the step ran beside a report; None: there is no report."""
    if shutil.which("jq") is None or sys.platform == "win32":
        pytest.skip("the step runs on Linux, and `gh` selects as `jq` does, which is not here")
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(GH)
    gh.chmod(0o755)
    others = [(STRANGER, ENVIRONMENT["MARK"]), (BOT, "of another workflow")]
    kept = tmp_path / "comments.json"
    kept.write_text(
        json.dumps(
            [
                {"id": i, "user": {"login": who}, "body": text}
                for i, (who, text) in enumerate(others)
            ]
        )
    )
    path = os.pathsep.join([str(gh.parent), os.environ["PATH"]])

    def ran(report):
        if report is not None:
            (tmp_path / "report").mkdir(exist_ok=True)
            (tmp_path / "report" / "check.md").write_text(report, encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", COMMENT["steps"][-1]["run"]],
            cwd=tmp_path,
            env={**os.environ, **ENVIRONMENT, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        comments = json.loads(kept.read_text())
        assert [each["body"] for each in comments[:2]] == [text for _, text in others]
        return [each["body"] for each in comments[2:]]

    return ran


def test_a_pull_request_has_one_comment_which_is_rewritten(comment):
    (first,) = comment("### Claims, profile book\n\n2 claims agree; 1 moved.\n")
    assert first.startswith(ENVIRONMENT["MARK"] + "\n### Claims")
    assert "1 moved." in first
    assert "Commit 0123abcd, [the whole run](https://example.org/run)." in first
    (second,) = comment("### Claims, profile book\n\n3 claims agree; 0 moved.\n")
    assert "1 moved." not in second
    assert "3 claims agree; 0 moved." in second


def test_a_run_without_a_report_says_so(comment):
    (said,) = comment(None)
    assert "The numbers were not compared: the run failed before." in said


def test_a_report_is_cut_to_what_a_comment_can_hold(comment):
    (said,) = comment("| ä |\n" * 30_000)
    assert 50_000 < len(said) < 65_536
    assert "[the whole run]" in said


def test_a_new_book_has_the_same_comment(tmp_path):
    made = new_book(tmp_path / "two papers")
    workflow = yaml.safe_load((made / WORKFLOW).read_text(encoding="utf-8"))
    assert workflow["jobs"]["comment"] == COMMENT
