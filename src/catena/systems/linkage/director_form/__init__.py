"""Linkages in directors, with the joints as constraints: EnergyMomentum and Rattle."""
