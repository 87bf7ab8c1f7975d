"""The command line, one file per group of commands.

Results go to stdout, messages and progress to stderr. Exit codes: 0 done, 1 a bug of catena, 2 a mistake of the user,
3 a failed step, 4 a store error, 130 interrupted. Heavy modules are imported only when a command needs them.
"""

from .main import app, main

__all__ = ["app", "main"]
