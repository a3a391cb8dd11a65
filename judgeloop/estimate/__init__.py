"""`estimate`: estimate the mean score of one system."""

from judgeloop.core.callable_module import make_callable

make_callable(__name__, "call", "estimate")
