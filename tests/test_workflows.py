"""The workflows of the host, as far as they can be read without it."""

import itertools
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tests.linters import actionlint, zizmor

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# YAML 1.1 reads the key `on` as true
WORKFLOWS = {
    path.stem: {
        "on" if key is True else key: value
        for key, value in yaml.safe_load(path.read_text()).items()
    }
    for path in FILES
}
JOBS = {
    f"{name}: {job}": content
    for name, workflow in WORKFLOWS.items()
    for job, content in workflow["jobs"].items()
}
STEPS = [
    pytest.param(step, id=f"{where}, step {i}")
    for where, job in JOBS.items()
    for i, step in enumerate(job["steps"], 1)
]


def _step(parameters):
    return parameters.values[0]


def test_actionlint_has_nothing_to_say():
    done = actionlint(ROOT, *FILES)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


def test_zizmor_has_nothing_to_say():
    """Of workflows and of dependabot.yml."""
    done = zizmor(ROOT, ".github")
    assert "No findings" in done.stdout + done.stderr or not (done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_action_is_pinned_by_its_hash_or_the_reason_is_written_down():
    text = (ROOT / ".github" / "zizmor.yml").read_text()
    policies = yaml.safe_load(text)["rules"]["unpinned-uses"]["config"]["policies"]
    used = {step["uses"].split("@")[0] for step in map(_step, STEPS) if "uses" in step}
    assert policies.pop("*") == "hash-pin"
    assert set(policies.values()) == {"ref-pin"}
    assert {name for name in used if not name.startswith("actions/")} == set(policies) - {
        "actions/*"
    }
    assert "GitHub could not be reached" in text


@pytest.mark.parametrize("book", [".", "ntpcompanion/workflow/starting/template"])
def test_updates_are_proposed_once_a_week_and_together(book):
    updates = yaml.safe_load((ROOT / book / ".github" / "dependabot.yml").read_text())["updates"]
    assert [entry["package-ecosystem"] for entry in updates] == ["pip", "github-actions"]
    for entry in updates:
        assert entry["schedule"]["interval"] == "weekly"
        assert [group["patterns"] for group in entry["groups"].values()] == [["*"]]


def test_caches_are_keyed_by_what_decides_their_content():
    """Packages by the files that name them, exactly; runs may be those of an earlier commit, as
    their own keys say whether they are fresh. What is released comes from no cache.
    """
    caches = defaultdict(list)
    for name, workflow in WORKFLOWS.items():
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                assert "cache" not in step.get("with", {}), "pip's own"
                if step.get("uses", "").startswith("actions/cache@"):
                    caches[name].append(step["with"])
    assert set(caches) == {"tests", "book"}
    for packages, runs in caches.values():
        assert packages["path"] == ".venv"
        assert "restore-keys" not in packages
        for part in ("pyproject.toml", "constraints.txt", "python-version", "runner.os"):
            assert part in packages["key"]
        assert set(runs["path"].split()) <= {"book/chapters", "_build/runs"}
        for part in ("notebooks/**", "ntpcompanion/**", "book/records/**", "constraints.txt"):
            assert part in runs["key"]
        assert runs["key"].startswith(runs["restore-keys"])


def test_a_pull_request_is_told_which_claims_moved():
    steps = WORKFLOWS["book"]["jobs"]["book"]["steps"]
    (check,) = [step for step in steps if "ntpcompanion check" in step.get("run", "")]
    assert "--json check.json --junit check.xml --summary check.md" in check["run"]
    assert "| tee" not in check["run"]


def test_a_release_of_the_package_has_a_lock_and_says_where_it_was_built():
    package = WORKFLOWS["package"]["jobs"]
    commands = " ".join(step.get("run", "") for step in package["build"]["steps"])
    assert "uv build" in commands
    assert "make lock LOCK=dist/requirements.lock" in commands
    (attest,) = [s for s in package["provenance"]["steps"] if "attest" in s["uses"]]
    assert attest["with"] == {"subject-path": "dist/*"}
    assert set(package["release"]["needs"]) == {"build", "provenance"}


def test_the_files_are_those_that_are_meant():
    assert set(WORKFLOWS) == {"tests", "book", "package", "publish", "weekly"}
    assert (
        set(WORKFLOWS["tests"]["on"])
        == set(WORKFLOWS["book"]["on"])
        == {"push", "pull_request", "workflow_dispatch"}
    )
    assert set(WORKFLOWS["weekly"]["on"]) == {"schedule", "workflow_dispatch"}
    assert WORKFLOWS["publish"]["on"] == {"push": {"tags": ["v*"]}}
    assert WORKFLOWS["package"]["on"] == {"push": {"tags": ["v*"]}}
    assert set(WORKFLOWS["publish"]["jobs"]) == {"make", "pages", "release"}
    assert set(WORKFLOWS["weekly"]["jobs"]) == {
        "dependencies",
        "sphinx",
        "portable",
        "windows",
        "speed",
        "report",
    }


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read_and_has_one_run_at_a_time(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert WORKFLOWS[name]["concurrency"]["group"]
    assert WORKFLOWS[name]["defaults"]["run"]["shell"] == "bash", (
        "only a shell that is named has pipefail"
    )


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_job_ends_and_what_may_write_runs_no_code_of_the_checkout(job):
    assert 0 < job["timeout-minutes"] <= 60
    writes = job.get("permissions", {})
    assert writes in (
        {},
        {"issues": "write"},
        {"pull-requests": "write"},
        {"pages": "write", "id-token": "write"},
        {"contents": "write"},
        {"id-token": "write", "attestations": "write"},
    )
    if writes:
        used = {step["uses"].split("@")[0] for step in job["steps"] if "uses" in step}
        assert used <= {
            "actions/deploy-pages",
            "actions/download-artifact",
            "actions/attest-build-provenance",
        }


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_pinned_and_keeps_no_credentials_and_no_text_of_strangers_reaches_a_shell(step):
    assert ("uses" in step) != ("run" in step)
    assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))
    assert "${{" not in step.get("run", "")
    if step.get("uses", "").startswith("actions/checkout"):
        assert step["with"]["persist-credentials"] is False


