"""The command `ntpcompanion`.

- `commands`: the commands, the only place that parses arguments
- `options`: what they take
- `terminal`: what they show: lines, tables, progress bars, errors
"""
