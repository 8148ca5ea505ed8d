"""A notebook or an experiment at every point of a grid, and all results in one table."""

import ast
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    canonical_json,
    sha256,
    user_path,
    write_bytes_atomically,
)
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import now, versions
from ntpcompanion.workflow.notebooks.profiles import parse_assignments
from ntpcompanion.workflow.sweeps.campaign import DEFAULT, Campaign, Options, compute
from ntpcompanion.workflow.sweeps.executors import fitting_jobs
from ntpcompanion.workflow.sweeps.grid import LIMIT, grid_tasks, repeated, require_values
from ntpcompanion.workflow.sweeps.targets import Target, find_target

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*:\s*({_NUMBER})\s*(?::\s*({_NUMBER})\s*)?")
# what every row has; a parameter that is called like one of these is a column `parameter_NAME`,
# and a field of a result that is called like one, or like a parameter, `result_NAME`
COLUMNS = ("run", "state", "seconds", "host", "error", "traceback")
OF_CLAIMS = ("claim", "value", "stderr", "values", "stderrs", "replicates")
QUOTES, BRACKETS = ("'", '"'), ("[", "(", "{")


def plan_sweep(
    target: Target,
    grid: Mapping[str, Sequence[Any]],
    fixed: Mapping[str, object],
    *,
    retry: bool = False,
) -> Campaign:
    """Check everything that can be wrong with a sweep before it is started. With `retry`
    what failed is made again.
    """
    if not grid:
        raise WorkflowError(
            "A sweep needs a parameter to vary: give `--grid NAME=VALUES` or `--seeds START:STOP`."
        )
    for parameter, values in grid.items():
        if parameter in fixed:
            raise WorkflowError(f"`{parameter}` is fixed by `-p` and varied by the grid: not both.")
        require_values(values, f"--grid {parameter}")
    points = target.points(grid_tasks(fixed, grid))
    if repeated([point.key for point in points]):
        raise WorkflowError(
            "Two points of the grid are one, as 1000 and 1e3: give each value once."
        )
    journal = target.project.build / "sweeps" / f"{target.name}.jsonl"
    return Campaign(target, points, journal, retry)


def run_sweep(planned: Campaign, options: Options = DEFAULT, out: Path | None = None) -> Path:
    """Make the runs that are missing, write the table, and return its path. Runs that were killed
    are made again by the same command, those that failed only if it is to retry. Raises
    WorkflowError as `compute`, or for a table that cannot be written.
    """
    target, parameters = planned.target, [point.parameters for point in planned.points]
    variant = sha256(canonical_json(parameters))[:8]
    path = user_path(out or planned.journal.with_name(f"{target.name}-{variant}.parquet")).resolve()
    if path.suffix != ".parquet":
        raise WorkflowError(f"`--out {out}` must end in .parquet: the table is a Parquet file.")
    with target.project.lock(f"sweep-{target.name}"):
        lines = compute(planned, options)
    libraries = target.project.settings.libraries
    about = {"name": target.name, "made": now(), "versions": versions(libraries)}
    write_table(make_table(lines, about, of_claims=target.of_claims), path)
    return path


def read_sweep(
    project: Project,
    name: str,
    grid: Sequence[str],
    *,
    seeds: str | None = None,
    fixed: Sequence[str] = (),
    profile: str | None = None,
    retry: bool = False,
) -> Campaign:
    """The sweep that the texts of a command line ask for: `grid` and `fixed` are `NAME=...`, and
    `seeds` is `START:STOP`.
    """
    target = find_target(project, name, profile)
    axes = parse_assignments(grid, "--grid")
    if seeds is not None and "seed" in axes:
        raise WorkflowError("`--seeds` and `--grid seed=...` are two grids of one parameter.")
    values = {
        name: parse_values(
            text, partial(target.read, name), f"--grid {name}", ranges=not target.takes_text(name)
        )
        for name, text in axes.items()
    }
    if seeds is not None:
        values["seed"] = parse_values(seeds, partial(target.read, "seed"), "--seeds")
    shared = parse_assignments(fixed, "-p")
    fixed_values = {name: target.read(name, text) for name, text in shared.items()}
    return plan_sweep(target, values, fixed_values, retry=retry)


