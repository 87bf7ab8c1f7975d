"""A system of another package, as text."""

from __future__ import annotations

SYSTEM = '''
from catena.kernels import views
from catena.systems.base import Field, Invariant, State, System, register
import numpy as np

def spin(z, par, out):
    out[0] = par.rate[0] * z[1]
    out[1] = -par.rate[0] * z[0]

def publish(z, par, row):
    row[0] = z[0]
    row[1] = z[1]

def measure(z, par, out, scale):
    out[0] = z[0] * z[0] + z[1] * z[1]
    scale[0] = max(scale[0], out[0])

@register
class Wheel(System):
    """A point on a wheel."""

    title = "Wheel"
    fields = (Field("place", (2,), ("xy",), "where it is"),)
    invariants = (Invariant("radius", (), (), "squared", frozenset({"quadratic"})),)
    default_method = ("RK4", {})

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    def start(self, place: list[float], time: float = 0.0) -> State:
        return State({"place": np.array(place, dtype=float)}, time)

    def view(self, name):
        fills = {views.field: spin, views.publish: publish, views.measure: measure}
        return views.View(name, fills, 2, lambda s: s.place.copy(), lambda z, t: State({"place": z.copy()}, t)) if name == "field" else None

    def parameter_arrays(self):
        return {"rate": np.array([self.rate])}

    def describe(self):
        return {"kind": self.kind, "rate": self.rate}

    def names(self):
        return {f"place[{k}]": f"row[{k}]" for k in range(2)}
'''
