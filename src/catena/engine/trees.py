"""Source text as trees of `ast`, by one thread at a time.

Python counts the depth of a tree that it makes for all threads together, and where the garbage collector lets another thread in meanwhile
(`gc.callbacks`, as dask.distributed has them), it ends with a SystemError (seen with Python 3.11.7).
"""

from __future__ import annotations

import ast
import threading

_alone = threading.RLock()


def module_tree(text: str) -> ast.Module:
    """Of statements."""
    with _alone:
        return ast.parse(text)


def expression_tree(text: str) -> ast.expr:
    """Of one expression."""
    with _alone:
        return ast.parse(text, mode="eval").body