def test_every_python_that_is_promised_is_tested():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    promised = SpecifierSet(
        next(entry for entry in conda if str(entry).startswith("python ")).removeprefix("python ")
    )
    required = SpecifierSet(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    )
    versions = [f"3.{minor}" for minor in range(40) if f"3.{minor}" in promised]
    suites = WORKFLOWS["tests"]["jobs"]["suite"]["strategy"]["matrix"]["include"]
    assert [suite["python"] for suite in suites] == versions, "each once"
    assert all(version in required for version in versions)
    assert {suite["os"] for suite in suites} == {"ubuntu-latest", "macos-latest"}
    assert [suite["command"] for suite in suites].count(".ci/run") == 1
    weekly = {
        entry["resolution"]: entry["python"]
        for entry in WORKFLOWS["weekly"]["jobs"]["dependencies"]["strategy"]["matrix"]["include"]
    }
    assert weekly == {"lowest-direct": versions[0], "highest": versions[-1]}
    assert (
        WORKFLOWS["weekly"]["jobs"]["sphinx"]["steps"][1]["with"]["python-version"] == versions[-1]
    )


def test_where_linux_runs_the_tests_the_drills_may_have_disks_of_their_own():
    allow = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    for where in ("tests: suite", "weekly: dependencies"):
        before = itertools.takewhile(lambda step: step.get("id") != "test", JOBS[where]["steps"])
        assert [step.get("if", "always") for step in before if step.get("run") == allow] in (
            ["always"],
            ["runner.os == 'Linux'"],
        ), where


def test_a_failure_of_the_week_is_reported_whichever_job_it_was_in():
    jobs = WORKFLOWS["weekly"]["jobs"]
    assert set(jobs["report"]["needs"]) == set(jobs) - {"report"}
    assert "cache" not in (ROOT / ".github" / "workflows" / "weekly.yml").read_text().replace(
        "without a cache", ""
    )


def test_the_book_that_is_offered_has_a_first_page():
    steps = WORKFLOWS["book"]["jobs"]["book"]["steps"]
    commands = " ".join(step.get("run", "") for step in steps)
    assert "ntpcompanion check --profile book" in commands
    assert "_build/html/index.html" in commands
    assert {"name": "book", "path": "_build/html", "if-no-files-found": "error"} in [
        step.get("with") for step in steps
    ]


def test_a_log_that_failed_is_in_the_summary_and_kept():
    for where, job in JOBS.items():
        logs = re.findall(r"\| tee ([a-z.]+)", str(job))
        runs_make = (
            re.search(r"make (?!lock)|\.ci/run|pytest|ntpcompanion execute", str(job)) is not None
        )
        assert len(logs) == runs_make, where
        for log in logs:
            assert f"tail -c 60000 {log}" in str(job)
            assert any(
                log in step["with"]["path"]
                for step in job["steps"]
                if "upload-artifact" in step.get("uses", "")
            ), where


def test_the_week_asks_for_each_address_outside_of_the_book():
    (step,) = [each for each in JOBS["weekly: sphinx"]["steps"] if each.get("id") == "sphinx"]
    made, asked = step["run"].index("make sphinx"), step["run"].index("-b linkcheck")
    assert made < asked, "the book is executed and written first"


def test_the_test_that_the_week_leaves_out_exists():
    left_out = re.search(
        r"--deselect=(\S+)::(\S+)", (ROOT / ".github" / "workflows" / "weekly.yml").read_text()
    )
    assert f"def {left_out[2]}(" in (ROOT / left_out[1]).read_text()


def test_every_make_target_that_is_mentioned_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()) == targets
    texts = [
        *FILES,
        ROOT / ".ci" / "run",
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "book").glob("*.md"),
    ]
    texts += [*(ROOT / "ntpcompanion").rglob("*.py"), ROOT / "pyproject.toml"]
    # in backticks, in a workflow, or on a line of its own
    mention = re.compile(
        r"(?:`|run: |^\s*)make (?:PYTHON=\S+ )?([a-z-]+)(?=`|\s*$|\s+#|\s+2>)", re.MULTILINE
    )
    mentioned = {
        (path.name, target)
        for path in texts
        for target in mention.findall(path.read_text(encoding="utf-8"))
    }
    assert ("README.md", "book") in mentioned
    assert ("weekly.yml", "sphinx") in mentioned
    assert {(name, target) for name, target in mentioned if target not in targets} == set()
