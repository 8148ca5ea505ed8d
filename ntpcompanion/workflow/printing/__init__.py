"""The whole book as one PDF.

- `pdf`: pages printed by a browser, joined by pypdf
"""
