"""What every part of the workflow stands on; imports nothing of the rest.

- `project`: where the things of one checkout are, and its locks
- `files`: files that are either whole or absent, texts in UTF-8, hashes, JSON with a checksum, and
  paths that other programs can take
- `yaml_files`: YAML read strictly, and data checked against a type
- `errors`: the exception that a command shows as a sentence
- `environment`: the environment variables of processes that make numbers
- `processes`: programs started, heard, given up after a time, ended with their parent
- `tracing`: a process that imports from sources and logs what it reads
- `provenance`: versions, hardware, date; what is installed in this environment, by content
"""
