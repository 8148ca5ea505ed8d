"""Whether a number or a verdict has moved, and how a person, a host or a program is told.

- `baselines`: the stored numbers
- `value_comparison`: measured values against the baseline, verdicts against those expected
- `check_report`: stored results compared with their baseline, and what was found
- `formats`: the same as Markdown and as data
"""
