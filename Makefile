# Needs a Python >= 3.11 and nothing else; uv is used where it is installed.
.DEFAULT_GOAL := help
.PHONY: demo noisy-neighbor test test-fast test-page test-server test-model test-postgres test-all coverage lint wheels extras bench bench-page bench-postgres bench-server soak small-model crash drill fuzz fuzz-api docs screenshots lock stats clean help

VENV := .venv
# The distributions that `make demo` installs, for the page too, and those that it does without.
RUN := packages/theanine packages/theanine-server
FURTHER := packages/theanine-methods packages/theanine-adapters packages/theanine-bench
BIN := $(VENV)/bin
ANY_PYTHON := $(BIN)/python
BASE := $(VENV)/.base-installed
DEV := $(VENV)/.dev-installed
LINT := $(VENV)/.lint-installed
# Installing from the lock alone: each file checked by its hash, nothing resolved anew (pip would try
# the newest version of what a package needs with an extra, and refuse it for its hash). The builder
# of the project itself, and of what comes as source alone, is in the lock too (requirements/base.txt),
# so nothing is fetched beside it.
UV_INSTALL := uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes
EDITABLE := --no-deps --no-build-isolation
UV_SELF := uv pip install --quiet --python $(BIN)/python $(EDITABLE)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes
# (the builder looks for its other half on the PATH)
PIP_SELF := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check $(EDITABLE)

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s%s\n", $$1, $$2 }' Makefile

demo: $(BASE) ## Remember a bundled conversation and answer from it, offline
	@$(BIN)/theanine demo

# What needs a browser, a server or a model in this process has a command of its own.
# PYTEST_OPTIONS is not PYTEST_ADDOPTS, which each pytest that a test starts would read, too.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST_OPTIONS)

test: $(DEV) ## Run the suite on all cores (without slow, browser, server and model tests)
	$(PYTEST) -m "not browser and not server and not model and not slow"

test-fast: $(DEV) ## Run the tests of the inner loop, within a minute
	$(PYTEST) -m "not browser and not server and not model and not slow and not data"

test-page: $(DEV) ## Run the tests that drive a Chromium or a Firefox
	$(PYTEST) -m browser

test-server: $(DEV) ## Run the tests that start the rating app's server
	$(PYTEST) -m "server and not browser"

test-model: $(DEV) ## Run the tests of models on this machine (after `make extras`)
	$(PYTEST) -m model

test-postgres: $(DEV) ## Run all tests of stores in PostgreSQL on Debian's, with PgBouncer and without
	PYTHONPATH=tests $(BIN)/python -m support.debian_postgres $(PYTEST) -k postgres \
		packages/theanine/tests/contracts packages/theanine/tests/store

test-all: $(DEV) ## Run all tests; those of what is not installed are skipped
	$(PYTEST)

coverage: $(DEV) ## Run all tests and print the coverage of all packages
	$(PYTEST) --cov --cov-report=term:skip-covered

lint: $(LINT) ## Check style, format, import layers and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

wheels: $(DEV) ## Build the wheels and run them on each Python of 3.11 to 3.13
	@sh tools/check_wheels.sh $(VENV)

stats: ## Print lines, prose and import cycles of all packages
	@python3 tools/code_stats.py packages/*/src/*

extras: $(DEV) ## Install what the tests of the extras with own models need (1 GB)
	@sh requirements/extras.sh $(VENV)

bench: $(DEV) ## Measure speed, size and calls beside their goals
	$(BIN)/python benchmarks/run.py

bench-postgres: $(DEV) ## Measure many users on SQLite, PostgreSQL and Citus, side by side
	$(BIN)/python benchmarks/postgres.py

bench-server: $(DEV) ## Measure the service under load on SQLite and PostgreSQL, beside mem0's library
	$(BIN)/python benchmarks/over_http.py

noisy-neighbor: $(DEV) ## Measure one tenant's recalls and erasure while another one makes noise
	$(BIN)/python benchmarks/noisy_neighbor.py

soak: $(DEV) ## Kill server, worker and database in turn for five minutes while clients talk
	$(BIN)/python benchmarks/soak.py

bench-page: $(DEV) ## Measure the page with 10,000 memories in Debian's Chromium
	PYTHONPATH=tests $(BIN)/python benchmarks/page.py

small-model: $(DEV) ## Print how much of a small model's replies can be used (after `make extras`)
	$(BIN)/python benchmarks/small_model.py

drill: $(DEV) ## Kill a worker of a Citus cluster and rebalance it while users talk (THEANINE_CITUS)
	$(BIN)/python -m pytest -s packages/theanine/tests/store/test_citus_drill.py

crash: $(DEV) ## Kill the process 630 times; nothing may be lost, doubled or paid twice
	PYTHONPATH=packages/theanine/tests:tests $(BIN)/python -m crash --kills 420

FUZZ_SCALE ?= 10
fuzz: $(DEV) ## Run the fuzz tests with FUZZ_SCALE times the cases of the suite (default 10)
	FUZZ_SCALE=$(FUZZ_SCALE) $(PYTEST) -m fuzz --hypothesis-show-statistics

fuzz-api: $(DEV) ## Try the service's API with schemathesis for some minutes (FUZZ_SCALE, default 10)
	FUZZ_SCALE=$(FUZZ_SCALE) $(BIN)/python -m pytest -s packages/theanine-server/tests/server/test_api_fuzz.py

docs: $(DEV) ## Write docs/cli.md and docs/api.md from the code
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/generate_api.py

screenshots: $(DEV) ## Write the pictures of the page in docs/images from the bundled conversation
	PYTHONPATH=tests $(BIN)/python docs/screenshots.py

lock: ## Choose all versions anew and write requirements/*.txt
	@sh requirements/lock.sh

clean: ## Remove what was built and installed
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .coverage
	find packages tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(ANY_PYTHON):
	@sh requirements/venv.sh $(VENV)

$(BASE): requirements/base.txt $(RUN:=/pyproject.toml) | $(ANY_PYTHON)
	@echo "Installing into $(VENV) from requirements/base.txt"
	@if command -v uv >/dev/null; then $(UV_INSTALL) -r requirements/base.txt && $(UV_SELF) $(addprefix --editable ,$(RUN)); \
	else $(PIP_INSTALL) -r requirements/base.txt && $(PIP_SELF) $(addprefix --editable ,$(RUN)); fi
	@touch $@

$(DEV): requirements/dev.txt $(FURTHER:=/pyproject.toml) $(BASE)
	@echo "Installing into $(VENV) from requirements/dev.txt"
	@if command -v uv >/dev/null; then $(UV_INSTALL) --no-build-isolation -r requirements/dev.txt && $(UV_SELF) $(addprefix --editable ,$(FURTHER)); \
	else $(PIP_INSTALL) --no-build-isolation -r requirements/dev.txt && $(PIP_SELF) $(addprefix --editable ,$(FURTHER)); fi
	@touch $@

# Types are checked against the packages of all extras of the service. `make extras` installs them, in
# versions of its own.
$(LINT): requirements/server.txt $(DEV)
	@if $(BIN)/python -c "import mcp" 2>/dev/null; then exit 0; fi; echo "Installing into $(VENV) from requirements/server.txt"; \
	if command -v uv >/dev/null; then $(UV_INSTALL) --no-build-isolation -r requirements/server.txt; \
	else $(PIP_INSTALL) --no-build-isolation -r requirements/server.txt; fi
	@touch $@
