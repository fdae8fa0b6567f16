// Gossamer's C++ API of compiling: an ONNX model in, a package out, for any target.
//
//   #include <gossamer/compile.hpp>
//   auto package = gossamer::compile_file("digits.onnx").value();   // for this machine's CPU
//   auto model = gossamer::load(package).value();                   // or: package.write("digits/")
//
// Nothing throws: what can go wrong is a std::expected with an Error, one line for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/gossamer.hpp"

namespace gossamer {

struct CompileOptions {
  std::string target = "cpu";  // "cpu", "opencl", "opengl", "wasm", "webgpu", "webgl"
#define GS_WORDS(...)
#define GS_OPTION(Type, name, initial, choices, help) Type name = initial;
#include "gossamer/options.def"
  // webgpu, webgl: "cpu" makes what the GPU leaves to the CPU (sizes of open dimensions, 64-bit
  // floats) machine code, for load() here; "wasm" WebAssembly, for pages. No difference where
  // nothing is left.
  std::string side = "wasm";
  // Whose records kernels take where the compiler comes with some: "nvidia", "swiftshader",
  // "llvmpipe", "pocl", "v8", "wasmtime", "avx512", "avx2", or "none". "": what follows from the
  // target, from `cpu` and, of opencl, opengl and with a side of "cpu", from this machine's device.
  std::string device_class;
  // compile_file() of a folder with safetensors files: how matrices are stored. "q4" or "": in 4
  // bits, with a scale for each 32 numbers; "q8": in 8 bits; "fp16": in 16 bits, F32 rounded to F16;
  // "fp32": as they are in the files.
  std::string dtype;
  // Fixed shapes of inputs (-1 leaves a dimension open), named dimensions, lengths of sequences (-1
  // leaves an optional input out). Faster kernels, and more models compile.
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, int64_t> dims;
  std::map<std::string, int> lengths;
  // Values of inputs, which become constants and leave the package's inputs: axes, shapes and the
  // like, where an operator has to know them.
  std::map<std::string, Tensor> constants;
  // Inputs with a default (an initializer) that stay inputs, which a run may leave out; the
  // defaults of others are compiled in.
  std::vector<std::string> keep_inputs;
  // Operators of one's own, as ONNX functions: bytes of the field `functions` of ModelProto, which
  // the model gets (docs/specs/operator.md).
  std::vector<std::byte> functions;
  std::function<void(std::string_view step, double fraction)> progress;
};

// The files of a package by their names (docs/specs/package.md).
struct GOSSAMER_API Package {
  struct File {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<File> files;

  // Writes a folder, which is then either the whole new package or what was there before. Errors: a
  // folder that is neither empty nor a package, what the file system says.
  std::expected<void, Error> write(const std::string& folder) const;
};

// `model`: an ONNX model, or a language model in a GGUF file, by how its bytes begin. Errors:
// whatever the model's author or the options can cause, with the node and what to do; a target that
// this library was built without.
GOSSAMER_API std::expected<Package, Error> compile(std::span<const std::byte> model,
                                                   const CompileOptions& options = {});
// The same of a file; weights in other files are found beside it. Also of a language model's folder
// with config.json and safetensors files: models of llama, mistral, qwen2, qwen3, gemma3 and phi3.
// Errors: also those of reading.
GOSSAMER_API std::expected<Package, Error> compile_file(const std::string& path,
                                                        const CompileOptions& options = {});

// What a GGUF file says of texts, as the files of a model folder in Hugging Face's form:
// config.json, generation_config.json, tokenizer.json and tokenizer_config.json, by name. Errors:
// it is no such file, or damaged; a tokenizer that is not known.
GOSSAMER_API std::expected<std::map<std::string, std::string>, Error> texts_of_gguf(
    const std::string& path);

// Errors: as of load(folder); a package for a page: for wasm, or for webgpu or webgl with a side of
// "wasm".
GOSSAMER_API std::expected<Model, Error> load(const Package& package,
                                              const LoadOptions& options = {});

}  // namespace gossamer
