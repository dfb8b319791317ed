# Everything here needs a Python >= 3.11 and nothing else. uv is used when it is there.
.DEFAULT_GOAL := help
.PHONY: demo test lint extras bench crash docs lock clean help

VENV := .venv
BIN := $(VENV)/bin
ANY_PYTHON := $(BIN)/python
BASE := $(VENV)/.base-installed
DEV := $(VENV)/.dev-installed
# Installing from the lock alone: each file checked by its hash, nothing resolved anew. The builder
# of the project itself, and of what comes as source alone, is in the lock too (requirements/base.txt),
# so nothing is fetched beside it.
UV_INSTALL := uv pip install --quiet --python $(BIN)/python --require-hashes
UV_SELF := uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation \
	--editable .
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
# (the builder looks for its other half on the PATH)
PIP_SELF := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	--no-build-isolation --editable .

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s%s\n", $$1, $$2 }' Makefile

demo: $(BASE) ## Remember a bundled conversation and answer from it, offline
	@$(BIN)/theanine demo

test: $(DEV) ## Run the whole suite, on all cores
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: $(DEV) ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

extras: $(DEV) ## Install what the tests of the extras with own models need (1 GB)
	@sh requirements/extras.sh $(VENV)

bench: $(DEV) ## Measure speed, size and calls beside their goals
	$(BIN)/python benchmarks/run.py

scale: $(DEV) ## Measure one scope of up to 300,000 memories
	$(BIN)/python benchmarks/scale.py

crash: $(DEV) ## Kill the process 200 times; nothing may be lost, doubled or paid twice
	$(BIN)/python -m tests.crash --kills 200

docs: $(DEV) ## Write docs/cli.md anew from the command line
	$(BIN)/python docs/generate.py

lock: ## Choose all versions anew and write requirements/*.txt
	@sh requirements/lock.sh

clean: ## Remove what was built and installed
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .coverage
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(ANY_PYTHON):
	@sh requirements/venv.sh $(VENV)

$(BASE): requirements/base.txt pyproject.toml | $(ANY_PYTHON)
	@echo "Installing into $(VENV) from requirements/base.txt"
	@if command -v uv >/dev/null; then $(UV_INSTALL) -r requirements/base.txt && $(UV_SELF); \
	else $(PIP_INSTALL) -r requirements/base.txt && $(PIP_SELF); fi
	@touch $@

$(DEV): requirements/dev.txt $(BASE)
	@echo "Installing into $(VENV) from requirements/dev.txt"
	@if command -v uv >/dev/null; then $(UV_INSTALL) --no-build-isolation -r requirements/dev.txt; \
	else $(PIP_INSTALL) --no-build-isolation -r requirements/dev.txt; fi
	@touch $@