def parse_values(
    text: str, read: Callable[[str], object], option: str, *, ranges: bool = True
) -> list[Any]:
    """The values of one axis of a grid: `0.1,0.5` or `20:200:20`, where the stop is exclusive as in
    a slice of Python. Where a value begins with a quotation mark, or with a bracket, all are
    written as Python writes them: `'a,b','c'` or `[1,2],[3]`.

    `read` makes a value of a text; without `ranges` each value is a text, no range and no list.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    values: Sequence[Any]
    if match := _RANGE.fullmatch(text) if ranges else None:
        values = _range(match, option)
    elif any(part.startswith(QUOTES + BRACKETS * ranges) for part in parts):
        literals = _literals(text, option)
        values = [read(repr(value)) for value in literals] if ranges else literals
    else:
        values = list(map(read, parts)) if ranges else parts
    require_values(values, option)
    return list(values)


def _literals(text: str, option: str) -> list[Any]:
    try:
        return list(ast.literal_eval(f"[{text}]"))
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise WorkflowError(
            f"`{option}` has the values {text}, which are not as Python writes them. Where one has "
            "a comma or begins with a quotation mark or bracket, write all like 'a,b','c'."
        ) from error


def _range(match: re.Match[str], option: str) -> list[int] | list[float]:
    """In decimal fractions: `0:1:0.1` has ten values, and the fourth is 0.3."""
    start, stop, step = (Decimal(text or "1") for text in match.groups())
    if step == 0:
        raise WorkflowError(f"`{option}` has the step 0. Give another one, like 20:200:20.")
    number = max(0, math.ceil((stop - start) / step))
    if number > LIMIT:
        raise WorkflowError(
            f"`{option}` has {number:,} values, and a sweep takes at most {LIMIT:,} runs. Take a "
            "larger step."
        )
    values = [start + k * step for k in range(number)]
    whole = not any(set(text or "") & set(".eE") for text in match.groups())
    return [int(value) for value in values] if whole else [float(value) for value in values]


def planned_in_words(planned: Campaign, options: Options) -> str:
    """How many runs there are, how many are to be made, and where."""
    total, finished = (
        len(planned.points),
        len(planned.finished(Options(scheduler=options.scheduler))),
    )
    left = total - finished
    text = f"{planned.target.name}: {total} run{'s' * (total != 1)}"
    text += f", {finished} of them finished earlier" if finished else ""
    number = min(options.jobs or fitting_jobs(), left)
    processes = f"by {number} process{'es' * (number > 1)}"
    where = f"on {options.scheduler}" if options.scheduler else processes
    more = f"; {left} to make {where}. How long is known after the first" if left else ""
    return f"{text}{more}."


def make_table(
    lines: Sequence[Mapping[str, Any]], about: Mapping[str, Any], *, of_claims: bool
) -> "pd.DataFrame":
    """The table of the lines of a journal, in their order; `about` becomes its `attrs`.

    Each line has `parameters`, `state`, `seconds`, `host`, `error`, `traceback` and `result`: with
    `of_claims` a dict with a list `claims` of measurements, else the fields of the result of an
    experiment. A run without a result has one row, which holds its parameters and why.
    """
    import pandas as pd

    rows = [row for number, line in enumerate(lines) for row in _rows(number, line, of_claims)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    # before pandas has made numbers of them: it would round large integers beside missing values
    table = pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})
    table.attrs.update(about)
    return table


def write_table(table: "pd.DataFrame", path: Path) -> None:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    write_bytes_atomically(path, buffer.getvalue())


def _rows(number: int, line: Mapping[str, Any], of_claims: bool) -> list[dict[str, Any]]:
    taken = {*COLUMNS, *OF_CLAIMS} if of_claims else set(COLUMNS)
    parameters, result = line["parameters"], line["result"]
    before = {"run": number, "state": line["state"], **_prefixed("parameter", parameters, taken)}
    after = {name: line[name] for name in COLUMNS[2:]}
    rows: list[dict[str, Any]] = [{}]
    if result is not None and of_claims:
        rows = _claims(result["claims"]) or rows
    elif result is not None:
        rows = [_prefixed("result", result, taken | set(parameters))]
    return [{**before, **values, **after} for values in rows]


def _prefixed(prefix: str, values: Mapping[str, Any], taken: set[str]) -> dict[str, Any]:
    return {f"{prefix}_{name}" if name in taken else name: values[name] for name in values}


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "claim": item["id"],
            "value": None if isinstance(item["value"], list) else item["value"],
            "stderr": None if isinstance(item["stderr"], list) else item["stderr"],
            "values": _listed(item["value"]),
            "stderrs": _listed(item["stderr"]),
            "replicates": item["replicates"],
        }
        for item in claims
    ]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _column(values: Sequence[Any]) -> Sequence[Any]:
    """A column that Parquet can hold and pandas reads back unchanged; what is nested or of several
    kinds, and integers that would be rounded, as JSON text.
    """
    import pyarrow as pa

    present = [None if _missing(value) else value for value in values]
    try:
        array = pa.array(present)
        entries = array.flatten() if pa.types.is_list(array.type) else array
        if pa.types.is_integer(array.type) and array.null_count:
            array.cast(pa.float64())  # as pandas does it: raises where one would be rounded
        plain = not pa.types.is_nested(entries.type) and (
            entries is array or not entries.null_count
        )
    except (pa.ArrowException, OverflowError):
        plain = False
    if plain:
        return values
    return [None if value is None else canonical_json(value) for value in present]


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
