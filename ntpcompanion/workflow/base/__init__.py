"""What every part of the workflow stands on; imports nothing of the rest.

- `project`: where the things of one checkout are, and its locks
- `files`: files that are either whole or absent, hashes, JSON with a checksum, and paths that other
  programs can take
- `texts`: texts in UTF-8 whose lines every program counts alike
- `yaml_files`, `schema`: YAML read strictly, and data checked against a type
- `errors`: the exception that a command shows as a sentence
- `environment`: the environment variables of processes that make numbers
- `processes`: programs started, heard, given up after a time, ended with their parent
- `git`: git on the folder of a project
- `tracing`: a process that imports from sources and logs what it reads
- `installed`: what is installed in this environment, by content
- `browser`: the browser that reads and prints the pages
- `provenance`: versions, hardware, date
"""
