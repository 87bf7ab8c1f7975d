"""
A peptide
=========

A molecule with fixed bond lengths and bond angles moves by turning about some of its bonds. `Linkage.from_molecule` reads it
from an XYZ or PDB file and splits it into rigid groups, with a hinge at each bond that turns. Here ten residues of alanine,
without hydrogens, are released from a stretched chain; `peptide.pdb` is in the folder of this script. Lengths are in
angstrom, times in ps, masses in atomic mass units; 100 units of energy are then 1 kJ/mol.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

turning = [bond for k in range(0, 50, 5) for bond in ((k, k + 1), (k + 1, k + 3))][1:]  # N-CA and CA-C of each residue
attract, repel = ct.LennardJones(80.0, 3.4), ct.LennardJones(40.0, 3.0)
pairs = ct.PairTable({("C", "C"): attract, ("C", "N"): repel, ("C", "O"): repel, ("N", "N"): repel, ("N", "O"): attract, ("O", "O"): repel})
torsions = [ct.Torsion(k, "b*(1 + cos(3*theta))", {"b": 100.0}) for k in range(len(turning))]
peptide, stretched = ct.Linkage.from_molecule("peptide.pdb", turning, torsions, pairs=pairs, exclude=2)
print(peptide, "of", len(peptide.particles(stretched).types), "atoms")

# %%
# All atoms that are more than two hinges apart interact. The step still conserves energy and momenta.

run = ct.simulate(peptide, stretched, dt=0.01, t_end=40.0, every=10)
print(run.audit())

# %%
# The angles of the hinges are the dihedral angles of the backbone. They count full turns; the picture shows them between
# -180 and 180 degrees. `run.export("folded.pdb")` writes the atoms for other programs.

angles = (np.degrees(peptide.outputs(run).angle) + 180.0) % 360.0 - 180.0
length = np.linalg.norm(run.data.position[:, -1] - run.data.position[:, 0], axis=1)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.plot(run.data.time, length)
left.set(xlabel="time (ps)", ylabel="distance of the ends (angstrom)")
right.plot(run.data.time, angles, ".", markersize=1.5)
right.set(xlabel="time (ps)", ylabel="dihedral angles (degrees)")
plt.show()
