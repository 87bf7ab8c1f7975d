"""Molecules from files: groups, hinges, masses and inertia, beside what ASE says of the same atoms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.io import read

import catena as ct
import uncompiled
from catena.errors import InputError
from catena.systems.linkage.molecule import read_molecule
from places import ROOT

FILES = Path(__file__).parent / "molecule_files"
BUTANE = (FILES / "butane.xyz", [(0, 1), (1, 2), (2, 3)])
CYCLOHEXANE = (FILES / "cyclohexane.xyz", [(3 * k, (3 * k + 3) % 18) for k in range(6)])
PEPTIDE = (
    ROOT / "examples" / "tutorial" / "peptide.pdb",
    [bond for k in range(10) for bond in ((5 * k, 5 * k + 1), (5 * k + 1, 5 * k + 3))],
)


@pytest.mark.parametrize(
    ("given", "groups", "hinges", "loops"), [(BUTANE, 4, 3, 0), (CYCLOHEXANE, 6, 6, 1), (PEPTIDE, 20, 19, 0)],
    ids=["butane", "cyclohexane", "peptide"],
)  # fmt: skip
def test_groups_hinges_mass_and_inertia_are_those_of_the_file(given, groups, hinges, loops):
    """Sums over up to 50 atoms: 1e-12 of the largest. The first bond of the peptide turns nothing: its nitrogen is alone."""
    path, bonds = given
    linkage, start = ct.Linkage.from_molecule(str(path), bonds)
    atoms = read(path)
    assert (len(linkage.bodies), len(linkage.joints), len(linkage.tree.loops)) == (groups, hinges, loops)
    assert all(body.kind in ("solid", "planar") for body in linkage.bodies)
    masses = np.array([body.mass for body in linkage.bodies])
    assert masses.sum() == pytest.approx(atoms.get_masses().sum(), rel=1e-12)
    away = start.position - masses @ start.position / masses.sum()
    total = sum(
        body.tensor + body.mass * (x @ x * np.eye(3) - np.outer(x, x))
        for body, x in zip(linkage.bodies, away, strict=True)
    )
    moments = np.sort(np.linalg.eigvalsh(total))
    assert moments == pytest.approx(np.sort(atoms.get_moments_of_inertia()), rel=1e-12)
    found = linkage.particles(start)
    numbers = read_molecule(str(path), bonds).numbers
    assert found.positions[numbers] == pytest.approx(atoms.get_positions(), abs=1e-12)
    assert [found.types[k] for k in numbers] == atoms.get_chemical_symbols()
    assert found.masses[numbers] == pytest.approx(atoms.get_masses(), rel=1e-14)  # halves of two bodies, put together


def test_angles_of_hinges_are_dihedral_angles():
    """Of the carbons of butane 180 degrees, around the chair +-60 by turns; those of the backbone as ASE tells."""
    butane, start = ct.Linkage.from_molecule(str(BUTANE[0]), BUTANE[1])
    assert np.abs(np.degrees(butane.angles(start))) == pytest.approx([180.0] * 3, abs=0.01)
    chair, start = ct.Linkage.from_molecule(str(CYCLOHEXANE[0]), CYCLOHEXANE[1])
    angles = np.degrees(chair.angles(start))
    assert np.abs(angles) == pytest.approx([60.0] * 6, abs=0.01)
    atoms = read(CYCLOHEXANE[0])
    theirs = [atoms.get_dihedral(*((3 * k + 3 * j) % 18 for j in (-1, 0, 1, 2))) for k in range(6)]
    assert sorted(angles % 360.0) == pytest.approx(sorted(theirs), abs=1e-6)
    peptide, start = ct.Linkage.from_molecule(str(PEPTIDE[0]), PEPTIDE[1])
    atoms = read(PEPTIDE[0])
    numbers = read_molecule(str(PEPTIDE[0]), PEPTIDE[1]).numbers  # particles are counted group after group
    asked = peptide.dihedrals(start, numbers[[[3, 5, 6, 8], [5, 6, 8, 10]]])
    phi, psi = atoms.get_dihedral(3, 5, 6, 8), atoms.get_dihedral(5, 6, 8, 10)
    assert np.degrees(peptide.angles(start))[1:3] % 360.0 == pytest.approx([phi, psi], abs=1e-6)
    assert np.degrees(asked) % 360.0 == pytest.approx([phi, psi], abs=1e-6)


def test_terms_of_a_molecule_are_numbered_as_its_file_is():
    linkage, start = ct.Linkage.from_molecule(
        str(PEPTIDE[0]), PEPTIDE[1], [ct.Dihedral((3, 5, 6, 8), "1 + cos(phi)"), ct.Angle((0, 1, 2), "theta**2")]
    )
    found = linkage.dihedrals(start, linkage.forces[0].atoms)
    assert np.degrees(found) % 360.0 == pytest.approx(read(PEPTIDE[0]).get_dihedral(3, 5, 6, 8), abs=1e-6)


WATER = "3\n\nO 0 0 0\nH 0.96 0 0\nH {x} 0.93 0\n"


@pytest.mark.parametrize(
    ("text", "bonds", "message"),
    [
        (WATER.format(x=-0.24), [(0, 5)], "atoms 0 and 5: there are 3"),
        (WATER.format(x=-0.24), [(1, 2)], r"atoms 1 \(H\) and 2 \(H\) are not bound"),
        (WATER.format(x=-0.24), [(0, 1), (1, 0)], r"atoms 0 and 1 are given twice\n  at rotatable\[1\]"),
        (WATER.format(x=-0.24), ["ab"], "numbers of two atoms"),
        (WATER.format(x=-0.24), [(0, 1.5)], r"= 1.5[\s\S]*numbers of two atoms"),
        (WATER.format(x="nan"), [(0, 1)], r"atom 2 is at \[nan, 0.93, 0.0\]"),
        ("3\n\nO 0 0 0\nH 0.96 0 0\nH 0.9 0.1 0\n", [(0, 1)], "atoms 1 and 2 overlap"),
        ("no atoms\n", [(0, 1)], "ASE cannot read"),
    ],
)
def test_wrong_files_and_bonds_are_refused(tmp_path, text, bonds, message):
    path = tmp_path / "wrong.xyz"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        ct.Linkage.from_molecule(str(path), bonds)


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("1\n\nAr 0 0 0\n", [0.0]),
        ("2\n\nAr 0 0 0\nAr 0 0 3.8\n", [0.0, 0.0]),
        ("3\n\nC 0 0 0\nO 0 0 1.16\nO 0 0 -1.16\n", [2 * 15.999 * 1.16**2]),
    ],
)
def test_atoms_and_lines_without_bonds_that_turn_are_bodies_of_their_own(tmp_path, text, moments):
    path = tmp_path / "lines.xyz"
    path.write_text(text)
    linkage, start = ct.Linkage.from_molecule(str(path), [])
    assert [body.moments.max() for body in linkage.bodies] == pytest.approx(moments, rel=1e-12)
    moving = linkage.start(start.position, velocity=[[1.0, 0.0, 0.0]] * linkage.count)
    run = uncompiled.simulate(linkage, moving, ct.EnergyMomentum(), dt=0.1, steps=3)
    assert run.final.position == pytest.approx(start.position + np.array([0.3, 0.0, 0.0]), abs=1e-13)


def test_one_bond_of_a_ring_does_not_turn():
    with pytest.raises(InputError, match="stay in one group"):
        ct.Linkage.from_molecule(str(CYCLOHEXANE[0]), CYCLOHEXANE[1][:1])
    with pytest.raises(InputError, match="there is no file"):
        ct.Linkage.from_molecule("nowhere.xyz", [])


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A run of butane without hydrogens, whose groups share the masses of the atoms at their bond, in three formats."""
    folder = tmp_path_factory.mktemp("exported")
    carbons = "4\n\nC 0 0 0\nC 1.5 0 0\nC 2.0 1.4 0\nC 3.5 1.4 0.2\n"
    (folder / "united.xyz").write_text(carbons)
    linkage, start = ct.Linkage.from_molecule(str(folder / "united.xyz"), [(1, 2)])
    run = uncompiled.simulate(linkage, start, ct.Rattle(), dt=0.01, steps=1)
    for name in ("out.xyz", "out.dump", "out.gsd", "out.pdb"):
        run.export(folder / name)
    run.export(folder / "groups.xyz", "xyz")
    return folder


