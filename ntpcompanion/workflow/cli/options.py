"""What commands take: their options and arguments."""

import os
from pathlib import Path
from typing import Annotated

import typer

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME ...]", help="Notebooks, by name; all if none is given."),
]
Name = Annotated[str, typer.Argument(help="A notebook.")]
Profile = Annotated[str, typer.Option(help="smoke, book or paper: see notebooks/profiles.yml.")]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", help="Notebooks or tasks at once, each in a process of its own."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        metavar="NAME=VALUE",
        help="Override a parameter of every notebook chosen; the outcome goes to _build/runs.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Run again even what is up to date.")]
Processes = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        help="Tasks at once (default: as cores and memory allow).",
        show_default=False,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        help="Run the tasks on an existing cluster of Dask, whose scheduler is there.",
    ),
]
CORES = os.cpu_count() or 1
Update = Annotated[
    bool,
    typer.Option(
        "--update", help="Accept the present values as the baseline, and show what changes."
    ),
]
SummaryFile = Annotated[
    Path | None,
    typer.Option(
        "--summary",
        metavar="FILE",
        help="Write the table of moved claims as Markdown; $GITHUB_STEP_SUMMARY gets it, too.",
    ),
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write findings and verdicts as JSON.")
]
RecordName = Annotated[str | None, typer.Argument(help="An entry of book/records/plans.yml.")]
Queue = Annotated[
    bool, typer.Option("--queue", help="The next plan that waits for a GPU and has no record.")
]
Miniature = Annotated[
    bool, typer.Option("--miniature", help="Try a plan of the queue in seconds; keeps nothing.")
]
Verify = Annotated[
    int | None, typer.Option(metavar="K", help="Run K of its tasks again instead, and compare.")
]
Target = Annotated[str, typer.Argument(help="A notebook or an experiment.")]
Grid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="A parameter to vary: 0.1,0.5 or 20:200:20, which are 20, 40, ..., 180: the stop "
        "is exclusive, as in a slice of Python. Where a text has a comma, all stand in quotation "
        "marks: \"name='a,b','plain'\". Several grids are combined.",
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        metavar="START:STOP", help="Values of `seed`; 0:10 are 0 to 9, the stop is exclusive."
    ),
]
Shared = Annotated[
    list[str] | None,
    typer.Option("-p", metavar="NAME=VALUE", help="A parameter that all runs share."),
]
NotebookProfile = Annotated[
    str | None, typer.Option(help="Of a notebook: smoke, book or paper (default: book).")
]
Retry = Annotated[bool, typer.Option("--retry", help="Run again what failed in an earlier sweep.")]
TableFile = Annotated[
    Path | None, typer.Option(metavar="FILE.parquet", help="Where to write the table.")
]
NewFolder = Annotated[Path, typer.Argument(help="Where to: one that is empty or not there yet.")]
NewPackage = Annotated[str, typer.Option(help="Its package.")]
Browser = Annotated[bool, typer.Option(help="Open a browser; else an address is printed.")]
FirstPort = Annotated[int, typer.Option(help="Port on this machine; the next free one.")]
