# Chores, one word each. Everything happens in the virtual environment .venv, which is made when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# the groups of pyproject.toml; pip learnt to read them itself only in version 25.1
DEV = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"])')

# Two tests at a time: any two can run side by side, and each has a home of its own.
SPREAD = -n 2

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test fast cluster chaos soak lint format types bench proto wheel clean

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | \
		while IFS='|' read -r target text; do printf '  make %-8s %s\n' "$$target" "$$text"; done

setup: $(VENV)/.dev ## Make .venv with heronpy and all development tools

demo: $(VENV)/.run ## Run a word count with a live table; Ctrl-C stops it
	@$(BIN)/heronpy demo

test: lint types fast cluster ## Check and test everything

fast: $(VENV)/.dev ## Run the tests that start no cluster
	$(BIN)/python -m pytest -q $(SPREAD) -m "not cluster and not slow and not soak"

cluster: $(VENV)/.dev ## Run the tests that start real processes, and the slow ones
	$(BIN)/python -m pytest -q $(SPREAD) -m "(cluster or slow) and not soak"

chaos: $(VENV)/.dev ## Kill every kind of process CHAOS_KILLS (20) times at full load and in updates; 5,000 simulated schedules
	SIMULATION_SCHEDULES=5000 $(BIN)/python -m pytest -q -s tests/simulation
	CHAOS_KILLS=$${CHAOS_KILLS:-20} $(BIN)/python -m pytest -q -s -p no:randomly tests/integration/test_under_fire.py tests/integration/test_exactly_once_files.py tests/integration/test_scaling_under_fire.py

soak: $(VENV)/.dev ## Random faults for SOAK_MINUTES (10), then a master away for as long
	$(BIN)/python -m pytest -q -s -p no:randomly -m soak

lint: $(VENV)/.dev ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev ## Mend what lint complains about, as far as a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy

bench: $(VENV)/.dev ## Run the benchmarks
	$(PIP) install bytewax
	@for script in $$(ls bench/*.py | grep -v measure.py); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

proto: $(VENV)/.dev ## Generate kernel/protocol/control_pb2.* from control.proto
	cd kernel/protocol && ../../$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. control.proto

wheel: $(VENV)/.dev ## Build a wheel into dist/
	$(PIP) wheel --no-deps --wheel-dir dist .

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.run: pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "heronpy needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) install $(DEV)
	@touch $@
