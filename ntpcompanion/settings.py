"""What a book says of itself: the table `[tool.ntpcompanion]` of its pyproject.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from ntpcompanion.spelling import nearest

FILE, TABLE, PINS = "pyproject.toml", "tool.ntpcompanion", "constraints.txt"
# what most numbers rest on; those that are not installed do not count
USUAL = (
    *("numpy", "scipy", "pandas", "matplotlib", "seaborn", "scikit-learn", "statsmodels"),
    *("sympy", "torch", "jax", "jaxlib", "tensorflow"),
)
# the colours of `ntpcompanion.plots`, and the variable of the stylesheet that a page shows instead:
# it has one value for light pages and one for dark
COLOURS = {
    "#7a7a7a": "ink",
    "#029e73": "measurement",
    "#cc78bc": "paper",
    "#d55e00": "contrast",
    "#ca9161": "third",
    "#56b4e9": "fourth",
}
Profile = Literal["smoke", "book", "paper"]
CELL_SECONDS: dict[Profile, float] = {"smoke": 120.0, "book": 900.0, "paper": 0.0}
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Colour = Annotated[str, Field(pattern="^#[0-9a-f]{6}$")]
Variable = Annotated[str, Field(pattern="^[a-z][a-z0-9-]*$")]


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a book, each with a default; book/own_companion.md describes them.

    `libraries` are distributions whose versions decide, like the sources of `package`, which
    notebooks are run again; `environment` names variables that runs may read, and a change of one
    makes runs stale. `readable` are paths outside of the project; what programs read there is not
    noticed when it changes. The first of `package` has the experiments. `colours` come on top of
    those of the plots.
    """

    name: str = ""
    version: str = ""
    package: tuple[str, ...] = ()
    experiments: str = ""
    libraries: tuple[str, ...] = USUAL
    extras: tuple[str, ...] = ()
    constraints: str | None = None
    environment: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    cell_seconds: Mapping[Profile, Seconds] = field(default_factory=lambda: dict(CELL_SECONDS))
    colours: Mapping[Colour, Variable] = field(default_factory=lambda: dict(COLOURS))

    def cell_limit(self, profile: str) -> float | None:
        """Seconds that a cell may take at a profile; None: as long as it needs."""
        limits = [limit for name, limit in self.cell_seconds.items() if name == profile]
        return sum(limits) or None


KNOWN = tuple(each.name for each in fields(Settings))


def read_settings(root: Path) -> Settings:
    """The settings of the book in the folder `root`; the defaults where pyproject.toml does not
    say.

    Raises ValueError with a sentence that names the fault: a file that is not TOML, an unknown
    setting, a value of another type.
    """
    path = root / FILE
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        table = {}
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}. Fix it.") from error
    project = _table(table, path, "project")
    return settings_of(_table(_table(table, path, "tool"), path, "ntpcompanion"), project, path)


def settings_of(table: Mapping[str, Any], project: Mapping[str, Any], path: Path) -> Settings:
    """The settings that `[tool.ntpcompanion]` (`table`) and `[project]` of the file `path` say.
    Raises ValueError as `read_settings`.
    """
    where = f"{path}, [{TABLE}]"
    for key in table:
        if key not in KNOWN:
            near = nearest(key, KNOWN)
            raise ValueError(f"{where}: no setting `{key}`.{near} Known: {', '.join(KNOWN)}.")
    values = {"name": project.get("name", ""), "version": project.get("version", ""), **table}
    for key in ("package", "libraries", "extras", "environment", "readable"):
        if isinstance(values.get(key), str):
            values[key] = [values[key]]
    values.setdefault("libraries", _required(project.get("dependencies", [])))
    values["colours"] = _merged(COLOURS, values.get("colours", {}))
    values["cell_seconds"] = _merged(CELL_SECONDS, values.get("cell_seconds", {}))
    if (path.parent / PINS).is_file():
        values.setdefault("constraints", PINS)
    values.setdefault("package", _own_package(values["name"], path.parent))
    try:
        return TypeAdapter(Settings).validate_python(values)
    except ValidationError as error:
        faults = [
            f"`{'.'.join(map(str, fault['loc']))}`: {fault['msg']}, got {fault['input']!r}"
            for fault in error.errors()
        ]
    raise ValueError(f"{where}: {'; '.join(faults)}.")


def package_folder(name: str, root: Path) -> Path:
    """The folder of a package of the book in `root`, there or in its `src`; ValueError if it is in
    neither.
    """
    parts = name.split(".")
    for folder in (root.joinpath(*parts), root.joinpath("src", *parts)):
        if folder.is_dir() and all(part.isidentifier() for part in parts):
            return folder
    packages = [
        path.parent.name for path in (*root.glob("*/__init__.py"), *root.glob("src/*/__init__.py"))
    ]
    hint = f" There are: {', '.join(sorted(packages))}." if packages else ""
    raise ValueError(
        f"{root / FILE}, [{TABLE}]: `package` names {name!r}, but there is no folder {name} or "
        f"src/{name} in {root}.{hint} Correct the name, or make the folder."
    )


def _table(table: Mapping[str, Any], path: Path, name: str) -> dict[str, Any]:
    section = table.get(name, {})
    if not isinstance(section, dict):
        raise ValueError(f"{path}: `{name}` must be a table, got {section!r}.")
    return section


def _merged(defaults: Mapping[Any, Any], value: object) -> object:
    # what is not a table is rejected with the rest
    return {**defaults, **value} if isinstance(value, dict) else value


def _required(requirements: object) -> list[str]:
    """The distributions of a list of requirements, and the usual ones."""
    names = []
    for text in requirements if isinstance(requirements, list) else []:
        try:
            names.append(canonicalize_name(Requirement(text).name))
        except (InvalidRequirement, TypeError):
            continue  # the installer says what is wrong with it
    return list(dict.fromkeys([*names, *USUAL]))


def _own_package(name: object, root: Path) -> list[str]:
    package = str(name).replace("-", "_").replace(".", "_").lower()
    try:
        return [package] if package and package_folder(package, root) else []
    except ValueError:
        return []
