"""Whether a number or a verdict has moved, and how a person, a host or a program is told.

- `value_comparison`: measured values against the stored ones, verdicts against those expected
- `check_report`: what was found, as sentences, as Markdown and as data
"""
