"""The whole book as one PDF.

- `pdf`, `printed`, `joined`: the whole book as one PDF
"""
