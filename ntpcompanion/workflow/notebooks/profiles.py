"""`notebooks/profiles.yml`: the parameters of every notebook under smoke, book and paper."""

from collections.abc import Sequence
from unicodedata import normalize

from ntpcompanion.spelling import known_as, nearest
from ntpcompanion.workflow.base.errors import WorkflowError, require_known
from ntpcompanion.workflow.base.project import PROFILES, Project
from ntpcompanion.workflow.base.yaml_files import read_yaml, validate
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.notebooks.parameters import lookup, parse_value, resolve

Profiles = dict[str, dict[str, dict[str, object]]]  # by notebook, by profile, by parameter


def read_profiles(project: Project, known: dict[str, Notebook]) -> Profiles:
    """The values by notebook, profile and parameter."""
    path = project.notebooks / "profiles.yml"
    table = validate(
        read_yaml(path) or {}, dict[str, dict[str, dict[str, object] | None] | None], str(path)
    )
    by_notebook = {
        known_as(name, known): {key: values or {} for key, values in (profiles or {}).items()}
        for name, profiles in table.items()
    }
    if len(by_notebook) < len(table):
        raise WorkflowError(f"{path} names one notebook twice: {', '.join(map(ascii, table))}.")
    for name, profiles in by_notebook.items():
        if name not in known:
            raise WorkflowError(f"{path}: no notebook {name!r}.{nearest(name, known)}")
        for profile, values in profiles.items():
            if profile not in PROFILES:
                raise WorkflowError(
                    f"{path}, {name}: no profile {profile!r}.{nearest(profile, PROFILES)} Known: "
                    f"{', '.join(PROFILES)}."
                )
            resolve(known[name].parameters, values, f"{path}, {name}.{profile}: notebook {name!r}")
    return by_notebook


def check_profile(profile: str) -> str:
    """`profile` itself."""
    return require_known("profile", profile, PROFILES)


def parse_overrides(notebook: Notebook, texts: Sequence[str]) -> dict[str, object]:
    """`["NAME=VALUE", ...]` of the command line by name, read by the type of each default; whoever
    plans the run checks the values.
    """
    where = f"Notebook {notebook.name!r}"
    assigned = parse_assignments(texts, "-p").items()
    named = [(lookup(notebook.parameters, name, where), text) for name, text in assigned]
    return {each.name: parse_value(each, text, where) for each, text in named}


def parse_assignments(texts: Sequence[str], option: str) -> dict[str, str]:
    """`["NAME=VALUE", ...]` as they are given to an option of the command line, by name as Python
    spells it.
    """
    assignments: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise WorkflowError(f"`{option} {text}` must have the form NAME=VALUE.")
        if normalize("NFKC", name) in assignments:
            raise WorkflowError(f"`{option} {name}=...` is given twice. Give it once.")
        assignments[normalize("NFKC", name)] = value
    return assignments
