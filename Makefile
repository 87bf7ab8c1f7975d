# make run    the main job, after installing what it needs
# make test   all tests, after installing what they need
# make check  lint and types      make slow  long studies      make bench  races, as ratios in one run
# make bits   whether the working tree computes the same bits as a commit: make bits AGAINST=main
# make docs   documentation       make viewer  the script of the page, from its sources (needs node)
# make changelog   what the next release would say

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
AGAINST ?= HEAD
CONSTRAINTS ?= constraints.txt

.PHONY: setup setup-dev run test slow peers check bench bits docs changelog viewer clean

# The stamps say what is installed; they fall when the requirements change.
$(VENV)/core.stamp: pyproject.toml $(CONSTRAINTS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing catena and what it needs into $(VENV)"
	@begun=$$(date +%s); $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e . && \
	  echo "installed in $$(( $$(date +%s) - begun )) s"
	touch $@

$(VENV)/dev.stamp: $(VENV)/core.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[dev,cluster,export,molecules,movie,docs]'
	touch $@

setup: $(VENV)/core.stamp

setup-dev: $(VENV)/dev.stamp

run: setup
	mkdir -p $(OUT) && rm -rf $(OUT)/pull.zarr
	$(BIN)/catena run --out $(OUT)/pull.zarr --plots $(OUT) --page $(OUT)/pull.html

test: setup-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

slow: setup-dev
	$(BIN)/python -m pytest -m slow

check: setup-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/pyright

peers: setup-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[peers]'
	$(BIN)/python -m pytest -m peers

bits: setup-dev
	$(BIN)/python tests/bits/compare.py $(AGAINST)

docs: setup-dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

changelog: setup-dev
	$(BIN)/towncrier build --draft --version next

viewer:
	viewer/build.sh

bench: setup-dev
	$(BIN)/catena bench engine

clean:
	rm -rf $(VENV) $(OUT) build dist docs/_build viewer/node_modules
