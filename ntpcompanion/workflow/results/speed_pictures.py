"""The pictures of the page on speed: ratios on one logarithmic axis, and growth in two."""

import math
from collections.abc import Sequence
from html import escape

from ntpcompanion.workflow.timing.bench import Growth
from ntpcompanion.workflow.timing.medians import Estimate

WIDTH, HEIGHT = 240, 26  # of the strip of one ratio
PANEL_WIDTH, PANEL_HEIGHT, LEFT, BELOW, ABOVE = 300, 210, 48, 38, 12  # of a panel of growth


def figures(value: float) -> str:
    """Three digits, without an exponent where a person would write none."""
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.2g}"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{max(0, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


class Axis:
    """A logarithmic axis from one power of ten to another, drawn between two places."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        logs = [math.log10(value) for value in values]
        self.first, self.last = math.floor(min(logs)), math.ceil(max(logs))
        if self.first == self.last:
            self.last += 1
        self.start, self.end = start, end

    def place(self, value: float) -> float:
        """Where a value lies."""
        fraction = (math.log10(value) - self.first) / (self.last - self.first)
        return self.start + fraction * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Powers of ten; of many decades not all."""
        step = 1 + (self.last - self.first) // 6
        return [10.0**power for power in range(self.first, self.last + 1, step)]


def ratio_axis(ratios: Sequence[Estimate]) -> Axis:
    """An axis on which all ratios have room, and 1 and a factor of 10 either way."""
    ends = [end for ratio in ratios for end in (ratio.low, ratio.high)]
    return Axis([0.5, 10.0, *ends], 10, WIDTH - 10)


def ratio_strip(
    quiet: Estimate, busy: Estimate | None, goal: float | None, axis: Axis, label: str
) -> str:
    """One ratio as a dot with its interval; open, below it, the one beside busy processes; the goal
    as a tick.
    """
    parts = [f'<path class="ntp-one" d="M{axis.place(1):.1f} 0v{HEIGHT}"/>']
    if goal is not None:
        parts.append(f'<path class="ntp-goal" d="M{axis.place(goal):.1f} 3v9"/>')
    for estimate, y, kind in ((quiet, 8, "ntp-quietly"), (busy, 18, "ntp-busily")):
        if estimate:
            low, high = axis.place(estimate.low), axis.place(estimate.high)
            parts.append(f'<path d="M{low:.1f} {y}H{high:.1f}"/>')
            middle = axis.place(estimate.value)
            parts.append(f'<circle class="{kind}" cx="{middle:.1f}" cy="{y}" r="3.6"/>')
    return (
        f'<svg class="ntp-ratio" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def ratio_ticks(axis: Axis) -> str:
    """The numbers below the strips."""
    texts = "".join(
        f'<text x="{axis.place(tick):.1f}" y="12">{figures(tick)}</text>' for tick in axis.ticks
    )
    return (
        f'<svg class="ntp-ratio" viewBox="0 0 {WIDTH} 16" aria-hidden="true">'
        f'<g text-anchor="middle">{texts}</g></svg>'
    )


def growth_panel(growth: Growth, title: str) -> str:
    """Seconds against size in two logarithmic axes, the fitted power as a line with its exponent,
    the ideal one dashed.
    """
    medians, slope = growth.medians, growth.slope
    timings = [second for seconds in growth.seconds for second in seconds]
    x = Axis(growth.sizes, LEFT, PANEL_WIDTH - 14)
    y = Axis(timings, PANEL_HEIGHT - BELOW, ABOVE)
    parts = [_frame(x, y, growth.variable)]
    middle = math.exp(sum(map(math.log, medians)) / len(medians))
    centre = math.exp(sum(map(math.log, growth.sizes)) / len(growth.sizes))
    for power, kind in ((slope.value, "ntp-fit"), (growth.ideal, "ntp-ideal")):
        if power is not None:
            ends = (min(growth.sizes), max(growth.sizes))
            points = [
                f"{x.place(end):.1f} {y.place(middle * (end / centre) ** power):.1f}"
                for end in ends
            ]
            parts.append(f'<path class="{kind}" d="M{points[0]}L{points[1]}"/>')
    for size, seconds, median in zip(growth.sizes, growth.seconds, medians, strict=True):
        across, low, high = x.place(size), y.place(min(seconds)), y.place(max(seconds))
        parts.append(f'<path d="M{across:.1f} {low:.1f}V{high:.1f}"/>')
        parts.append(
            f'<circle class="ntp-quietly" cx="{across:.1f}" cy="{y.place(median):.1f}" r="4"/>'
        )
    label = (
        f"{title}: seconds grow like the power {slope.value:.2f} of {growth.variable}, from "
        f"{figures(medians[0])} s at {figures(growth.sizes[0])} to {figures(medians[-1])} s at "
        f"{figures(growth.sizes[-1])}"
    )
    return (
        f'<svg class="ntp-growth" viewBox="0 0 {PANEL_WIDTH} {PANEL_HEIGHT}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _frame(x: Axis, y: Axis, variable: str) -> str:
    """Axes with their powers of ten."""
    bottom, right = PANEL_HEIGHT - BELOW, PANEL_WIDTH - 14
    texts = [
        f'<text x="{x.place(tick):.1f}" y="{bottom + 15}" text-anchor="middle">{figures(tick)}'
        "</text>"
        for tick in x.ticks
    ]
    texts += [
        f'<text x="{LEFT - 6}" y="{y.place(tick) + 4:.1f}" text-anchor="end">{figures(tick)}</text>'
        for tick in y.ticks
    ]
    name = f'<text x="{(LEFT + right) / 2}" y="{PANEL_HEIGHT - 4}" text-anchor="middle">'
    frame = f'<path class="ntp-axis" d="M{LEFT} {ABOVE}V{bottom}H{right}"/>'
    return f"{frame}{''.join(texts)}{name}{escape(variable)}</text>"
