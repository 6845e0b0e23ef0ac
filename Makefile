# Needs python3 (3.11 or later) and make. Everything else is set up in the checkout, from lock files.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ENV   := .venv
PEERS := .venv-peers
LITELLM := .venv-litellm
BIN   := $(ENV)/bin

.PHONY: help setup run test soak check format docs bench bench-memory bench-peers lock clean

help:  ## list what make can do here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | while IFS= read -r line; do \
		printf '  make %-12s %s\n' "$${line%%:*}" "$${line#*## }"; done

setup: $(ENV)/ready  ## the virtual environment (the others do this by themselves)

run: $(ENV)/ready  ## the server with its page at http://127.0.0.1:7274; make run ARGS="show FILE" runs any command
	@$(BIN)/sash $(or $(ARGS),serve --log-level warning)

# Compiled modules are kept: the tests start hundreds of programs, each of which would compile all it imports.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(ENV)/ready  ## all tests; core and wire must be covered branch by branch
	@$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov $(ARGS)

soak: $(ENV)/ready  ## the slow runs: crashes, crowds, long random threads, every request of every session
	SASH_SOAK=300 $(BIN)/python -m pytest -n 2 tests/core/test_invariants.py tests/fit/test_transcripts.py tests/proxy/test_transcripts.py $(ARGS)
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=ci tests/core tests/wire tests/window tests/fit $(ARGS)
	$(BIN)/python -m pytest -m soak $(ARGS)

check: $(ENV)/ready  ## lint, format, types, import contracts, and the gates on modules, exports and docs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m pytest -n 2 -q tests/gates

format: $(ENV)/ready  ## put the code into its form
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(ENV)/ready  ## the pages of the commands, from their own help
	$(BIN)/python -m tools.command_pages

bench: $(ENV)/ready  ## our benchmarks, each beside its floor; make bench ARGS="import"
	$(BIN)/python -m bench $(ARGS)

bench-memory: $(ENV)/ready  ## what is still in the window when it is needed, on real sessions
	$(BIN)/python -m bench memory $(ARGS)

bench-peers: $(PEERS)/ready  ## the same with the peers beside them, in environments of their own
	@tools/litellm $(LITELLM)
	SASH_BENCH_LITELLM="$${SASH_BENCH_LITELLM:-$$(ls $(LITELLM)/bin/litellm 2>/dev/null)}" $(PEERS)/bin/python -m bench $(ARGS)

lock: $(ENV)/ready  ## renew the lock files after a change of dependencies; make lock ARGS=--upgrade
	tools/lock $(ARGS)

clean:  ## remove the environments and caches
	rm -rf $(ENV) $(PEERS) $(LITELLM) .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +

$(ENV)/ready: requirements.lock pyproject.toml tools/setup
	@tools/setup $(ENV) requirements.lock
	@touch $@

$(PEERS)/ready: requirements-peers.lock pyproject.toml tools/setup
	@tools/setup $(PEERS) requirements-peers.lock
	@touch $@
