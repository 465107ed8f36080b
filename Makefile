# Everything sets itself up in a virtual environment of its own; python3 (3.10 or later) is all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One more than there are cores: many tests wait for processes. Each begins with tests that stand together, which share
# what is slow to start.
WORKERS ?= $(shell echo $$(($$(nproc) + 1)))
# What measures coverage: from Python 3.12 on there is one that costs next to nothing.
CORE = $(shell $(BIN)/python -c "import sys; print('sysmon' if sys.version_info >= (3, 12) else 'ctrace')")

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# duckrow alone, without what only its tests need
PROGRAM := $(VENV)/.program

.PHONY: help demo test check bench soak clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | expand -t 10

$(PROGRAM): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[dev]"
	touch $@ $(PROGRAM)

demo: $(PROGRAM)  ## a small sweep over two devices, with live progress
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

check: $(STAMP)  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	tools/page/check

# Compiled first: where PYTHONDONTWRITEBYTECODE is set, each of thousands of processes would compile it for itself.
test: check  ## all of it: what CI runs
	$(BIN)/python -m compileall -q src
	COVERAGE_CORE=$(CORE) $(BIN)/pytest -n $(WORKERS) --dist worksteal --cov=duckrow --cov-report=
	$(BIN)/python -m tests.coverage_floors

soak: $(STAMP)  ## the crash tests, for a long time
	DUCKROW_SOAK=1 $(BIN)/pytest tests/system -k "crash or killed_again" -x
	DUCKROW_SOAK=1 $(BIN)/pytest tests/slurm/test_unattended.py -x

bench: $(STAMP)  ## duckrow beside its rivals; see benchmarks/README.md
	$(PIP) -e ".[bench]"
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .demo build dist
