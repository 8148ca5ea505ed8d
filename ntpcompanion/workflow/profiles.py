"""`notebooks/profiles.yml`: the parameters of every notebook under smoke, book and paper."""

import yaml

from ntpcompanion.workflow.errors import WorkflowError, nearest
from ntpcompanion.workflow.notebooks import Notebook
from ntpcompanion.workflow.parameters import lookup, parse_value, resolve
from ntpcompanion.workflow.project import PROFILES, Project


def read_profiles(project: Project, known: dict[str, Notebook]) -> dict[str, dict[str, dict]]:
    """`{notebook: {profile: {parameter: value}}}`, checked: no unknown notebook, profile, parameter or type."""
    path = project.notebooks / "profiles.yml"
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise WorkflowError(f"{path} cannot be read: {error}") from error
    for name, profiles in table.items():
        if name not in known:
            raise WorkflowError(f"{path}: no notebook {name!r}.{nearest(name, known)}")
        for profile, values in (profiles or {}).items():
            check_profile(profile)
            resolve(known[name].parameters, values or {}, f"{path}, {name}.{profile}: notebook {name!r}")
    return {name: {profile: values or {} for profile, values in (profiles or {}).items()} for name, profiles in table.items()}


def check_profile(profile: str) -> str:
    """`profile` itself, if there is one of that name."""
    if profile not in PROFILES:
        raise WorkflowError(f"No profile {profile!r}.{nearest(profile, PROFILES)} Known: {', '.join(PROFILES)}.")
    return profile


def parse_overrides(notebook: Notebook, texts: list[str]) -> dict[str, object]:
    """`["NAME=VALUE", ...]` of the command line by name, read by the type of each default; whoever plans the run checks the values."""
    where, overrides = f"Notebook {notebook.name!r}", {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise WorkflowError(f"`-p {text}` must have the form NAME=VALUE.")
        overrides[name] = parse_value(lookup(notebook.parameters, name, where), value, where)
    return overrides