@pytest.mark.parametrize("name", ["out.xyz", "out.pdb"])
def test_atoms_are_exported_once_with_their_species(exported, name):
    found = read(exported / name, index=0)
    assert found.get_chemical_symbols() == ["C"] * 4
    assert found.get_positions() == pytest.approx(read(exported / "united.xyz").get_positions(), abs=6e-4)


def test_a_format_that_is_named_writes_what_it_says(exported):
    """Two groups; and of particles that are no elements the suffix writes the bodies."""
    groups = read(exported / "groups.xyz", index=0, format="extxyz")
    assert len(groups) == 2 and groups.arrays["orientation"].shape == (2, 4)
    bead = ct.Body.from_particles([[0, 0, 0], [1, 0, 0], [0, 1, 0]], types=["C", "C", "bead"])
    linkage = ct.Linkage([bead], gravity=(0, 0, 0))
    run = uncompiled.simulate(linkage, linkage.start(), ct.Rattle(), dt=0.01, steps=1)
    assert len(read(run.export(exported / "bead.xyz"), index=0, format="extxyz")) == 1


def test_a_dump_of_a_molecule_has_its_atoms(exported):
    text = (exported / "out.dump").read_text()
    assert text.split("ITEM: NUMBER OF ATOMS\n")[1].startswith("4\n")


def test_shared_masses_are_exported_whole(exported):
    hoomd = pytest.importorskip("gsd.hoomd")
    with hoomd.open(exported / "out.gsd") as file:
        assert file[0].particles.types == ["C"]
        assert file[0].particles.mass == pytest.approx([12.011] * 4, rel=1e-6)
