#!/bin/sh
# Measures Gossamer against its peers: bench/run.sh [--only PART,...] [--build FOLDER] [--budget SECONDS]
set -e
cd "$(dirname "$0")"
if [ ! -d node_modules/onnxruntime-web ]; then npm ci --ignore-scripts --no-audit --no-fund; fi
exec node run.mjs "$@"
