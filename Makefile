# make run    the main job, after installing what it needs
# make test   all tests, after installing what they need
# make check  lint and types      make slow  long studies      make bench  races, as ratios in one run

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out

.PHONY: setup setup-dev run test slow check bench clean

# The stamps say what is installed; they fall when the requirements change.
$(VENV)/core.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/core.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,taylor,cluster,export,docs]'
	touch $@

setup: $(VENV)/core.stamp

setup-dev: $(VENV)/dev.stamp

run: setup
	$(BIN)/catena run examples/galactic.toml --plots $(OUT)

test: setup-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

slow: setup-dev
	$(BIN)/python -m pytest -m slow

check: setup-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

bench: setup-dev
	$(BIN)/catena bench engine

clean:
	rm -rf $(VENV) $(OUT) build dist
