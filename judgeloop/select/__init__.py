"""`select`: find out which of many systems is best."""

from judgeloop.core.callable_module import make_callable

make_callable(__name__, "call", "select")
