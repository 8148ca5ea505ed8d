"""A book of one's own.

- `new_book`: what `ntpcompanion init` makes of the folder `template`, which is a small whole book
"""
