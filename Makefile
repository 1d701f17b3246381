# `make demo` and `make test` need Python 3.11+ and make, nothing else: each makes its own environment.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-dev
DEMO   := .venv-demo
WHEEL  := .venv-wheel
PYTEST := $(BIN)/python -m pytest -n auto

.PHONY: demo test test-all check lint types layers fresh unit wheel docs clean

demo: $(DEMO)/.installed
	$(DEMO)/bin/owb demo

$(DEMO)/.installed: pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[ort]'
	touch $@

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

test: check unit wheel

check: lint types layers fresh

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports --no-cache

fresh: $(STAMP)
	$(BIN)/python docs/build.py --check

unit: $(STAMP)
	$(PYTEST) -m "not slow"

# The wheel without extras, installed elsewhere, must do the main job from another folder.
wheel: $(STAMP)
	rm -rf dist $(WHEEL)
	$(BIN)/python -m build --quiet --no-isolation
	$(BIN)/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd / && $(CURDIR)/$(WHEEL)/bin/owb --version
	cd / && $(CURDIR)/$(WHEEL)/bin/python -c "import workbench"
	cd / && $(CURDIR)/$(WHEEL)/bin/owb inspect "$$($(CURDIR)/$(WHEEL)/bin/python -c 'from workbench.samples import sample; print(sample("digits_cnn.onnx"))')" > /dev/null
	cd / && $(CURDIR)/$(WHEEL)/bin/owb demo > /dev/null

# Everything: full corpora, and the fast tests on every other Python that is here.
test-all: test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]' || echo "atheris has no wheel here: fuzzing by coverage is left out"
	$(PYTEST) -m slow
	$(BIN)/python tests/other_pythons.py

docs: $(STAMP)
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) $(DEMO) $(WHEEL) dist build .mypy_cache .ruff_cache .pytest_cache
