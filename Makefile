# `make demo` shows what eunoe does; `make test` runs every test; `make check` is what CI runs.
# Needs Python 3.11 or newer; all else goes into .venv.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
PINS := .ci/constraints.txt
FILE ?= examples/long_chat.json
INSTALL := $(BIN)/uv pip install -q --python $(BIN)/python -c $(PINS) --build-constraints $(PINS)
# What runs a second time against the single file.
MIRRORED := $(wildcard tests/core tests/adapters/openwebui)
# Open WebUI runs on Python 3.11 and 3.12; its page needs Chromium, which root gets from apt.
LEFT_OUT := $(strip $(shell $(PYTHON) -c 'import sys; sys.version_info < (3, 13) or \
	print("--ignore=tests/e2e")'; { command -v chromium && command -v chromedriver || \
	{ test `id -u` = 0 && command -v apt-get; }; } >/dev/null || \
	echo '--ignore-glob=tests/e2e/test_browser*.py'))

.PHONY: demo test check style floors types fresh single pytest host bench mutants cover filter format pins clean
.DELETE_ON_ERROR:

demo: $(VENV)/.run  ## compare policies on one chat: make demo FILE=my_chat.json
	@$(BIN)/eunoe compare $(FILE)

test: pytest  ## every test, also in a real Open WebUI
check: style floors types fresh single pytest  ## everything that CI runs

style: $(VENV)/.dev  ## format and lint
	$(BIN)/ruff format --check -q .
	$(BIN)/ruff check -q .
floors: $(VENV)/.dev  ## who may import whom
	$(BIN)/lint-imports --no-logo
types: $(VENV)/.dev  ## type check of the house and of the single file
	$(BIN)/mypy $(wildcard core adapters) standalone/make_filter.py
	$(if $(wildcard standalone/eunoe_filter.py),$(BIN)/mypy standalone/eunoe_filter.py)
fresh: $(VENV)/.dev  ## is the single file what the sources make?
	$(BIN)/python standalone/make_filter.py --check
single: $(VENV)/.dev  ## the tests of the bundled modules, run on the single file
	$(if $(and $(MIRRORED),$(wildcard standalone/eunoe_filter.py)),$(BIN)/pytest -q --standalone $(MIRRORED))
host: $(VENV)/.dev  ## Open WebUI and a browser (from apt, as root on Debian) for tests/e2e
	$(if $(LEFT_OUT),@echo "not possible here: $(LEFT_OUT)",$(BIN)/python tests/e2e/setup_host.py)
pytest: host
	$(BIN)/pytest $(LEFT_OUT)

bench: $(VENV)/.dev  ## timings, not part of the checks
	$(INSTALL) --group bench
	$(BIN)/pytest -q -m bench
mutants: $(VENV)/.dev  ## break the rules of the core one by one: do the tests notice?
	$(BIN)/python tests/mutation_check.py
cover: $(VENV)/.dev  ## branches that no test takes
	$(BIN)/coverage run -m pytest -q -m "not e2e and not bench"
	$(BIN)/coverage report
filter: $(VENV)/.dev  ## write standalone/eunoe_filter.py anew
	$(BIN)/python standalone/make_filter.py
format: $(VENV)/.dev
	$(BIN)/ruff check -q --fix .
	$(BIN)/ruff format -q .
pins: $(VENV)/.dev  ## resolve .ci/constraints.txt anew
	{ echo '# Versions that the checks run with. `make pins` writes this file anew.'; \
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --python-version 3.11 --universal -q \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links; \
	$(BIN)/uv --version | sed -E 's/^uv ([0-9.]+).*/uv==\1/'; } > $(VENV)/pins
	cp $(VENV)/pins $(PINS)
clean:
	rm -rf $(VENV) build dist

$(BIN)/uv:
	@test -n "$(PYTHON)" || { echo "eunoe needs Python 3.11 or newer on the PATH" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { apt-get update -qq && \
	apt-get install -y -qq python3-venv >/dev/null && $(PYTHON) -m venv $(VENV); }
	$(BIN)/pip install -q --disable-pip-version-check -c $(PINS) uv
$(VENV)/.run: $(BIN)/uv pyproject.toml $(PINS)
	$(INSTALL) -e '.[langchain,tokens]'
	@touch $@
$(VENV)/.dev: $(VENV)/.run
	$(INSTALL) -e '.[all]' --group test --group lint
	@touch $@
