# Everything sets itself up in a virtual environment of its own; python3 (3.10 or later) is all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Four more than there are cores: most tests wait for processes, and three workers kept little more than one core busy.
# Each begins with tests that stand together, which share what is slow to start.
WORKERS ?= $(shell echo $$(($$(nproc) + 4)))
# What measures coverage: from Python 3.12 on there is one that costs next to nothing.
CORE = $(shell $(BIN)/python -c "import sys; print('sysmon' if sys.version_info >= (3, 12) else 'ctrace')")

# Of seven thousand modules that are installed, a third is loaded: each is compiled when it is, and kept. Where
# PYTHONDONTWRITEBYTECODE is set, each of thousands of processes would compile them for itself.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# duckrow alone, without what only its tests need
PROGRAM := $(VENV)/.program

.PHONY: help demo test pytest check ready bench bench-check soak clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 13

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

# Or six workers would begin with compiling the same modules.
ready: $(STAMP)
	$(BIN)/python -m compileall -q src

# What takes one core for a while is done beside what takes all.
test: $(STAMP)  ## all of it: what CI runs
	$(MAKE) --no-print-directory --jobs=2 check pytest

pytest: ready
	$(BIN)/coverage erase  # what an interrupted run has left would count
	COVERAGE_CORE=$(CORE) $(BIN)/coverage run -m pytest --workers $(WORKERS)
	$(BIN)/python -m tests.coverage_floors

soak: $(STAMP)  ## the crash tests and generated requests, for a long time
	DUCKROW_SOAK=1 $(BIN)/pytest tests/system -k "crash or killed_again" -x
	DUCKROW_SOAK=1 $(BIN)/pytest tests/slurm/test_unattended.py -x
	DUCKROW_SOAK=1 $(BIN)/pytest tests/web/test_openapi.py -x

bench: $(STAMP)  ## duckrow beside its rivals; see benchmarks/README.md
	$(PIP) -e ".[bench]"
	$(BIN)/python -m benchmarks

bench-check: $(STAMP)  ## fails if a ratio of benchmarks/recorded.json has become a fifth worse
	$(PIP) -e ".[bench]"
	$(BIN)/python -m benchmarks --check

clean:
	rm -rf $(VENV) .demo build dist
