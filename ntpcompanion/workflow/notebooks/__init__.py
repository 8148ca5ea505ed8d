"""Text notebooks, the profiles that set their parameters, and the table of contents.

- `notebook`: one notebook read from `notebooks/*.md`; all of them found, some of them chosen
- `cells`: parts of its text
- `parameters`: the parameters cell, the values that each parameter may take, and functions of the
  package that judge them before a kernel starts
- `profiles`: `notebooks/profiles.yml`, and `-p NAME=VALUE` of the command line
- `lab`: how JupyterLab is started
- `contents`: `book/_toc.yml`, what is wrong with the pages it lists, and their front matter
"""
