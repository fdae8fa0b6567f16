#include "fuzz/write_case.h"

#include <algorithm>

#include "api/files.h"
#include "compiler/compile.h"
#include "gossamer/judge/compare.h"
#include "ir/parse.h"
#include "ir/print.h"

namespace gossamer::fuzz {
namespace {

namespace fs = std::filesystem;

Result<> write_text(const fs::path& path, const std::string& text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace

Result<> write_files(const Recipe& recipe, const std::vector<ops::TensorData>& expected,
                     const fs::path& folder) {
  const fs::path data = folder / "test_data_set_0";
  std::error_code error;
  fs::create_directories(data, error);
  GS_TRY(write_text(folder / "model.onnx", to_onnx(recipe)));
  GS_TRY(write_text(folder / "graph.txt", to_text(recipe)));
  int number = 0;
  for (const Leaf& leaf : recipe.leaves) {
    if (leaf.constant) continue;
    GS_TRY(write_text(data / cat("input_", number++, ".pb"), to_pb(leaf.name, leaf.data)));
  }
  for (size_t at = 0; at < recipe.outputs.size(); ++at) {
    const std::string file = to_pb(recipe.outputs[at], expected[at]);
    GS_TRY(write_text(data / cat("output_", at, ".pb"), file));
  }
  return {};
}

Result<> write_case(const Recipe& recipe, const Values& values, const fs::path& folder) {
  std::vector<ops::TensorData> expected;
  for (const std::string& name : recipe.outputs) expected.push_back(values.at(name).data);
  GS_TRY(write_files(recipe, expected, folder));
  // A dimension may hide what a node needs to know: then the whole is refused, which is no error.
  const bool dynamic =
      std::ranges::any_of(recipe.leaves, [](const Leaf& leaf) { return !leaf.dims.empty(); });
  const auto whole = evaluate_whole(recipe);
  if (!whole && dynamic) return {};
  if (!whole) return fail(cat("the whole graph: ", whole.error().to_string()));
  for (size_t at = 0; at < recipe.outputs.size(); ++at) {
    // Sums over an extent that only a run knows have other parts.
    const ops::TensorData& expected = values.at(recipe.outputs[at]).data;
    const command::Difference difference =
        command::compare((*whole)[at], expected,
                         dynamic ? command::tolerance_of(expected.dtype) : command::Tolerance{});
    if (!difference.agrees)
      return fail(cat("the whole graph: ", recipe.outputs[at], ": ", difference.mismatch));
  }
  return {};
}

Result<> check_compile(const std::string& onnx, const std::vector<std::string>& targets) {
  const auto bytes = std::as_bytes(std::span(onnx));
  for (const std::string& target : targets) {
    const auto problem = [&](std::string text) { return fail_at(target, std::move(text)); };
    compiler::Options options;
    options.target = target;
    options.ir = true;
    compiler::Report report;
    const auto once = compiler::compile(bytes, options, &report);
    const auto again = compiler::compile(bytes, options);
    if (once.has_value() != again.has_value()) return problem("is refused every second time");
    if (!once) {
      if (once.error().to_string() != again.error().to_string())
        return problem("is refused for two reasons");
      continue;
    }
    const auto same = [](const package::File& a, const package::File& b) {
      return a.name == b.name && a.bytes == b.bytes;
    };
    if (!std::ranges::equal(*once, *again, same)) return problem("two builds differ");
    for (const compiler::KernelReport& kernel : report.kernels) {
      if (kernel.ir.find("...") != std::string::npos) continue;  // too long, cut short
      const auto read = ir::parse_kernel(kernel.ir);
      if (!read) return problem(cat(kernel.name, ": ", read.error().to_string()));
      if (ir::print(*read) != kernel.ir) return problem(cat(kernel.name, " reads as another"));
    }
  }
  return {};
}

}  // namespace gossamer::fuzz
