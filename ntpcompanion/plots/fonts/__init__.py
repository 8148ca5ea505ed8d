"""The typeface of figures and pages: Companion Sans, a subset of Source Sans 3 (SIL OFL)."""
