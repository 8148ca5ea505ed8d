"""Whether a number or a verdict has moved, and how a person, a host or a program is told.

- `value_comparison`: measured values against the baseline, verdicts against those expected
- `check_report`: what a comparison found, as data
- `formats`: the same as annotations of GitHub and Markdown
- `reports`: stored results compared, and the files that are written about it
"""
