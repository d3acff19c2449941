# Everything below makes its own virtual environment; only Python 3.11+ and pip are needed.
PYTHON ?= python3
VENV := .venv
TESTS ?=
# Most tests wait for other processes: two workers a core finish sooner than one.
WORKERS ?= 4
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH_VENV := .venv-torch
TORCH_DISK_GB := 15
REQUESTS ?= 100000

.PHONY: demo test test-unprivileged check bench bench-smoke chaos fuzz test-compat docs clean

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, $(PYTHON) is older: try make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a minute or two the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)  ## a local cluster and a search on real data
	@$(BIN)/python examples/digits/demo.py

test: $(STAMP)  ## all tests
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder -q --durations=20 --durations-min=5 $(TESTS)

test-unprivileged:  ## the demo and all tests in a fresh clone, as a user made for it (needs root)
	@tests/unprivileged.sh $(TESTS)

test-compat: $(STAMP)  ## the published client (0.38.1) against this master
	@$(BIN)/python -m pytest -q tests/compat

test-torch: $(STAMP)  ## PyTorch's launcher and trials, in an environment of its own
	@free=$$(df -Pk . | awk 'NR == 2 { print int($$4 / 1048576) }'); \
	if [ ! -x $(TORCH_VENV)/bin/python ] && [ $$free -lt $(TORCH_DISK_GB) ]; then \
	  echo "test-torch is skipped: PyTorch may take $(TORCH_DISK_GB) GB and $$free GB are free"; exit 0; fi; \
	test -x $(TORCH_VENV)/bin/python || $(PYTHON) -m venv $(TORCH_VENV); \
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	  torch==2.13.0 numpy scikit-learn urllib3 ruamel.yaml pytest && \
	TORCH_PYTHON=$$PWD/$(TORCH_VENV)/bin/python3 $(BIN)/python -m pytest -q tests/pytorch

fuzz: $(STAMP)  ## generated requests to all routes of a running master: no 5xx
	@test -x .venv-fuzz/bin/st || { $(PYTHON) -m venv .venv-fuzz && \
	  .venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check schemathesis; }
	@$(BIN)/python -m tests.fuzz $$PWD/.venv-fuzz/bin/st $(REQUESTS)

check: $(STAMP)  ## format, lint, types, imports, sizes, fast tests
	@$(BIN)/ruff format --check src tests tools bench examples
	@$(BIN)/ruff check src tests tools bench examples
	@$(BIN)/mypy src bench
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q tests/repo tests/domain

bench: $(STAMP)  ## every figure, one JSON object a line
	@$(BIN)/python -m bench

bench-smoke: $(STAMP)  ## every figure at a tenth of its load
	@$(BIN)/python -m bench --smoke

chaos: $(STAMP)  ## a cluster in simulated time: 200 seeds, 10^6 events, 100 kill instants a victim
	@$(BIN)/python -m tests.chaos --seeds 200 --events 5000 --instants 100

docs: $(STAMP)  ## make the generated pages anew
	@for tool in tools/generate_*.py; do $(BIN)/python $$tool; done

clean:
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache
