#!/bin/sh
# Puts the onnx package into a virtual environment of its own. Only the conformance cases need it, so they call this.
set -eu
cd "$(dirname "$0")/../.."
exec tools/setup/virtual_environment.sh tools/setup/onnx_requirements.txt third_party/cache/onnx
