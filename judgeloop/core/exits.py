"""Exit codes of the command line, which results and errors map to."""

EXIT_ERROR = 1
EXIT_USAGE = 2  # a flag or a file is wrong; nothing was spent
EXIT_UNDECIDED = 3
EXIT_JUDGE = 4  # the judge failed
EXIT_OTHER_WON = 5  # or a required score was missed
EXIT_INTERRUPTED = 130
EXIT_OUTPUT_CLOSED = 141  # nobody reads standard output; 128 + SIGPIPE, as a shell reports it
