"""What code rests on: the definitions and files that a piece of it reaches.

- `sources`: which files of the package a piece of code depends on, through public names too
- `reach`: the definitions that an experiment rests on, for its records
- `statements`: what a statement of a module says, with what its names are bound to
- `bindings`: what statements and imports bind in their scope
- `modules`: the modules of packages, and what a dotted name in them is bound to
- `elsewhere`: code that acts at import, or looks where nothing can be seen
"""
