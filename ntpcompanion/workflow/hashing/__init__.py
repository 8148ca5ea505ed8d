"""What code rests on: the definitions and files that a piece of it reaches.

- `sources`: which files of the package a piece of code depends on, through public names too
- `used_names`: the names that a piece of code uses of the modules it imports
- `reach`: the definitions that an experiment rests on, for its records
- `statements`: what a statement of a module refers to, by the scopes of Python
- `bindings`: what statements and imports bind in their scope
- `modules`: the modules of packages, and what a dotted name in them is bound to
- `tree_hash`: the hash of a syntax tree whose names stand for definitions
- `elsewhere`: statements that act at import, or look where nothing can be seen
- `purity`: which calls of argument checks may be left out
- `catching`: where their errors may be caught
"""
