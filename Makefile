# The short commands. Each builds in build/ (native), build-wasm/ (compiler.wasm), build-sanitize/.
# How many jobs: make JOBS=4 ...

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
JOBS ?= $(shell nproc)
# Node.js may be the project's own (tools/setup/environment.sh).
RUN := . tools/setup/environment.sh;
PACKAGES := runtime compiler tensor ort llm rpc vite webpack cli

.DEFAULT_GOAL := help
.PHONY: help setup native wasm web packages build test check demo examples chat-model bench bench-pack site release conformance zoo fuzz fingerprints aarch64 format lint sanitize clean

help: ## what there is
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## install what is missing (apt-get, npm)
	@tools/setup/setup.sh

native: setup ## build the command line, the libraries and the C++ tests
	@cmake -G Ninja -B build . $(CMAKE_FLAGS) >/dev/null
	@cmake --build build -j $(JOBS)

wasm: setup ## build compiler.wasm
	@cmake -G Ninja -B build-wasm --toolchain cmake/wasm32-wasi.cmake \
	  -DCMAKE_BUILD_TYPE=MinSizeRel . >/dev/null
	@cmake --build build-wasm -j $(JOBS)

web: wasm ## build the TypeScript packages
	@$(RUN) cd web && npm run --silent build

packages: web ## build/packages/*.tgz: the TypeScript packages as npm installs them
	@mkdir -p build/packages
	@$(RUN) cd web && npm pack --silent --pack-destination ../build/packages $(PACKAGES:%=-w %)

build: native wasm web ## build everything

test: build ## build and test everything; the last line is 'N passed, N failed' (', N skipped'); ARGS=--all runs unchanged cases again
	@$(RUN) node tools/check/test.mjs $(ARGS)

check: setup ## the tests and checks of what the working tree changes
	@$(RUN) node tools/check/test.mjs --changed

demo: wasm ## compile a real model for every target and run it in a browser
	@cmake -G Ninja -B build . $(CMAKE_FLAGS) >/dev/null
	@cmake --build build -j $(JOBS) --target gossamer
	@$(RUN) node web/build.mjs runtime examples && node tools/demo/demo.mjs

site: wasm ## the web site, with its packages and examples, into build/site; ARGS="--base /PATH/"
	@$(RUN) cd web && npm run --silent build && cd ../site && { [ -d node_modules ] || npm ci --silent --ignore-scripts; } && node build.mjs $(ARGS)
	@echo "build/site: node tools/demo/serve.mjs build/site"

release: build ## everything that a release needs, into build/release; ARGS="--only npm,source"
	@$(RUN) node tools/release/release.mjs $(ARGS)

examples: wasm ## pages that train and run models; ARGS=FOLDER for a folder of models and data
	@$(RUN) node web/build.mjs compiler llm && node web/examples/serve.mjs $(ARGS)

chat-model: wasm ## train the small chat model of the examples, with Gossamer's tensors, into build/chat-model
	@$(RUN) node web/build.mjs tensor llm && node tools/chat_model/make.mjs $(ARGS)

bench: build ## measure against the peers, into bench/results/; ARGS="--only wasm --model resnet50"
	@$(RUN) tools/setup/setup.sh --bench && bench/before.sh >/dev/null && node bench/run.mjs $(ARGS)

bench-pack: build ## one folder that measures on any machine with a Chromium and Node.js, and is a page for any browser
	@$(RUN) tools/setup/setup.sh --bench && bench/before.sh >/dev/null && node bench/pack.mjs $(ARGS)

conformance: build ## all cases of the shared test data and the onnx package on every target, into docs/conformance.md
	@$(RUN) node tests/conformance/run.mjs && node tests/cases/suite.mjs --all --corpus catalog,graphs,models,open,zoo
	@$(RUN) node tests/cases/suite.mjs --all --corpus conformance "webgpu native" "webgl native" "wasm native" "opengl es31" "cpu avx2" "cpu sse"
	@$(RUN) node tests/space/suite.mjs --seeds 4 && node tests/sizes/suite.mjs --count 12 && node tests/packages/suite.mjs --all && node tests/transformersjs/suite.mjs --all && node tests/npm/suite.mjs --all && node tests/llm/suite.mjs --all && node tests/python/suite.mjs --all

zoo: build ## export networks that people deploy (6 GB of PyTorch), test them with open dimensions, and time them on the cpu
	@$(RUN) tools/setup/zoo.sh && third_party/cache/zoo-environment/bin/python tests/zoo/export.py
	@third_party/cache/zoo-environment/bin/python tests/transformersjs/export.py
	@$(RUN) third_party/cache/zoo-environment/bin/python tests/builder/compare.py
	@$(RUN) PYTHONPATH=$$(echo third_party/cache/optimum-environment/lib/*/site-packages) \
	  third_party/cache/zoo-environment/bin/python tests/builder/optimum_forms.py
	@$(RUN) node tests/cases/suite.mjs --all --corpus zoo cpu wasm webgpu webgl
	@$(RUN) node bench/zoo.mjs $(ARGS)

fuzz: build ## random graphs on every target; ARGS="--count 5000 --target cpu --minimise"
	@$(RUN) node tests/fuzz/fuzz.mjs $(ARGS)

fingerprints: setup ## compare the compiled kernels of 60 models with the last ones; ARGS=--update keeps them
	@cmake -G Ninja -B build . $(CMAKE_FLAGS) >/dev/null
	@cmake --build build -j $(JOBS) --target fingerprint graph_fuzz
	@$(RUN) node tests/fingerprints/suite.mjs --old-texts --jobs $(JOBS) $(ARGS)

sanitize: setup ## the C++ tests and hostile models under the address and undefined-behaviour sanitizers
	@cmake -G Ninja -B build-sanitize -DGOSSAMER_SANITIZE=address,undefined . >/dev/null
	@cmake --build build-sanitize -j $(JOBS)
	@$(RUN) ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  ctest --test-dir build-sanitize --output-on-failure -j $(JOBS)
	@$(RUN) GOSSAMER_BUILD=build-sanitize node tests/hostile/suite.mjs

aarch64: ## cross-build for Linux on 64-bit Arm, without LLVM, and its C++ tests under an emulator
	@tools/setup/setup.sh --aarch64
	@cmake -G Ninja -B build-aarch64 --toolchain cmake/aarch64-linux-gnu.cmake . >/dev/null
	@cmake --build build-aarch64 -j $(JOBS)
	@ctest --test-dir build-aarch64 --output-on-failure -j $(JOBS)

format: native ## format the sources, redraw the layer picture, the operators' page and what follows from manifest.def
	@git ls-files -z -co --exclude-standard -- '*.cc' '*.h' | xargs -0 -r clang-format-19 -i
	@$(RUN) node tools/check/layers.mjs --update && node tools/check/operators_page.mjs --update && node tools/check/manifest.mjs --update

lint: setup ## the checks alone: layers, names, format, clang-tidy on changed files, eslint, tsc
	@$(RUN) node tools/check/test.mjs --checks

clean: ## remove the build folders
	@rm -rf build build-wasm build-sanitize build-aarch64 web/*/dist
