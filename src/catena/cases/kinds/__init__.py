"""One file per kind of system: the model of its tables [system] and [start], beside the template of `catena new`."""
