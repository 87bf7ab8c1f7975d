"""Source text as trees of `ast`, by one thread at a time.

While it builds a tree, Python counts the depth in a variable common to all threads. If the garbage collector lets
another thread run meanwhile (`gc.callbacks`, as in dask.distributed), it ends with a SystemError (seen with Python
3.11.7).
"""

from __future__ import annotations

import ast
import threading

_alone = threading.RLock()


def module_tree(text: str) -> ast.Module:
    """The tree of a text of statements."""
    with _alone:
        return ast.parse(text)


def expression_tree(text: str) -> ast.expr:
    """The tree of the text of one expression."""
    with _alone:
        return ast.parse(text, mode="eval").body
