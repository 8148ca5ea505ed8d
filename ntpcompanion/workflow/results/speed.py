"""The page on speed: what each part costs, beside named peers, as the benchmarks measured it."""

import statistics
from collections.abc import Sequence
from html import escape

from ntpcompanion.workflow.results.speed_pictures import (
    Axis,
    figures,
    growth_panel,
    ratio_axis,
    ratio_strip,
    ratio_ticks,
)
from ntpcompanion.workflow.timing.bench import Amount, Bench, Entry, Failed, Growth, Pair
from ntpcompanion.workflow.timing.medians import Estimate, median

STYLE = '<link rel="stylesheet" href="_static/speed.css">'
LIMITS = "Limits of the machine"  # the part of its own rates
DEFECT = 5.0  # times slower than its share of the processors: then something waits for itself
NOTHING = "No benchmarks have been run: `make bench` runs them, which takes a quarter of an hour.\n"


def speed_page(runs: Sequence[Bench]) -> str:
    """The newest run in full, those of other machines folded below it, as one block of HTML. A run
    of a few benchmarks, such as those of a GPU, is never the one that is shown in full beside one
    of many.

    Parameters
    ----------
    runs
        one for each machine, the newest first.
    """
    if not runs:
        return NOTHING
    many = max(len(run.quiet()) for run in runs) / 2
    first, *others = sorted(runs, key=lambda run: len(run.quiet()) < many)
    parts = [STYLE, _run(first, 1)]
    for number, run in enumerate(others, 2):
        few = len(run.quiet()) < many
        label = "Some benchmarks" if few else "The same"
        head = f"{escape(run.hardware.line)}, {run.started[:10]}"
        parts.append(
            f'<details class="ntp-group"><summary>{label} on another machine: {head}</summary>'
            f"{_run(run, number, summed_up=not few)}</details>"
        )
    return "````{raw} html\n" + "\n".join(parts) + "\n````\n"


def _run(run: Bench, number: int, *, summed_up: bool = True) -> str:
    """A run; `summed_up`: with a sentence on all its comparisons, which a few are too few for."""
    pairs = [entry for entry in run.quiet() if isinstance(entry.outcome, Pair)]
    answer = _answer(run, pairs if summed_up else [])
    parts = [_ratios(run, pairs), answer, _made(run), _growths(run)]
    parts += [_costs(run, number), _failures(run)]
    return "\n".join(filter(None, parts))


def pair_of(entry: Entry) -> Pair:
    """The pair of an entry that is one."""
    assert isinstance(entry.outcome, Pair)
    return entry.outcome


def _bound(pair: Pair) -> bool:
    """Whether the peer is not a rival but a bound, by which ours is to be slowed down little."""
    return pair.at_least is not None and pair.at_least < 1


def _ratios(run: Bench, entries: Sequence[Entry]) -> str:
    """The dot plot: one line for each pair, rivals first, the largest ratio first."""
    if not entries:
        return ""
    ordered = sorted(entries, key=lambda e: (_bound(pair_of(e)), -pair_of(e).ratio.value, e.name))
    busy = {entry.name: _busy_ratio(run, entry) for entry in ordered}
    ratios = [pair_of(entry).ratio for entry in ordered]
    axis = ratio_axis([*ratios, *(ratio for ratio in busy.values() if ratio)])
    rows = "".join(_ratio_row(entry, busy[entry.name], axis) for entry in ordered)
    caption = (
        "How many times as fast this package is as the named peer. Both run in turns, in the same "
        "run; shown is the median of the turns, with its 95 % interval (with fewer than six turns: "
        "their range), on a logarithmic axis. Right of the line at 1 this package is faster. Open "
        "dots: the same beside busy processes. A tick marks the goal; where it is below 1 the peer "
        "is a bound, such as one pass over the data, not a rival."
    )
    return (
        f'<figure class="ntp-ratios"><ul>{rows}<li aria-hidden="true"><span></span>'
        f"{ratio_ticks(axis)}<span></span></li></ul><figcaption>{caption}</figcaption></figure>"
    )


def _busy_ratio(run: Bench, entry: Entry) -> Estimate | None:
    other = run.beside(entry)
    return other.outcome.ratio if other and isinstance(other.outcome, Pair) else None


