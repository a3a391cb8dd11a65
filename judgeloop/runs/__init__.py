"""Shared by all questions: settings, run ids, inputs, running a session, `doctor` and `explain`."""
