"""Text or sympy -> checked expression -> code of compiled functions. No user text is ever evaluated by Python.

`to_text` (sympy to text), `parse` (text to tree), `to_sympy` (tree to sympy), `jacobian` (derivatives), `write_lines`
(code). A process that finds its code in the cache needs `parse` only, and `parse` does not load sympy.
"""

from .derivatives import jacobian
from .parser import parse
from .symbols import to_sympy, to_text
from .tree import Tree, derivative_cost
from .writer import write_lines

__all__ = ["Tree", "derivative_cost", "jacobian", "parse", "to_sympy", "to_text", "write_lines"]
