#!/bin/sh
# Puts the onnx package into a virtual environment of its own, third_party/cache/onnx (ignored by git). Run again, it only
# looks. Only the conformance cases need it, so they call this.
set -eu
cd "$(dirname "$0")/../.."
requirements=tools/setup/onnx_requirements.txt
folder=third_party/cache/onnx
cmp -s "$requirements" "$folder/installed.txt" && exit 0

echo "setup: installing the onnx package into $folder" >&2
rm -rf "$folder"
python3 -m venv "$folder" || {
  echo "setup: python3 makes no virtual environment; on Debian: apt-get install python3-venv" >&2
  exit 1
}
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
  --requirement "$requirements" >&2
# Last: an interrupted run leaves nothing that looks whole.
cp "$requirements" "$folder/installed.txt"
