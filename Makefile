# make demo and make test do all the set-up on a fresh machine; GPU=1 installs faiss-gpu instead of faiss-cpu.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
FAISS  := $(if $(GPU),gpu,cpu)
DEMO_MEMORY ?= demo-memory

.PHONY: demo test check soak bench clean

$(BIN)/amr: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[$(FAISS)]"
	@$(BIN)/python -m compileall -q amr
	@touch $@

$(VENV)/dev-installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[$(FAISS),speech-offline,dev]"
	@$(BIN)/python -m compileall -q amr
	@touch $@

demo: $(BIN)/amr
	@sh scripts/demo.sh $(BIN)/amr $(DEMO_MEMORY)

test: $(VENV)/dev-installed
	$(BIN)/pytest -m "not soak" -n 2

soak: $(VENV)/dev-installed
	$(BIN)/pytest -m soak

check: $(VENV)/dev-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vermin --quiet --no-tips --violations --target=3.10- --eval-annotations --backport typing amr scripts

bench: $(VENV)/dev-installed
	$(BIN)/python scripts/bench.py

clean:
	rm -rf $(VENV) $(DEMO_MEMORY) dist
