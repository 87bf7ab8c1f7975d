"""How a free body is rotated: the parts of splittings that are exact or nearly so."""
