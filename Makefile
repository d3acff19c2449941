# Everything below makes its own virtual environment; only Python 3.11+ and pip are needed.
PYTHON ?= python3
VENV := .venv
TESTS ?=
# Most tests wait for other processes: two workers a core finish sooner than one.
WORKERS ?= 4
# With AGAIN=1 the tests that fail run once more, alone: on a machine that others use, waits may be too
# short. A test that fails twice fails the run; the last lines say what was repeated, and how it failed.
AGAIN ?=
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH_VENV := .venv-torch
TORCH_DISK_GB := 15
TORCH_PACKAGES := torch==2.13.0 numpy scikit-learn urllib3 ruamel.yaml pytest
# Another name for other packages: an older environment is made again.
TORCH_STAMP = $(TORCH_VENV)/.installed-$(firstword $(TORCH_PACKAGES))
# All frameworks share an environment, since most of it is PyTorch; ONLY=hf runs the tests of one.
FRAMEWORKS := autolog deepspeed hf keras lightning
ONLY ?=
FRAMEWORKS_VENV := .venv-frameworks
FRAMEWORKS_RELEASES := keras==3.15.1 jax==0.10.2 lightning==2.6.6 transformers==5.24.0 accelerate==1.15.0 lightgbm==4.7.0 xgboost-cpu==3.2.0 deepspeed==0.19.8
EMPTY :=
FRAMEWORKS_STAMP = $(FRAMEWORKS_VENV)/.installed-$(subst $(EMPTY) $(EMPTY),+,$(FRAMEWORKS_RELEASES))
REQUESTS ?= 100000
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
LOCKED := $(PIP_INSTALL) --no-compile --require-hashes --only-binary :all: -r requirements
# The pip that a Python brings may need twice the time of a new one.
NEW_PIP := $(LOCKED)/install.txt
# From wheels of the locked versions where there are any; from sources of them elsewhere.
LOCKED_DEV := $(PIP_INSTALL) --no-compile --require-hashes -r requirements/dev.txt
# Of these packages few modules are loaded, in few processes, which compile them then. All others are
# compiled at once, on all cores: pip uses one, and several workers would compile the same modules.
COMPILED_LATER := /(mypyc?|networkx|pip|scipy|setuptools|sklearn|sympy|tests?)/
ADVISORIES ?=
# Parts of the check run on two cores; the output of each stays together.
SIDE_BY_SIDE = $(MAKE) --no-print-directory --jobs 2 --output-sync=target

# What starts machines and pods, and what installs the platform on them.
DEPLOYMENTS := tests/backends/aws tests/backends/cloud tests/backends/gcp tests/backends/kubernetes \
  tests/cli/deploy tests/deploy

.PHONY: demo webui web-ui-if-possible test test-deployments test-e2e test-webui test-unprivileged check test-fast \
  lint lint-types lint-imports lint-format lint-release bench bench-smoke chaos \
  environments fuzz fuzz-environment torch-environment frameworks-environment test-torch test-frameworks test-compat test-gpu docs clean \
  lock lock-upgrade check-lock sbom audit mutants dist release

$(STAMP): pyproject.toml requirements/install.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, $(PYTHON) is older: try make PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a minute or two the first time) ..."
	@$(BIN)/python $(NEW_PIP)
	@$(BIN)/python $(LOCKED_DEV)
	@$(BIN)/python -m compileall -q -q -j 0 -x '$(COMPILED_LATER)' $(VENV)/lib || true
	@# Until 1.0.0b1 the distribution had the published client's name, and the two refuse each other.
	@$(BIN)/python -m pip uninstall --quiet --yes determined 2>/dev/null
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $(STAMP)

webui: $(STAMP)  ## the web UI into the master's package; with Node of the PATH or of PyPI
	@$(BIN)/python tools/build_webui.py

web-ui-if-possible: $(STAMP)
	@$(BIN)/python tools/build_webui.py --soft

demo: $(STAMP) web-ui-if-possible  ## a local cluster and a search on real data
	@$(BIN)/python examples/digits/demo.py

