# make demo   from nothing to a report on generated data
# make check  formatter, linter, types, import contract, and the tests without Ray: three minutes on two cores
# make test   the same with all tests
# make coverage   how much of the code the tests without Ray run through
# make cluster   as root: three hosts out of namespaces, and on them every command of docs/cluster.md
# make docs   the pages of docs/ as a site, into site/
VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= python3.11
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
# on all cores, where pip takes one; a few modules are for a newer Python
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true

.PHONY: demo check test coverage lint slow cluster docs clean

demo: $(VENV)/.demo
	$(BIN)/python -m bv_search.tune --space adapters

# two processes: what a test of a search starts waits for one thing after another
test: $(VENV)/.dev lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: $(VENV)/.dev lint
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --quick

coverage: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --quick --cov bv_search --cov-report term:skip-covered

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/oxlint --deny-warnings bv_search
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: $(VENV)/.dev
	$(BIN)/python -m pytest --slow

cluster: $(VENV)/.dev
	$(BIN)/python -m pytest --cluster --slow tests/cluster

docs: $(VENV)/.docs
	$(BIN)/python -m mkdocs build

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)

# torch first and by itself: pip then takes a CPU build where one is at hand
$(VENV)/.torch: constraints.txt | $(VENV)/bin/python
	$(INSTALL) torch
	touch $@

$(VENV)/.demo: pyproject.toml constraints.txt $(VENV)/.torch
	$(INSTALL) --editable .
	$(COMPILE)
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt $(VENV)/.torch
	$(INSTALL) --editable '.[dev]'
	$(COMPILE)
	touch $@ $(VENV)/.demo

# mkdocs alone: the pages need nothing of the project
$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) mkdocs
	touch $@

clean:
	rm -rf $(VENV) site
