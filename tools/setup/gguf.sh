#!/bin/sh
# Puts the library that writes GGUF files into a virtual environment of its own. Only tests/gguf and tests/safetensors need it, so they call this.
set -eu
cd "$(dirname "$0")/../.."
exec tools/setup/virtual_environment.sh tools/setup/gguf_requirements.txt third_party/cache/gguf --no-deps
