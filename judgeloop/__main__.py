"""The entry point of the command `judgeloop`, which is also `python -m judgeloop`."""

import gc

# Number of new objects after which garbage is looked for. Most objects of a command stay to its end: with
# Python's 700, a fifth of the time of reading a large file goes into looking for others.
NEW_OBJECTS = 200_000


def main() -> None:
    """Run the command line."""
    gc.set_threshold(NEW_OBJECTS)  # before all that is imported
    from judgeloop.cli.app import app

    app(prog_name="judgeloop")


if __name__ == "__main__":
    main()
