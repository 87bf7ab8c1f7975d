"""Methods that keep energy, momentum or constraints by construction."""
