"""`compare`: find out which of two systems is better."""

from judgeloop.core.callable_module import make_callable

make_callable(__name__, "call", "compare")
