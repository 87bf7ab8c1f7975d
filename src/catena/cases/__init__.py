"""Cases: a run described by a TOML file, with exactly the names and arguments of Python.

`positions` finds keys in the text, `source` reads text and overrides, `tables` defines the models of the tables,
`kinds` one file per kind of system, `whole_case` combines them, `wording` explains what a model refused, `reading`
makes the case.
"""

from .mistakes import CaseError, Mistake
from .reading import Case, read_case, read_system
from .templates import default_case, template, template_names
from .whole_case import case_schema

__all__ = [
    "Case",
    "CaseError",
    "Mistake",
    "case_schema",
    "default_case",
    "read_case",
    "read_system",
    "template",
    "template_names",
]
