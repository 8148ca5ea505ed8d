"""The page on drift: each claim's number over builds and machines, as small pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from ntpcompanion.workflow.checking.value_comparison import FALSE_ALARMS
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.formatting import mathematics, number, powers
from ntpcompanion.workflow.claims.intervals import half_widths, welch
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.results.ledger import row_anchor
from ntpcompanion.workflow.running.history import Build

WIDTH, HEIGHT, EDGE = 180, 40, 8  # of a picture, in pixels
STYLE = '<link rel="stylesheet" href="_static/ledger.css">'
MARKS = ("circle", "square", "diamond", "triangle")  # one for each machine


@dataclass(frozen=True)
class Course:
    """The numbers of one claim over builds: those that its present form has measured.

    `shown` is the index of the value that moved most; `moved` is whether it moved by more than its
    band or error between two builds in a row.
    """

    claim: Claim
    builds: tuple[Build, ...]
    items: tuple[Measurement, ...]
    shown: int
    moved: bool


def drift_page(
    builds: Sequence[Build], claims: Mapping[str, Claim], titles: Mapping[str, str]
) -> str:
    """The builds, the claims that moved, and the others folded by chapter, as one block of HTML."""
    if not builds:
        return "No build has been recorded yet: `ntpcompanion history` records one.\n"
    tracked = courses(builds, claims)
    machines = list(dict.fromkeys(build.machine for build in builds))
    moved = [course for course in tracked if course.moved]
    parts = [STYLE, _builds(builds, machines)]
    count = f"{len(moved)} of {len(tracked)} claims moved by more than their band or error."
    if len(builds) == 1:
        count = f"One build, with {len(tracked)} claims: nothing can have moved yet."
    parts.append(f"<p><strong>{count}</strong></p>{_list(moved, machines)}")
    for chapter, title in titles.items():
        still = [c for c in tracked if not c.moved and c.claim.notebook == chapter]
        if still:
            parts.append(
                f'<details class="ntp-group"><summary>{mathematics(title)} '
                f'<span class="ntp-tally">{len(still)} claims</span></summary>'
                f"{_list(still, machines)}</details>"
            )
    return "````{raw} html\n" + "\n".join(parts) + "\n````\n"


def courses(builds: Sequence[Build], claims: Mapping[str, Claim]) -> list[Course]:
    """A course for each claim that some build measured, in the order of the claims file."""
    values = sum(len(item.values) for item in builds[-1].measurements.values() if not item.exact)
    level = FALSE_ALARMS / max(1, values * max(1, len(builds) - 1))
    tracked = []
    for name, claim in claims.items():
        with_it = [build for build in builds if name in build.measurements]
        if with_it:
            size = len(with_it[-1].measurements[name].values)
            same = [b for b in with_it if len(b.measurements[name].values) == size]
            items = [build.measurements[name] for build in same]
            tracked.append(_course(claim, same, items, level))
    return tracked


def _course(
    claim: Claim, builds: Sequence[Build], items: Sequence[Measurement], level: float
) -> Course:
    spreads = [max(v) - min(v) for v in zip(*(item.values for item in items), strict=True)]
    shown = max(range(len(spreads)), key=lambda i: spreads[i])
    moved = any(_has_moved(claim, old, new, level) for old, new in pairwise(items))
    return Course(claim, tuple(builds), tuple(items), shown, moved)


def _has_moved(claim: Claim, old: Measurement, new: Measurement, level: float) -> bool:
    if old.exact and new.exact:
        pairs = zip(old.values, new.values, strict=True)
        return any(abs(n - o) > claim.band.width(o) for o, n in pairs)
    return min(welch(old, new)) < level


def _builds(builds: Sequence[Build], machines: Sequence[str]) -> str:
    names = ["python", *sorted({name for build in builds for name in build.versions} - {"python"})]
    # of the libraries, those whose version changed: the page on the runs lists all
    telling = [
        name
        for name in names
        if name == "python" or len({build.versions.get(name) for build in builds}) > 1
    ]
    rows = "".join(
        f"<tr><td>{escape(build.date[:10])}</td><td><code>{escape(build.commit) or '–'}</code></td>"
        f"<td>{_legend(machines.index(build.machine))} {escape(build.machine)}</td>"
        f"<td>{escape(build.profile)}</td><td>{escape(_versions(build, telling))}</td></tr>"
        for build in builds
    )
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("Date", "Commit", "Machine", "Profile", "Versions")
    )
    return (
        '<div class="ntp-scroll" tabindex="0" role="region" aria-label="Builds">'
        f'<table class="ntp-builds"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _versions(build: Build, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {build.versions[name]}" for name in names if name in build.versions)


def _legend(machine: int) -> str:
    return (
        '<svg class="ntp-mark" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">'
        f"{_mark(machine, 6, 6)}</svg>"
    )


def _list(tracked: Sequence[Course], machines: Sequence[str]) -> str:
    rows = "".join(_row(course, machines) for course in tracked)
    return f'<ul class="ntp-drift">{rows}</ul>' if tracked else ""


def _row(course: Course, machines: Sequence[str]) -> str:
    claim, last = course.claim, course.items[-1]
    of = f" (value {course.shown + 1} of {len(last.values)})" if len(last.values) > 1 else ""
    now = powers(number(last.values[course.shown], last.errors[course.shown]))
    return (
        f'<li><span class="ntp-drift-claim"><a href="ledger.html#{row_anchor(claim.id)}">'
        f"{mathematics(claim.locator)}</a> <code>{escape(claim.id)}</code></span>"
        f'{sparkline(course, machines)}<span class="ntp-drift-now">{now}{of}</span></li>'
    )


def sparkline(course: Course, machines: Sequence[str]) -> str:
    """Inline SVG: a mark for each build with its interval, on the band around the first number."""
    values = [item.values[course.shown] for item in course.items]
    widths = [half_widths(item)[course.shown] for item in course.items]
    band = course.claim.band.width(values[0]) if course.items[0].exact else 0.0
    low = min([v - w for v, w in zip(values, widths, strict=True)] + [values[0] - band])
    high = max([v + w for v, w in zip(values, widths, strict=True)] + [values[0] + band])

    def x(place: int) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (place / (len(values) - 1) if len(values) > 1 else 0.5)

    def y(value: float) -> float:
        inside = HEIGHT - 2 * EDGE
        return EDGE + inside * ((high - value) / (high - low) if high > low else 0.5)

    parts = []
    if band:
        top, height = y(values[0] + band), y(values[0] - band) - y(values[0] + band)
        parts.append(f'<rect x="0" y="{top:.1f}" width="{WIDTH}" height="{height:.1f}"/>')
    line = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(values))
    parts.append(f'<polyline points="{line}"/>')
    for i, (value, width) in enumerate(zip(values, widths, strict=True)):
        if width:
            ends = f'y1="{y(value - width):.1f}" y2="{y(value + width):.1f}"'
            parts.append(f'<line x1="{x(i):.1f}" x2="{x(i):.1f}" {ends}/>')
        parts.append(_mark(machines.index(course.builds[i].machine), x(i), y(value)))
    lowest, highest = (powers(number(value, 0)) for value in (min(values), max(values)))
    label = f"{len(values)} builds, from {lowest} to {highest}"
    return (
        f'<svg class="ntp-spark" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _mark(machine: int, x: float, y: float) -> str:
    kind = MARKS[machine % len(MARKS)]
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
    shape = {"square": "m-3.5-3.5h7v7h-7z", "diamond": "m0-4.5 4.5 4.5-4.5 4.5-4.5-4.5z"}
    return f'<path d="M{x:.1f} {y:.1f}{shape.get(kind, "m0-4.5 4.5 8h-9z")}"/>'
