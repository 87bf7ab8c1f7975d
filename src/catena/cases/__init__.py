"""Cases: a run described by a TOML file, with the names and arguments of Python and nothing else.

`positions` finds keys in the text, `source` reads text and overrides, `tables` holds the models of the tables,
`kinds` one file per kind of system, `whole_case` puts them together, `wording` says what a model refused, `reading` puts a case together.
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
