"""Bodies linked by joints, in director form: joints, forces, rows, and the steps that keep energy and momentum."""