def _ratio_row(entry: Entry, busy: Estimate | None, axis: Axis) -> str:
    pair = pair_of(entry)
    label = f"{entry.title}: {_times(pair.ratio)} as fast as {pair.peer}"
    strip = ratio_strip(pair.ratio, busy, pair.at_least, axis, label)
    note = f' title="{escape(pair.note)}"' if pair.note else ""
    return (
        f"<li><span{note}>{escape(entry.title)} <em>against {escape(pair.peer)}</em></span>{strip}"
        f'<span class="ntp-times">{_times(pair.ratio)}</span></li>'
    )


def _times(ratio: Estimate) -> str:
    return f"{figures(ratio.value)} times"


def _answer(run: Bench, entries: Sequence[Entry]) -> str:
    """The answer in three lines."""
    rivals = [entry for entry in entries if not _bound(pair_of(entry))]
    lines = []
    if rivals:
        ratios = [pair_of(entry).ratio for entry in rivals]
        faster = sum(ratio.low > 1 for ratio in ratios)
        worst, *_, best = sorted(2 * rivals, key=lambda e: pair_of(e).ratio.value)
        lines.append(
            f"In {faster} of {len(rivals)} comparisons with what this package is meant to outrun "
            "it is faster; the other rows compare it with a bound, with its own best setting, or "
            "with a program that does less. The median ratio is "
            f"{figures(statistics.median(r.value for r in ratios))}."
        )
        lines.append(f"The largest ratio: {_one(best)}. The smallest: {_one(worst)}.")
    goals = [entry for entry in run.quiet() if entry.met is not None]
    if goals:
        missed = [entry for entry in goals if entry.met is False]
        names = "; ".join(escape(_named(entry)) for entry in missed)
        lines.append(
            f"{len(goals) - len(missed)} of {len(goals)} goals are met"
            + (f". Missed: {names}." if missed else ".")
        )
    if slow := _starved(run):
        lines.append(
            "Slowed by busy processes more than their share of the machine explains: "
            f"{'; '.join(slow)}."
        )
    return "".join(f"<p>{line}</p>" for line in lines)


def _one(entry: Entry) -> str:
    pair = pair_of(entry)
    return f"{_times(pair.ratio)} as fast as {escape(pair.peer)} ({escape(entry.title)})"


def _named(entry: Entry) -> str:
    peer = f" against {entry.outcome.peer}" if isinstance(entry.outcome, Pair) else ""
    return f"{entry.title}{peer}"