# Arguments: workers, how many slow tests are listed, marks, paths.
RUN_TESTS = $(BIN)/python tools/run_tests.py $(if $(AGAIN),--again) --workers $(1) --durations $(2) \
  -m "$(3)" $(4)

test: $(STAMP) web-ui-if-possible  ## all tests but those of deployments, whole clusters and the web UI
	@$(call RUN_TESTS,$(WORKERS),20,not browser,$(or $(TESTS),tests --ignore=tests/e2e --ignore=tests/frameworks $(DEPLOYMENTS:%=--ignore=%)))

test-deployments: $(STAMP) web-ui-if-possible  ## AWS, GCP, Kubernetes and charts, against doubles of their services
	@$(call RUN_TESTS,$(WORKERS),20,not browser,$(or $(TESTS),$(DEPLOYMENTS)))

test-e2e: $(STAMP) web-ui-if-possible  ## whole clusters: their work, kills, faults, restarts
	@$(call RUN_TESTS,$(WORKERS),20,not browser,$(or $(TESTS),tests/e2e))

test-webui: $(STAMP) web-ui-if-possible  ## journeys of the web UI in a Chromium
	@$(call RUN_TESTS,3,10,browser,$(or $(TESTS),tests/webui))

test-unprivileged:  ## the demo and all tests in a fresh clone, as a user made for it (needs root)
	@tests/unprivileged.sh $(TESTS)

test-compat: $(STAMP)  ## the published client (0.38.1) against this master
	@$(BIN)/python -m pytest -q tests/compat

environments: fuzz-environment torch-environment frameworks-environment  ## what fuzz, test-torch and test-frameworks need

# Arguments: directory, stamp, packages with PyTorch among them, the command that needs it.
TORCH_ENVIRONMENT = test -f $(2) && exit; \
	free=$$(df -Pk . | awk 'NR == 2 { print int($$4 / 1048576) }'); \
	if [ ! -x $(1)/bin/python ] && [ $$free -lt $(TORCH_DISK_GB) ]; then \
	  echo "$(4) is skipped: PyTorch may take $(TORCH_DISK_GB) GB and $$free GB are free" | \
	    tee "$${SKIPPED_FILE:-/dev/null}"; exit 0; fi; \
	$(PYTHON) -m venv --clear $(1) && \
	$(1)/bin/python $(PIP_INSTALL) --no-compile $(3) && \
	{ $(1)/bin/python -m compileall -q -q -j 0 -x '$(COMPILED_LATER)' $(1)/lib || true; } && \
	touch $(2)

torch-environment:
	@$(call TORCH_ENVIRONMENT,$(TORCH_VENV),$(TORCH_STAMP),$(TORCH_PACKAGES),test-torch)

frameworks-environment:
	@$(call TORCH_ENVIRONMENT,$(FRAMEWORKS_VENV),$(FRAMEWORKS_STAMP),$(FRAMEWORKS_RELEASES) $(TORCH_PACKAGES),test-frameworks)

test-frameworks: $(STAMP) frameworks-environment  ## training code of frameworks
	@test ! -f $(FRAMEWORKS_STAMP) || FRAMEWORKS_PYTHON=$$PWD/$(FRAMEWORKS_VENV)/bin/python3 \
	  $(BIN)/python -m pytest -q $(patsubst %,tests/frameworks/%,$(or $(ONLY),$(FRAMEWORKS)))

test-torch: $(STAMP) torch-environment  ## PyTorch's launcher and trials, in an environment of its own
	@test ! -f $(TORCH_STAMP) || \
	  TORCH_PYTHON=$$PWD/$(TORCH_VENV)/bin/python3 $(BIN)/python -m pytest -q tests/pytorch

test-gpu: $(STAMP)  ## slots that are NVIDIA's GPUs; TORCH_PYTHON is a Python with PyTorch
	@TORCH_PYTHON=$(TORCH_PYTHON) $(BIN)/python -m pytest -q tests/gpu

fuzz-environment:
	@test .venv-fuzz/bin/st -nt requirements/fuzz.txt || { $(PYTHON) -m venv --clear .venv-fuzz && \
	  .venv-fuzz/bin/python $(NEW_PIP) && .venv-fuzz/bin/python $(LOCKED)/fuzz.txt && touch .venv-fuzz/bin/st; }

