#!/bin/sh
# What builds and tests the Python package, in a virtual environment, and the package itself in it, built anew. Only tests/python
# needs it, so it calls this.
set -eu
cd "$(dirname "$0")/../.."
folder=third_party/cache/python
tools/setup/virtual_environment.sh python/requirements.txt "$folder"
# Without the hub's client, which tokenizers lists and does not need.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --requirement tools/setup/llm_requirements.txt \
  --requirement tools/setup/llm_server_requirements.txt >&2
rm -rf build-python/wheel
PATH="$PWD/$folder/bin:$PATH" "$folder/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir build-python/wheel . >&2
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build-python/wheel/*.whl >&2
