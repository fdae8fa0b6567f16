#!/bin/sh
# wgpu-native, a library of webgpu.h, into third_party/cache/webgpu (ignored by git), where environment.sh finds it: for the tests of the
# native device webgpu. Run again, it only looks.
set -eu
cd "$(dirname "$0")/../.."
exec tools/setup/virtual_environment.sh tools/setup/webgpu_requirements.txt third_party/cache/webgpu --no-deps
