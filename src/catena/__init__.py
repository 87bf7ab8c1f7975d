"""catena: Hamiltonian dynamics of rigid bodies and chains, with integrators that preserve the structure of mechanics.

The public names are listed in `__init__.pyi`, which editors and type checkers read. They are loaded on first use (SPEC
1 of Scientific Python), so `import catena` is cheap.
"""

import lazy_loader

from .errors import naming_the_nearest

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = naming_the_nearest(_load, __name__, __all__)
