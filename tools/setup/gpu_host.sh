#!/bin/sh
# An engine for WebAssembly and a WebGPU for Python into third_party/cache/gpu_host (ignored by git), for examples/libraries/gpu_host.py. Run
# again, it only looks. Prints the Python that has them.
set -eu
cd "$(dirname "$0")/../.."
tools/setup/virtual_environment.sh tools/setup/gpu_host_requirements.txt third_party/cache/gpu_host
echo third_party/cache/gpu_host/bin/python
