# Everything runs inside .venv, which `make setup` creates; the other targets call it.
PYTHON ?= python3
BIN := .venv/bin
PARALLEL ?= -n 2 --dist worksteal

# Where it is set, as in many containers, each worker compiles all tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup locked reproduce test test-all test-peers test-scale coverage fuzz faults lint bench
.PHONY: bench-peers bench-quality docs clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt torch --editable ".[test]"
	touch $@

# The same environment from files whose hashes are checked; torch's builds have an index of their own.
locked:
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --no-deps --require-hashes --requirement .ci/requirements.lock
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps --editable .
	touch .venv/ready

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

# Which branches the tests reach: a report, not a gate.
coverage: setup
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not slow" -p no:xdist
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The long attack: goes on where it was stopped; another one with SEED=1, shorter with
# CASES=600, several processes at a time with JOBS=8.
CASES ?= 10000
SEED ?= 0
JOBS ?= 1

fuzz: setup
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

# A hundred kills, full disks and the like of each kind.
faults: setup
	FAULTS=100 $(BIN)/pytest tests/fuzz/test_faults.py

# Packages that hold pandas below 3 have an environment of their own.
PEERS := .venv-peers/bin/python
PEERS_OUT ?= build/peers

.venv-peers/ready: benchmarks/peers/requirements.txt benchmarks/quality/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --upgrade pip
	.venv-peers/bin/pip install --quiet $(addprefix --requirement ,$^)
	touch $@

test-peers: .venv-peers/ready
	PYTHONPATH=src:tests $(PEERS) -m pytest tests/adapters/test_gluonts.py tests/metrics/test_censored.py

# Heavy packages, which `make setup` leaves out, have another; MLflow needs an older pyarrow.
.venv-scale/ready: pyproject.toml constraints.txt .ci/scale.txt
	$(PYTHON) -m venv .venv-scale
	.venv-scale/bin/pip install --quiet --upgrade pip
	grep -v '^pyarrow=' constraints.txt > .venv-scale/constraints.txt
	.venv-scale/bin/pip install --quiet --constraint .venv-scale/constraints.txt torch --requirement .ci/scale.txt --editable ".[parquet]"
	touch $@

test-scale: .venv-scale/ready
	PYTHONPATH=src:tests .venv-scale/bin/python -m pytest tests/adapters/test_ray.py tests/adapters/test_mlflow.py tests/adapters/test_spark.py

bench-peers: setup .venv-peers/ready
	OMP_NUM_THREADS=1 $(PEERS) benchmarks/peers/series.py export $(PEERS_OUT)
	OMP_NUM_THREADS=1 $(PEERS) benchmarks/peers/rivals.py $(PEERS_OUT)
	$(BIN)/python benchmarks/peers/ours.py $(PEERS_OUT)
	$(BIN)/python benchmarks/peers/scores.py $(PEERS_OUT)

QUALITY := benchmarks/quality/measure.py --tables all
QUALITY_OUT ?= build/quality

bench-quality: setup .venv-peers/ready
	$(PEERS) $(QUALITY) --methods peers --out $(QUALITY_OUT)/peers.csv
	$(BIN)/python $(QUALITY) --methods ours --out $(QUALITY_OUT)/ours.csv

bench: setup
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[bench]"
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed.py --out build/bench
	$(BIN)/python benchmarks/speed.py --threads 2 --section tables --section series
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/folding.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/default_preset.py

docs: setup
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]"
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in site/: open site/index.html, or, with search, $(PYTHON) -m http.server -d site"

clean:
	rm -rf .venv .venv-peers .venv-scale build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist site .coverage*
