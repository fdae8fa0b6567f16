// Gradients of the catalog's operators on every target's kernels, against the stages themselves.
#include "compiler/differential.h"
#include "graph/gradient_of_case.h"

namespace gossamer::compiler {
namespace {

constexpr int64_t most_elements = 400;  // of a case
constexpr int most_cases = 2;           // of an operator

class GradientKernels : public testing::TestWithParam<const OpDef*> {};

int64_t size_of(const std::vector<TensorData>& inputs) {
  int64_t size = 0;
  for (const TensorData& one : inputs) size += one.bytes.empty() ? 0 : one.element_count();
  return size;
}

TEST_P(GradientKernels, AreThatOfTheStages) {
  const OpDef& def = *GetParam();
  int cases = 0;
  for (const Case& test : def.cases) {
    const std::vector<TensorData> inputs = ops::case_inputs(def, test);
    if (size_of(inputs) > most_elements) continue;
    graph::GradientOfCase of = graph::gradient_of_case(def, test, inputs);
    if (!of.made.status || of.xs.empty()) continue;
    SCOPED_TRACE(test.name);
    const Example example = example_of(std::move(of.made));
    ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
    for (TargetKind target : targets) {
      SCOPED_TRACE(schedule::name_of(target));
      compare(target, example, Form::as_a_model);
    }
    if (++cases == most_cases) break;
  }
}

std::vector<const OpDef*> entries() {
  std::vector<const OpDef*> found;
  for (const OpDef& def : ops::builtin_catalog().entries()) {
    if (!graph::gradient_inputs(def).empty()) found.push_back(&def);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Catalog, GradientKernels, testing::ValuesIn(entries()),
                         [](const auto& info) {
                           std::string name = info.param->domain;
                           std::ranges::replace(name, '.', '_');
                           return name.empty() ? info.param->name : name + "_" + info.param->name;
                         });

}  // namespace
}  // namespace gossamer::compiler
