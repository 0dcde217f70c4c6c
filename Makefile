# Everything a fresh machine needs is `make` and Python >= 3.11.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Running a notebook writes its outputs into it: what a person plays with is a copy that Git ignores.
OWN    := notebooks/own/investigate.ipynb
SIZE   ?= full
# Processes that run the tests side by side.
WORKERS ?= 2
STAMP  := $(VENV)/.installed

export WORKBENCH_HOME ?= $(CURDIR)/.workbench

.PHONY: help setup test attack faults reproduce lab bench house lint lock clean

help:
	@echo "make reproduce   set up everything and write the reports (SIZE=small for a quick look)"
	@echo "make test        set up everything and run the tests"
	@echo "make faults      put faults into the code and check that the records' claims notice each one"
	@echo "make attack      try for an hour to break the stores, and write the table of docs/reliability.md"
	@echo "make lab         open JupyterLab on a copy of the investigation's notebook, yours to change"
	@echo "make bench       measure speed as ratios and write benchmarks/results.json"
	@echo "make house       print how large the package is, beside the plan for a smaller one"

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python >= 3.11 is needed; $(PYTHON) is older. Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

faults: $(STAMP)
	PYTHONPATH=tests:. $(BIN)/python -m faults $(ARGS)

attack: $(STAMP)
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python -m attack $(ARGS)

reproduce: $(STAMP)
	$(BIN)/workbench reproduce --all --size $(SIZE)

lab: $(STAMP)
	@mkdir -p $(dir $(OWN)) && { test -e $(OWN) || cp notebooks/investigate.ipynb $(OWN); }
	$(BIN)/jupyter lab $(OWN) --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

bench: $(STAMP)
	$(BIN)/python -m benchmarks

house: $(STAMP)
	$(BIN)/python tests/test_house.py

lint: $(STAMP)
	$(BIN)/ruff check workbench records tests benchmarks

lock: $(STAMP)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --extra test pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) .workbench reports/*/
