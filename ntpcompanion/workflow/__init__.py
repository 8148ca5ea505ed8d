"""From a notebook to a claim, a verdict and a page. Knows no mathematics."""

from ntpcompanion.workflow.claims.measure import measure
from ntpcompanion.workflow.records.show import show_record

__all__ = ["measure", "show_record"]
