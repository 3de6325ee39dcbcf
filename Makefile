# Everything runs inside .venv, which `make setup` creates; the other targets call it.
PYTHON ?= python3
BIN := .venv/bin
PARALLEL ?= -n 2

.PHONY: setup reproduce test test-all lint bench docs clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt torch --editable ".[test]"
	touch $@

reproduce: setup
	$(BIN)/batchensemble reproduce --profile quick

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -m "not slow" $(PARALLEL)

test-all: lint
	$(BIN)/pytest $(PARALLEL)

bench: setup
	$(BIN)/python benchmarks/folding.py
	$(BIN)/python benchmarks/bank.py
	$(BIN)/python benchmarks/default_preset.py

docs: setup
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]"
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in site/: open site/index.html"

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist site
