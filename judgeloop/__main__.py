"""`python -m judgeloop`, the same as `judgeloop`."""

from judgeloop.cli.app import main

if __name__ == "__main__":
    main()
