"""Text or sympy -> checked expression -> code of compiled functions. No user text is ever evaluated by Python."""

from .derivatives import jacobian
from .parser import Tree, parse
from .symbols import to_sympy, to_text
from .writer import write_lines

__all__ = ["Tree", "jacobian", "parse", "to_sympy", "to_text", "write_lines"]
