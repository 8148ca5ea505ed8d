"""One benchmark in a process of its own: `python -m tests.benchmarks.once NAME` prints its outcome
as the last line, as JSON.
"""

import sys
import warnings

from tests.benchmarks.registry import benchmarks


def main() -> None:
    warnings.simplefilter("ignore")  # of peers
    name = sys.argv[1]
    chosen = benchmarks(name.partition(".")[0])[name]
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(chosen.threads)
    print(f"\n{chosen.run().model_dump_json()}")


if __name__ == "__main__":
    main()