def _made(run: Bench) -> str:
    """Machine, date, versions and load."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    loads = [load for entry in run.quiet() for load in entry.load]
    sentence = f"Load of the machine {min(loads):.1f} to {max(loads):.1f}." if loads else ""
    if loads and statistics.median(loads) > run.hardware.cores:
        sentence += (
            " The machine did other work as well: both sides of a ratio met it alike, but seconds "
            "are longer than on a quiet machine, and goals in seconds may be missed for it."
        )
    commits = ", ".join(f"<code>{escape(commit) or '–'}</code>" for commit in run.commits)
    return (
        f'<p class="ntp-machines">Measured on {escape(run.hardware.line)}, {run.started[:10]}, at '
        f'commit {commits}. {sentence} <span title="{escape(versions)}">'
        f"Python {escape(run.versions.get('python', '?'))}.</span></p>"
    )


def _growths(run: Bench) -> str:
    """A panel for each growth."""
    panels = []
    for entry in run.quiet():
        if isinstance(growth := entry.outcome, Growth):
            slope = growth.slope
            ideal = f"; ideal: {figures(growth.ideal)}" if growth.ideal is not None else ""
            note = f" {escape(growth.note)}" if growth.note else ""
            panels.append(
                f"<figure>{growth_panel(growth, entry.title)}<figcaption>{escape(entry.title)}. "
                f"Seconds against {escape(growth.variable)}: the line is the fitted power, "
                f"exponent <strong>{slope.value:.2f}</strong> ({slope.low:.2f} to "
                f"{slope.high:.2f}{ideal})."
                f"{note}</figcaption></figure>"
            )
    return f'<div class="ntp-growths">{"".join(panels)}</div>' if panels else ""


def _costs(run: Bench, number: int) -> str:
    """A table of all: quiet and busy beside each other, and the goals."""
    busy = max((entry.busy for entry in run.entries), default=0)
    beside = f"Beside {busy} busy processes" if busy else "Beside busy processes"
    names = ("What", "Quiet", beside, "Times as long", "Goal")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    parts: dict[str, list[str]] = {}
    for entry in run.quiet():
        if not isinstance(entry.outcome, Failed):
            parts.setdefault(entry.part, []).append(_cost_row(run, entry))
    bodies = "".join(
        f'<tbody><tr><th scope="rowgroup" colspan="5">{escape(part)}</th></tr>{"".join(rows)}'
        "</tbody>"
        for part, rows in sorted(parts.items(), key=lambda item: item[0] == LIMITS)
    )
    label = f"Costs, machine {number}"
    return (
        f'<div class="ntp-scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="ntp-costs"><thead><tr>{head}</tr></thead>{bodies}</table></div>'
    )


def _cost_row(run: Bench, entry: Entry) -> str:
    other, quiet = run.beside(entry), _cost(entry)
    slower = _slowdown(entry, other)
    cells = [
        _cell(entry, quiet),
        _cell(other, _cost(other)) if other else "–",
        "–" if slower is None else f"{figures(slower)}",
        _goal(entry),
    ]
    label = escape(_named(entry))
    if isinstance(entry.outcome, Amount) and entry.outcome.note:
        label += f" <small>({escape(entry.outcome.note)})</small>"
    return f'<tr><th scope="row">{label}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _cost(entry: Entry) -> Estimate | None:
    """Our seconds, or the amount; of a growth the seconds at the largest size."""
    outcome = entry.outcome
    if isinstance(outcome, Pair):
        return median(outcome.our_seconds)
    if isinstance(outcome, Growth):
        return median(outcome.seconds[-1])
    return outcome.middle if isinstance(outcome, Amount) else None


def _cell(entry: Entry, cost: Estimate | None) -> str:
    if cost is None:
        return f"no number: {escape(getattr(entry.outcome, 'error', ''))[:80]}"
    unit = entry.outcome.unit if isinstance(entry.outcome, Amount) else "s"
    spread = f" <small>({figures(cost.low)} to {figures(cost.high)})</small>"
    return f"{figures(cost.value)} {escape(unit)}{spread if cost.timings > 1 else ''}"


def _slowdown(entry: Entry, other: Entry | None) -> float | None:
    """How many times as long it takes beside busy processes; None for what is not in seconds."""
    if other is None or (isinstance(entry.outcome, Amount) and entry.outcome.unit != "s"):
        return None
    quiet, busy = _cost(entry), _cost(other)
    return busy.value / quiet.value if quiet and busy and quiet.value > 0 else None


def _starved(run: Bench) -> list[str]:
    """What takes more than `DEFECT` times as long as its share of the processors explains."""
    slowed = []
    for entry in run.quiet():
        other = run.beside(entry)
        slower = _slowdown(entry, other)
        if other is None or slower is None:
            continue
        contention = max(1.0, (other.busy + other.threads) / run.hardware.cores)
        if slower > DEFECT * contention:
            slowed.append(f"{escape(_named(entry))} ({figures(slower)} times)")
    return slowed


def _goal(entry: Entry) -> str:
    outcome, met = entry.outcome, entry.met
    if met is None or not isinstance(outcome, Pair | Amount):
        return "–"
    verdict = {True: "met", False: "<strong>missed</strong>"}[met]
    if isinstance(outcome, Pair):
        return f"a ratio of {figures(outcome.at_least or 0.0)}: {verdict}"
    if outcome.at_most is not None:
        return f"at most {figures(outcome.at_most)} {escape(outcome.unit)}: {verdict}"
    return f"at least {figures(outcome.at_least or 0.0)} {escape(outcome.unit)}: {verdict}"


def _failures(run: Bench) -> str:
    """Benchmarks that gave no number, and why."""
    rows = [
        f"<li>{escape(entry.title)} (<code>{escape(entry.name)}</code>"
        f"{', beside busy processes' if entry.busy else ''}): {escape(entry.outcome.error)}</li>"
        for entry in run.entries
        if isinstance(entry.outcome, Failed)
    ]
    return f"<p>These gave no number:</p><ul>{''.join(rows)}</ul>" if rows else ""
