// ONNX's own operator cases through reader, lowering and the interpreter: what the operators mean,
// before any target. Set GOSSAMER_CONFORMANCE_REPORT to a file name for one line a case that does
// not pass.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "interp/fold_constants.h"
#include "interp/stages.h"
#include "lower/lower.h"
#include "onnx/reader.h"
#include "onnx/testdata.h"
#include "stages/stage_graph.h"

namespace gossamer::onnx {
namespace {

namespace fs = std::filesystem;
using ops::TensorData;

std::vector<std::byte> contents(const fs::path& path) {
  std::vector<std::byte> bytes(static_cast<size_t>(fs::file_size(path)));
  FILE* file = std::fopen(path.c_str(), "rb");
  size_t got = file ? std::fread(bytes.data(), 1, bytes.size(), file) : 0;
  if (file) std::fclose(file);
  bytes.resize(got);
  return bytes;
}

Result<TensorData> load_tensor(const fs::path& path) {
  std::vector<std::byte> bytes = contents(path);
  std::vector<std::string> files;
  GS_ASSIGN(ProtoTensor proto, parse_tensor(bytes));
  GS_ASSIGN(auto source, read_tensor(proto, {bytes, &files, SIZE_MAX, nullptr}));
  return TensorData{source.dtype, source.shape, std::move(source.bytes), std::move(source.strings)};
}

TensorData data_of(const stages::ConstantSource& source, Bytes model) {
  Bytes bytes = *bytes_of(source, model);
  return {source.dtype, source.shape, {bytes.begin(), bytes.end()}, {}};
}

// |x - y| <= atol + rtol * max|y| over the tensor.
Result<> compare(const TensorData& got, const TensorData& want) {
  if (got.dtype != want.dtype) return fail("has another type");
  if (got.shape != want.shape) return fail("has another shape");
  if (got.strings != want.strings) return fail("has other strings");
  int64_t count = want.dtype == ir::DType::string ? 0 : want.element_count();
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    double y = std::fabs(interp::element(want, i).as_double());
    if (std::isfinite(y)) largest = std::max(largest, y);
  }
  bool coarse = want.dtype == ir::DType::f16 || want.dtype == ir::DType::bf16;
  double rtol = want.dtype == ir::DType::bf16 ? 2e-2 : coarse ? 2e-3 : 1e-4;
  double allowed = ir::is_float(want.dtype) ? 1e-5 + rtol * largest : 0;
  for (int64_t i = 0; i < count; ++i) {
    double x = interp::element(got, i).as_double(), y = interp::element(want, i).as_double();
    bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= allowed;
    if (!same) return fail(cat("element ", i, " is ", x, ", expected ", y));
  }
  return {};
}

// Runs one data set. `stage` says how far it came.
Result<> run_case(const fs::path& folder, const fs::path& set, std::string& stage) {
  stage = "read";
  std::vector<std::byte> model = contents(folder / "model.onnx");
  GS_ASSIGN(graph::Graph signature, read_model(model));
  std::vector<TensorData> inputs;
  ReadOptions options;
  Known& known = options.known;
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    GS_ASSIGN(TensorData data, load_tensor(set / cat("input_", i, ".pb")));
    const graph::Value& value = signature.values[signature.inputs[i]];
    known.shapes[value.name] = data.shape;
    if (data.element_count() <= 64) known.constants[value.name] = data;
    inputs.push_back(std::move(data));
  }
  stage = "lower";
  std::vector<size_t> numbers(signature.inputs.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  auto stages = lower::lower(signature, ops::builtin_catalog());
  if (!stages) {
    // Inputs that must be known when compiling, such as axes, get the values of this set.
    GS_ASSIGN(graph::Graph fixed, read_model(model, options));
    std::erase_if(numbers, [&](size_t i) {
      return known.constants.contains(signature.values[signature.inputs[i]].name);
    });
    stages = lower::lower(fixed, ops::builtin_catalog());
    if (!stages) return std::unexpected(stages.error());
  }
  interp::fold_constants(*stages);
  stages::merge_duplicates(*stages);
  stage = "run";
  std::vector<TensorData> feeds;  // one of strings is two
  for (size_t i : numbers) {
    if (inputs[i].dtype != ir::DType::string) {
      feeds.push_back(inputs[i]);
      continue;
    }
    ops::StringsData parts = ops::split_strings(inputs[i]);
    feeds.push_back(std::move(parts.bytes));
    feeds.push_back(std::move(parts.lengths));
  }
  interp::Values values;
  interp::Variables variables;
  for (const stages::StageConstant& constant : stages->constants) {
    values[constant.buffer.get()] = data_of(constant.source, model);
  }
  for (size_t i = 0; i < stages->inputs.size(); ++i) {
    values[stages->inputs[i].buffer.get()] = feeds[i];
  }
  for (const stages::Dim& dim : stages->dims) {
    int64_t extent = feeds[static_cast<size_t>(dim.input)].shape[static_cast<size_t>(dim.axis)];
    variables[dim.var.get()] = ir::Scalar::of_int(ir::DType::index, extent);
  }
  for (const stages::Check& check : stages->checks) {
    if (!interp::evaluate(check.condition, variables, values).truthy()) return fail(check.message);
  }
  GS_TRY(interp::run_program(stages->program, values, variables));
  stage = "compare";
  for (size_t i = 0, file = 0; i < stages->outputs.size(); ++i, ++file) {
    GS_ASSIGN(TensorData want, load_tensor(set / cat("output_", file, ".pb")));
    const stages::StageOutput& output = stages->outputs[i];
    auto found = values.find(output.buffer.get());
    if (found == values.end()) return fail("was not made");
    TensorData got = found->second;
    if (output.strings) {
      GS_ASSIGN(got, ops::join_strings(got, values.at(stages->outputs[++i].buffer.get())));
    }
    if (auto same = compare(got, want); !same) {
      return fail_at(output.name, same.error().message);
    }
  }
  return {};
}

struct Tally {
  int cases = 0, lowered = 0, passed = 0;
};

Tally walk(const fs::path& cases) {
  Tally tally;
  const char* report_name = std::getenv("GOSSAMER_CONFORMANCE_REPORT");
  FILE* report = report_name ? std::fopen(report_name, "a") : nullptr;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(cases)) {
    fs::path input = entry.path() / "test_data_set_0" / "input_0.pb";
    // The interpreter would take long over a megabyte; the targets run those cases.
    if (fs::exists(input) && fs::file_size(input) > 1'000'000) continue;
    if (fs::exists(entry.path() / "test_data_set_0")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    ++tally.cases;
    std::string stage;
    auto outcome = run_case(folder, folder / "test_data_set_0", stage);
    tally.passed += outcome.has_value();
    tally.lowered += stage == "run" || stage == "compare";
    if (report && !outcome) {
      std::fprintf(report, "%s\t%s\t%s\n", folder.filename().c_str(), stage.c_str(),
                   outcome.error().to_string().c_str());
    }
  }
  if (report) std::fclose(report);
  std::printf("%s: %d cases, %d lowered, %d pass\n", cases.c_str(), tally.cases, tally.lowered,
              tally.passed);
  return tally;
}

void expect_passes(const fs::path& cases, int least) {
  if (cases.empty()) GTEST_SKIP() << "run tests/conformance/onnx_package.mjs for the cases";
  EXPECT_GE(walk(cases).passed, least);
}

TEST(Conformance, OperatorCases) { expect_passes(cases("onnx_node", "node"), 1300); }
TEST(Conformance, OlderExporters) {
  expect_passes(cases("onnx_pytorch-operator", "pytorch-operator"), 25);
}

void expect_case(const fs::path& folder, const char* set) {
  std::string stage;
  const auto outcome = run_case(folder, folder / set, stage);
  EXPECT_TRUE(outcome.has_value())
      << folder << ", " << stage << ": " << outcome.error().to_string();
  std::printf("%s: %s\n", folder.c_str(), outcome ? "passes" : "fails");
}

// Whole models that the interpreter runs in a moment; GOSSAMER_CONFORMANCE_MODELS names others,
// with spaces between.
TEST(Conformance, SmallModels) {
  expect_case("examples/digits", "test_data_set_0");
  if (!fs::exists(testdata())) return;
  const char* others = std::getenv("GOSSAMER_CONFORMANCE_MODELS");
  std::string names = others ? others
                             : "mnist_8_cntk tfl_helloworld_sine winml_iris godot_ships "
                               "godot_3dlander reversi_ai mnist_onnx_mlir mnist_quant_connxr";
  while (!names.empty()) {
    const std::string name = names.substr(0, names.find(' '));
    names.erase(0, name.size() + 1);
    expect_case(name.starts_with('/') ? fs::path(name) : testdata("models") / name, "gold_ort");
  }
}

}  // namespace
}  // namespace gossamer::onnx
