"""What is wrong with an environment or a machine, and how to fix it.

- `doctor_report`: every check, in order
"""
