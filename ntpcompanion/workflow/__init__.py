"""From a notebook to a claim, a verdict and a page. Knows no mathematics."""

from ntpcompanion.workflow.measure import measure
from ntpcompanion.workflow.recorded import show_record

__all__ = ["measure", "show_record"]
