"""Ready-made systems with starts and, where it exists, the exact solution.

They stand in `__init__.pyi`; a family of problems is loaded when one of its problems is first used, as the public names of catena are.
"""

import lazy_loader

from ..errors import naming_the_nearest

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = naming_the_nearest(_load, __name__, __all__)