fuzz: $(STAMP) fuzz-environment  ## generated requests to all routes of a running master: no 5xx
	@$(BIN)/python -m tests.fuzz $$PWD/.venv-fuzz/bin/st $(REQUESTS)

check: $(STAMP)  ## format, lint, types, imports, oldest Python, sizes, fast tests
	@$(SIDE_BY_SIDE) test-fast lint

# What is marked slow, `make test` runs.
test-fast: $(STAMP)
	@$(PYTEST) -n 2 -m "not slow" tests/repo tests/domain

lint: lint-types lint-imports lint-format lint-release lint-titles  ## format, lint, types, imports, the oldest Python

lint-types: $(STAMP)
	@$(BIN)/mypy src bench

lint-imports: $(STAMP)
	@$(BIN)/lint-imports --no-cache

lint-format: $(STAMP)
	@$(BIN)/ruff format --check src tests tools bench examples
	@$(BIN)/ruff check src tests tools bench examples

lint-release: $(STAMP)
	@$(BIN)/python tools/oldest_python.py 3.9 src/determined src/determined_deploy examples
	@$(BIN)/python tools/oldest_python.py 3.11 src/determined_master src/determined_agent src/determined_wire

lint-titles:
	@$(PYTHON) -m tools.suites titles

bench: $(STAMP)  ## every figure, one JSON object a line
	@$(BIN)/python -m bench

bench-smoke: $(STAMP)  ## every figure at a tenth of its load
	@$(BIN)/python -m bench --smoke

chaos: $(STAMP)  ## a cluster in simulated time: 200 seeds, 10^6 events, 100 kill instants a victim
	@$(BIN)/python -m tests.chaos --seeds 200 --events 5000 --instants 100

lock:  ## the lock files again, after a change of dependencies in pyproject.toml
	@$(PYTHON) -m venv --clear .venv-lock && .venv-lock/bin/python $(LOCKED)/lock.txt
	@.venv-lock/bin/python tools/make_locks.py $$PWD/.venv-lock/bin/uv $(LOCK_OPTIONS)

lock-upgrade:  ## the lock files with the newest versions: once a month
	@$(MAKE) --no-print-directory lock LOCK_OPTIONS=--upgrade

check-lock:  ## whether the lock files fit pyproject.toml and are at most a month old
	@$(PYTHON) tools/check_lock.py --max-age 31

dist: $(STAMP)  ## the files of a release in dist/, from the last commit: the same commit, the same bytes
	@$(BIN)/python tools/make_dist.py

release: $(STAMP)  ## a release, without the steps that need the network; PUBLISH=1 runs them too
	@$(BIN)/python tools/release.py $(if $(PUBLISH),--publish)

sbom: $(STAMP)  ## what is locked, as CycloneDX documents in build/sbom
	@$(BIN)/python tools/make_sbom.py build/sbom

audit: $(STAMP)  ## the locked versions against ADVISORIES, a file, directory or archive in OSV's form
	@test -n "$(ADVISORIES)" || { echo "name advisories: make audit ADVISORIES=PATH, a file," \
	  "directory or zip archive of records in OSV's form"; exit 2; }
	@$(BIN)/python tools/audit_lock.py $(ADVISORIES)

mutants: $(STAMP)  ## how many changes of the rules the tests notice, by package
	@test .venv-mutants/bin/mutmut -nt requirements/mutants.txt || { \
	  $(PYTHON) -m venv --clear .venv-mutants && .venv-mutants/bin/python $(NEW_PIP) && .venv-mutants/bin/python $(LOCKED)/dev.txt && \
	  .venv-mutants/bin/python $(LOCKED)/mutants.txt && touch .venv-mutants/bin/mutmut; }
	@nice .venv-mutants/bin/python tools/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(PACKAGES)

docs: $(STAMP)  ## make the generated pages anew
	@for tool in tools/generate_*.py; do $(BIN)/python $$tool; done

clean:
	rm -rf src/determined_master/webui webui/dist webui/node_modules
	rm -rf $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache
