# Chores, one word each. Everything happens in the virtual environment .venv, which is made when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# the groups of pyproject.toml; pip learnt to read them itself only in version 25.1
DEV = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"])')

# The order of the tests and all that they draw at random.
SEED ?= 1
RUN = $(PYTHON) tests/whole_run.py --seed $(SEED)

# What explores begins somewhere else each time, and says where.
ifndef CHAOS_SEED
CHAOS_SEED := $(shell date +%s)
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test fast cluster chaos soak lint format types bench proto wheel clean

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | \
		while IFS='|' read -r target text; do printf '  make %-8s %s\n' "$$target" "$$text"; done

setup: $(VENV)/.dev ## Make .venv with heronpy and all development tools

demo: $(VENV)/.run ## Run a word count with a live table; Ctrl-C stops it
	@$(BIN)/heronpy demo

test: ## Check and test everything; SEED=… for another order
	@$(RUN) lint types fast cluster

fast: ## Run the tests that start no cluster
	@$(RUN) fast

cluster: ## Run the tests that start real processes, and the slow ones
	@$(RUN) cluster

chaos: $(VENV)/.dev ## Explore: properties, 5,000 simulated schedules, CHAOS_KILLS (20) kills of every kind of process at full load and in updates
	@echo "CHAOS_SEED=$(CHAOS_SEED)"
	@$(PYTHON) tests/whole_run.py --seed $(CHAOS_SEED) fast
	SIMULATION_SEED=$(CHAOS_SEED) SIMULATION_SCHEDULES=5000 $(BIN)/python -m pytest -q -s tests/simulation
	CHAOS_SEED=$(CHAOS_SEED) CHAOS_KILLS=$${CHAOS_KILLS:-20} $(BIN)/python -m pytest -q -s -p no:randomly tests/integration/test_under_fire.py tests/integration/test_exactly_once_files.py tests/integration/test_scaling_under_fire.py tests/integration/test_cut_links.py

soak: $(VENV)/.dev ## Random faults for SOAK_MINUTES (10), then a master away for as long
	@echo "CHAOS_SEED=$(CHAOS_SEED)"
	CHAOS_SEED=$(CHAOS_SEED) $(BIN)/python -m pytest -q -s -p no:randomly -m soak

lint: $(VENV)/.ruff ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.ruff ## Mend what lint complains about, as far as a tool can
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

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "heronpy needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@echo "making a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Before all else, so that a mistake in style shows within a minute.
$(VENV)/.ruff: $(VENV)/.made
	$(PIP) install ruff
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml setup.py
	@echo "installing heronpy into $(VENV), once; a few packages are downloaded"
	$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing the development tools into $(VENV), once; PySpark among them is a large download"
	$(PIP) install $(DEV)
	@touch $@
