"""The command line, one file per group of commands.

Results go to stdout, messages and progress to stderr. Exit codes: 0 done, 1 a bug of catena, 2 a mistake of the user,
3 a step that failed, 4 the store, 130 stopped. Nothing heavy is imported before a command needs it.
"""

from .main import app, main

__all__ = ["app", "main"]
