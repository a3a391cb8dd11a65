"""Time of `judgeloop --help` and `import judgeloop`, against an empty Python and an SDK import.

    python benchmarks/startup.py

Prints medians of warm runs. Asserts nothing, because machines differ.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 15
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import judgeloop": ["-c", "import judgeloop"],
    "judgeloop --help": ["-m", "judgeloop", "--help"],
    "judgeloop compare --help": ["-m", "judgeloop", "compare", "--help"],
    "import openai (for scale)": ["-c", "import openai"],
}


def milliseconds(arguments: list[str]) -> float:
    """Return the median wall time of a command, in milliseconds."""
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[1:])  # the first run warms the disk cache


def main() -> None:
    """Print the table."""
    empty = milliseconds(COMMANDS["python -c pass"])
    print(f"{'command':<28}{'ms':>8}{'ratio to empty':>17}")
    for name, arguments in COMMANDS.items():
        time_ms = milliseconds(arguments)
        print(f"{name:<28}{time_ms:>8.0f}{time_ms / empty:>17.1f}")


if __name__ == "__main__":
    main()
