#!/bin/sh
# What exports the models of the zoo (tests/zoo, tests/builder): PyTorch and libraries of models, 6 GB. Only `make zoo` needs it, so it calls this.
set -eu
cd "$(dirname "$0")/../.."
tools/setup/virtual_environment.sh tests/zoo/requirements.txt third_party/cache/zoo-environment
tools/setup/virtual_environment.sh tests/builder/optimum_requirements.txt third_party/cache/optimum-environment --no-deps
