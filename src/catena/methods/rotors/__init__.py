"""How a free body is turned: the parts of splittings that are exact or nearly so."""
