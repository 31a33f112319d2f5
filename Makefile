# One command a habit. Everything runs in .venv, which `setup` makes with pip alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run side by side: BLAS with one thread each. What is compiled is kept, whatever the shell says: otherwise each
# process of a run, and each one that a test starts, compiles the library and the tests anew.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# A file of tests stays with one process, which makes what they share only once.
XDIST ?= auto
PYTEST := -m pytest --dist loadfile -n $(XDIST)

.PHONY: setup demo test test-fast test-neighbours test-oldest test-wheel lint format docs pictures check-site bench bench-check bench-stale reproduce clean

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hypergauss needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs]'
	touch $@

demo: setup
	$(BIN)/hypergauss demo --out demo-output

test: setup
	$(ONE_THREAD) $(BIN)/python $(PYTEST) --durations=25

# The daily loop: mathematics and behaviour, without what starts processes, browsers, clusters or long chains.
test-fast: setup
	$(ONE_THREAD) $(BIN)/python $(PYTEST) -m 'not slow' tests

# Packages that cap what others need: an environment of their own, with an older pandas, for the tests they concern.
NEIGHBOURS := .venv-neighbours
# A build for the CPU, where one is at hand; plain `torch` brings gigabytes for GPUs.
TORCH ?= torch==2.13.0
test-neighbours: $(NEIGHBOURS)/.installed
	$(ONE_THREAD) $(NEIGHBOURS)/bin/python $(PYTEST) tests/io tests/interop tests/hypergraph

$(NEIGHBOURS)/.installed: pyproject.toml
	test -x $(NEIGHBOURS)/bin/python || $(PYTHON) -m venv $(NEIGHBOURS)
	$(NEIGHBOURS)/bin/python -m pip install --quiet --upgrade pip
	$(NEIGHBOURS)/bin/python -m pip install --quiet $(TORCH)
	$(NEIGHBOURS)/bin/python -m pip install --quiet --editable '.[test,hypernetx,gpjax,gpytorch]'
	touch $@

# The oldest versions of everything, for what reads, fits, saves and predicts.
OLDEST := .venv-oldest
test-oldest: $(OLDEST)/.installed
	$(ONE_THREAD) PYTHONPATH=src $(OLDEST)/bin/python $(PYTEST) \
	  tests/io tests/hypergraph tests/storage tests/analysis/test_suggestions.py tests/cli/test_fit.py

$(OLDEST)/.installed: tests/oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet --requirement tests/oldest.txt
	touch $@

# The wheel as a user gets it: built, installed where nothing else is, and used from another folder.
WHEEL := .venv-wheel
test-wheel:
	rm -rf $(WHEEL) dist
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --upgrade pip
	$(WHEEL)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(WHEEL)/bin/python -m pip install --quiet dist/hypergauss-*.whl
	cd dist && ../$(WHEEL)/bin/python -c 'import hypergauss; assert "site-packages" in hypergauss.__file__, hypergauss.__file__'
	cd dist && ../$(WHEEL)/bin/hypergauss datasets house-votes --out votes
	cd dist && ../$(WHEEL)/bin/hypergauss fit --edges votes/edges.csv --labels votes/labels.csv --out results
	cd dist && ../$(WHEEL)/bin/hypergauss predict results/model.hypergauss --out predictions.csv
	test "$$(wc -l < dist/predictions.csv)" = "$$(wc -l < dist/results/predictions.csv)"
	$(WHEEL)/bin/python -m benchmarks.first_steps --python $(WHEEL)/bin/python

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

# The README's pictures, when what they show has changed; they need a Chromium.
pictures: setup
	cd docs && ../$(BIN)/python -m making.readme_pictures

# The whole site in a browser: links, accessibility (axe), and nothing that runs off a phone's screen.
check-site: docs
	$(BIN)/python -m pip install --quiet --editable '.[accessibility]'
	HYPERGAUSS_SITE=docs/_build/html $(BIN)/python -m pytest tests/site

bench: setup
	$(BIN)/python -m benchmarks

# The headline ratios again, beside the stored ones; fails where a target is missed. What is counted is in `test`.
# JOBS="import automobiles" are the cheap ones.
bench-check: setup
	$(BIN)/python -m benchmarks.check $(if $(JOBS),--only $(JOBS))

# Which stored outcomes are older than the code they measured; runs nothing.
bench-stale: setup
	$(BIN)/python -m benchmarks.stale

reproduce: setup
	$(BIN)/hypergauss reproduce all --out results

clean:
	rm -rf $(VENV) $(NEIGHBOURS) $(OLDEST) $(WHEEL) build dist docs/_build docs/_made demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
