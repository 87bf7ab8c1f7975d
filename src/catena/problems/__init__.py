"""Ready-made systems with starts and, where it exists, the exact solution.

They are listed in `__init__.pyi`; a family of problems is imported when one of its problems is first used, like the
public names of catena.
"""

import lazy_loader

from ..errors import naming_the_nearest

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = naming_the_nearest(_load, __name__, __all__)
