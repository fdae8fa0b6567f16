#!/bin/sh
# A virtual environment with what builds and tests the Python package, third_party/cache/python (ignored by git), and the package
# itself in it, built anew. Only tests/python needs it, so it calls this.
set -eu
cd "$(dirname "$0")/../.."
requirements=python/requirements.txt
folder=third_party/cache/python
if ! cmp -s "$requirements" "$folder/installed.txt"; then
  echo "setup: installing what builds and tests the Python package into $folder" >&2
  rm -rf "$folder"
  python3 -m venv "$folder" || {
    echo "setup: python3 makes no virtual environment; on Debian: apt-get install python3-venv" >&2
    exit 1
  }
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
    --requirement "$requirements" >&2
  # Last: an interrupted run leaves nothing that looks whole.
  cp "$requirements" "$folder/installed.txt"
fi
rm -rf build-python/wheel
PATH="$PWD/$folder/bin:$PATH" "$folder/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --wheel-dir build-python/wheel . >&2
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build-python/wheel/*.whl >&2
