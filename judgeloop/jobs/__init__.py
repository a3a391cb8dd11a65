"""The questions that judgeloop answers, one a file: parts put together and handed to the driver."""
