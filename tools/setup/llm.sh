#!/bin/sh
# Puts Python's tokenizers and jinja2 into a virtual environment of their own. Only tests/llm needs them, so it calls this.
set -eu
cd "$(dirname "$0")/../.."
exec tools/setup/virtual_environment.sh tools/setup/llm_requirements.txt third_party/cache/llm --no-deps
