"""From a notebook to a claim, a verdict and a page. Knows no mathematics."""

from ntpcompanion.workflow.measure import measure

__all__ = ["measure"]
