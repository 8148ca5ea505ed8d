"""ruff holds the line, so that people need not; git can ask it before each commit."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=" ".join)
def test_ruff_has_nothing_to_say(command):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, "--no-cache", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_codespell_has_nothing_to_say():
    read = ["book", "notebooks", "ntpcompanion", "tests", ".github", "Makefile"]
    pages = [path.name for path in ROOT.glob("*.*") if path.suffix in {".md", ".toml", ".yml"}]
    done = subprocess.run(
        # chapters are made from notebooks
        [sys.executable, "-m", "codespell_lib", "--skip", "book/chapters/*", *read, *pages],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hooks_before_a_commit_name_programs_of_this_environment():
    configuration = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repository["repo"] for repository in configuration["repos"]] == ["local"], "no network"
    hooks = {hook["id"]: hook for hook in configuration["repos"][0]["hooks"]}
    assert list(hooks) == ["ruff-check", "ruff-format", "mypy"]
    for hook in hooks.values():
        assert hook["language"] == "system"
        program, *arguments = shlex.split(hook["entry"])
        # in CI the environment has another name
        assert Path(program).parent.as_posix() == ".venv/bin"
        command = [Path(sys.executable).with_name(Path(program).name), *arguments]
        files = ["--version"] if hook["id"] == "mypy" else [__file__]
        done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
