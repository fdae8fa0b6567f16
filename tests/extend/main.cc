// Puts the entries beside the built-in ones and compiles models of their cases for every target.
//
//   extend_cases FOLDER TARGET...
//
// Writes packages, inputs and expected outputs below FOLDER, runs the packages for cpu, and prints
// one JSON line for each case and target, for suite.mjs.
#include <cstdio>
#include <filesystem>

#include "api/files.h"
#include "compiler/compile.h"
#include "extend/entries.h"
#include "extend/model.h"
#include "gossamer/runners/runner.h"

namespace gossamer::extend {
namespace {

namespace fs = std::filesystem;

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

// Writes tensors as raw files and describes them as run_cases.mjs takes them.
Result<std::string> write_tensors(const fs::path& folder, const std::string& prefix,
                                  const std::vector<Named>& tensors) {
  std::string json = "[";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, data] = tensors[i];
    const fs::path file = folder / cat(prefix, "_", i, ".bin");
    GS_TRY(write_file(file, data.bytes));
    std::string shape;
    for (int64_t extent : data.shape) shape += cat(shape.empty() ? "" : ",", extent);
    json +=
        cat(i > 0 ? "," : "", "{\"name\":", json_text(name), ",\"file\":", json_text(file.string()),
            ",\"dtype\":", json_text(ir::name_of(data.dtype)), ",\"shape\":[", shape, "]}");
  }
  return json + "]";
}

Result<std::string> run_on_cpu(const fs::path& package, const fs::path& folder,
                               const Example& example) {
  GS_ASSIGN(const auto runner, command::load_native_runner(package, {}));
  std::vector<ops::TensorData> feeds;
  for (const Named& input : example.inputs) feeds.push_back(input.data);
  GS_ASSIGN(auto results, runner->run(feeds));
  std::vector<Named> outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.push_back({runner->outputs()[i].name, std::move(results[i])});
  return write_tensors(folder, "cpu", outputs);
}

// The fields of a line that come from compiling, and for cpu from running.
Result<std::string> build(const Example& example, const std::string& target,
                          const ops::Catalog& catalog, const fs::path& folder) {
  compiler::Options options;
  options.target = target;
  options.catalog = &catalog;
  GS_ASSIGN(const package::Files files,
            compiler::compile(std::as_bytes(std::span(example.model)), options));
  const fs::path package = folder / target;
  GS_TRY(write_package(package, files));
  std::string json = cat("\"package_dir\":", json_text(package.string()));
  if (target != "cpu") return json;
  GS_ASSIGN(const std::string outputs, run_on_cpu(package, folder, example));
  return json + ",\"outputs\":" + outputs;
}

Result<> add_case(const ops::OpDef& def, const ops::Case& test, bool neighbours,
                  const ops::Catalog& catalog, const fs::path& root,
                  std::span<char* const> targets) {
  const std::string name = cat(def.name, ", ", test.name, neighbours ? ", fused" : "");
  const fs::path folder = root / name;
  std::error_code error;
  fs::create_directories(folder, error);
  GS_ASSIGN(const Example example, make_example(def, test, catalog, neighbours));
  GS_TRY(write_file(folder / "model.onnx", std::as_bytes(std::span(example.model))));
  GS_ASSIGN(const std::string inputs, write_tensors(folder, "input", example.inputs));
  GS_ASSIGN(const std::string expected, write_tensors(folder, "expected", example.expected));
  for (const char* target : targets) {
    const auto built = build(example, target, catalog, folder);
    std::printf("{\"name\":%s,\"target\":\"%s\",\"inputs\":%s,\"expected\":%s,%s}\n",
                json_text(name).c_str(), target, inputs.c_str(), expected.c_str(),
                (built ? *built : "\"error\":" + json_text(built.error().to_string())).c_str());
    std::fflush(stdout);
  }
  return {};
}

Result<> write_all(const fs::path& root, std::span<char* const> targets) {
  ops::Catalog catalog = ops::builtin_catalog();
  for (const auto make : {smooth_step, peak_to_peak, morphological_gradient}) {
    const ops::OpDef def = make();
    catalog.add(def);
    for (const ops::Case& test : def.cases()) {
      for (bool neighbours : {false, true})
        GS_TRY(add_case(def, test, neighbours, catalog, root, targets));
    }
  }
  return {};
}

}  // namespace
}  // namespace gossamer::extend

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: extend_cases FOLDER TARGET...\n"), 2;
  const auto done = gossamer::extend::write_all(argv[1], std::span(argv + 2, argv + argc));
  if (done) return 0;
  std::fprintf(stderr, "extend_cases: %s\n", done.error().to_string().c_str());
  return 1;
}
