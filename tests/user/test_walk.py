"""The way of `catena run` through the code stays short: a reader who follows it should get there."""

from __future__ import annotations

from pathlib import Path

import pytest

from walk import walk

MOST_FILES, MOST_FUNCTIONS = 113, 855
SLOW_TO_IMPORT = {"matplotlib", "scipy.interpolate", "scipy.linalg", "scipy.special", "sympy", "xarray", "zarr"}


@pytest.mark.slow
def test_a_warm_run_visits_few_files_and_makes_its_chain_once(tmp_path: Path) -> None:
    made = walk(tmp_path, ["--no-out", "--quiet"])
    assert made.systems == {"Chain": 1}
    assert len(made.files) <= MOST_FILES
    assert len(made.functions) <= MOST_FUNCTIONS
    unneeded = ("running/ensembles", "output", "analysis", "reproduce", "systems/linkage", "text/citations")
    assert not [name for name in made.functions if name.startswith(unneeded)]
    assert not SLOW_TO_IMPORT & set(made.modules)
