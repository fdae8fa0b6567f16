#!/bin/sh
# Puts jco, which makes components and serves them in Node.js (340 MB), into third_party/cache/components. Only
# tests/component needs it, so that calls this.
exec "$(dirname "$0")/npm_packages.sh" components "@bytecodealliance/jco@1.35.0"
