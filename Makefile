# Chores, one word each. Everything happens in the virtual environment .venv, which is made when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# What is installed is what the lock files in requirements/ name, with the hashes that they have.
LOCKED := install --require-hashes --requirement
# heronpy itself, built with the setuptools of the lock file
ITSELF := install --no-deps --no-build-isolation --editable .
# compiled by the installation of heronpy, where there is a compiler; the result lies beside it
C_SOURCE := kernel/flow/_column_keys.c kernel/flow/_xxh3.h
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --upgrade
DOWN := --resolution lowest-direct --group test
LOWEST := build/lowest
LOWEST_PIP := $(LOWEST)/bin/python -m pip --quiet --disable-pip-version-check

# The order of the tests and all that they draw at random.
SEED ?= 1
RUN = $(PYTHON) tests/whole_run.py --seed $(SEED)

# What is measured: groups, or options of `python -m bench run`.
BENCH ?= words peers keys latency rates sizes event-time

# What explores begins somewhere else each time, and says where.
ifndef CHAOS_SEED
CHAOS_SEED := $(shell date +%s)
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup demo test fast lowest cluster chaos soak lint format types bench proto fixtures lock wheel clean

help: ## Show what can be made
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/\1|\2/' | \
		while IFS='|' read -r target text; do printf '  make %-8s %s\n' "$$target" "$$text"; done

setup: $(VENV)/.dev ## Make .venv with heronpy and all development tools

demo: $(VENV)/.run ## Run a word count with a live table; Ctrl-C stops it
	@$(BIN)/heronpy demo

test: ## Check and test everything; SEED=… for another order
	@$(RUN) lint types fast lowest cluster

fast: ## Run the tests that start no cluster
	@$(RUN) fast

lowest: $(LOWEST)/.spark ## Run the fast tests with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python -m pytest -q -n $$(nproc) -m "not cluster and not slow and not soak" --ignore tests/unit/test_architecture.py

cluster: ## Run the tests that start real processes, and the slow ones
	@$(RUN) cluster

chaos: $(VENV)/.dev ## Explore: properties, 5,000 simulated schedules and 10,000 of watermarks, CHAOS_KILLS (20) kills of every kind of process at full load and in updates, units × links × fusing (CHAOS_CELLS of them, else all), power cuts at every step
	@echo "CHAOS_SEED=$(CHAOS_SEED) CHAOS_CELLS=$${CHAOS_CELLS:-all}"
	@RANDOM_PIPELINES=300 $(PYTHON) tests/whole_run.py --seed $(CHAOS_SEED) fast
	SIMULATION_SEED=$(CHAOS_SEED) SIMULATION_SCHEDULES=5000 WATERMARK_SCHEDULES=10000 $(BIN)/python -m pytest -q -s tests/simulation
	CHAOS_SEED=$(CHAOS_SEED) CHAOS_KILLS=$${CHAOS_KILLS:-20} $(BIN)/python -m pytest -q -s -p no:randomly tests/integration/test_under_fire.py tests/integration/pipelines/test_words_under_fire.py tests/integration/pipelines/test_windows_under_fire.py tests/integration/test_exactly_once_files.py tests/integration/test_scaling_under_fire.py tests/integration/test_fused.py tests/integration/test_units.py tests/integration/test_classic_groupings.py tests/integration/test_cut_links.py tests/integration/test_damaged_nodes.py tests/integration/test_power_cuts.py

soak: $(VENV)/.dev ## Memory of every process for SOAK_MINUTES (10), random faults for as long, then a master away
	@echo "CHAOS_SEED=$(CHAOS_SEED)"
	CHAOS_SEED=$(CHAOS_SEED) $(BIN)/python -m pytest -q -s -p no:randomly -m soak

fixtures: $(VENV)/.dev ## Make the checkpoints of this version in tests/fixtures
	$(BIN)/python tests/fixtures/make_checkpoints.py

lint: $(VENV)/.ruff ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.ruff ## Mend what lint complains about, as far as a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy

bench: $(VENV)/.dev ## Measure, also against peers; BENCH="words --rounds 3" for less
	$(BIN)/python -m bench install
	$(BIN)/python -m bench run $(BENCH)

proto: $(VENV)/.dev ## Generate kernel/protocol/control_pb2.* from control.proto
	cd kernel/protocol && ../../$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. control.proto

lock: $(VENV)/.made ## Renew the lock files in requirements/
	$(PIP) install uv
	$(COMPILE) pyproject.toml --group dev --output-file requirements/ci.lock
	$(COMPILE) --group lint --constraint requirements/ci.lock --output-file requirements/lint.lock
	$(COMPILE) pyproject.toml $(DOWN) --extra columns --extra fsspec --extra parquet --extra prometheus --extra zookeeper --output-file requirements/lowest.lock
	$(COMPILE) pyproject.toml $(DOWN) --all-extras --output-file requirements/lowest-spark.lock

wheel: $(VENV)/.dev ## Build a wheel into dist/, with the bill of its materials
	rm -f dist/heron_py-*
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/python requirements/sbom.py dist

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f kernel/flow/_column_keys.*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "heronpy needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@echo "making a virtual environment in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Before all else, so that a mistake in style shows within a minute.
$(VENV)/.ruff: $(VENV)/.made requirements/lint.lock
	$(PIP) $(LOCKED) requirements/lint.lock
	@touch $@

$(VENV)/.run: $(VENV)/.made pyproject.toml setup.py $(C_SOURCE)
	@echo "installing heronpy into $(VENV), once; a few packages are downloaded"
	$(PIP) install --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made requirements/ci.lock pyproject.toml setup.py $(C_SOURCE)
	@echo "installing heronpy and the development tools into $(VENV), once; PySpark among them is a large download"
	$(PIP) $(LOCKED) requirements/ci.lock
	$(PIP) $(ITSELF)
	@touch $(VENV)/.run $@

# A part of its own, without PySpark: CI has no time for a second one.
$(LOWEST)/.made: requirements/lowest.lock pyproject.toml setup.py $(C_SOURCE)
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST_PIP) $(LOCKED) requirements/lowest.lock
	$(LOWEST_PIP) $(ITSELF)
	@touch $@

$(LOWEST)/.spark: $(LOWEST)/.made requirements/lowest-spark.lock
	$(LOWEST_PIP) $(LOCKED) requirements/lowest-spark.lock
	@touch $@
