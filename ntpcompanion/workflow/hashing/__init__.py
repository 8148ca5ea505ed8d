"""What code rests on: the definitions and files that a piece of it reaches.

- `imported_files`: which files of the package a piece of code depends on, through public names too
- `definitions`: the definitions that an experiment rests on, for its records
- `statements`: what a statement of a module says, with what its names are bound to; code that acts
  at import, or looks where nothing can be seen
- `bindings`: the modules of packages, what statements and imports bind in them, and what a dotted
  name is bound to
"""
