// Gradients of the catalog's operators on every target's kernels, against the stages themselves.
#include "autodiff/gradient_of_case.h"
#include "autoschedule/tiling.h"
#include "differential/differential.h"
#include "stages/pattern.h"

namespace gossamer::differential {
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
  for (const Case& test : def.cases()) {
    const std::vector<TensorData> inputs = ops::case_inputs(def, test);
    if (size_of(inputs) > most_elements) continue;
    autodiff::GradientOfCase of = autodiff::gradient_of_case(def, test, inputs);
    if (!of.made.status || of.xs.empty()) continue;
    SCOPED_TRACE(test.name);
    const Example example = example_of(std::move(of.made));
    ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
    for (TargetKind target : targets) {
      SCOPED_TRACE(name_of(target));
      compare(target, example, Form::as_a_model);
    }
    if (++cases == most_cases) break;
  }
}

std::vector<const OpDef*> entries() {
  std::vector<const OpDef*> found;
  for (const OpDef& def : ops::builtin_catalog().entries()) {
    if (!autodiff::gradient_inputs(def).empty()) found.push_back(&def);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Catalog, GradientKernels, testing::ValuesIn(entries()),
                         [](const auto& info) {
                           std::string name = info.param->domain;
                           std::ranges::replace(name, '.', '_');
                           return name.empty() ? info.param->name : name + "_" + info.param->name;
                         });

// Their products run as tiles of vectors, without conditions inside.
TEST(GradientsOfProducts, AreContractions) {
  const std::vector<std::pair<std::string_view, Case>> examples{
      {"MatMul", {.name = "matrices", .shapes = {{64, 64}, {64, 64}}}},
      {"Conv",
       {.name = "strides",
        .shapes = {{2, 16, 14, 14}, {32, 16, 3, 3}},
        .attributes = {{"strides", std::vector<int64_t>{2, 2}},
                       {"pads", std::vector<int64_t>{1, 1, 1, 1}}}}}};
  for (const auto& [name, test] : examples) {
    SCOPED_TRACE(name);
    const OpDef& def = *ops::builtin_catalog().find("", name);
    Example example =
        example_of(autodiff::gradient_of_case(def, test, ops::case_inputs(def, test)).made);
    ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
    const target::Capabilities caps = target::capabilities_of(TargetKind::wasm);
    stages::StageGraph graph = graph_of(example, Form::as_defined);
    stages::drop_dead(graph);
    stages::fuse(graph, {});
    layout::Ports ports;
    for (const auto& input : graph.inputs) ports.inputs.insert(input.buffer.get());
    for (const auto& output : graph.outputs) ports.outputs.insert(output.buffer.get());
    std::vector<std::pair<ir::Buffer, ir::Buffer>> replaced;
    layout::choose_layouts(graph.program, ports, caps, replaced);
    int products = 0;
    for (const Stage& stage : stages::stages_of(graph.program)) {
      if (stage.kind != StageKind::reduce) continue;
      ++products;
      const autoschedule::Tiling tiling = autoschedule::default_tiling(stage, caps);
      EXPECT_EQ(tiling.pattern, stages::Pattern::contraction) << stages::print(stage);
      EXPECT_EQ(tiling.lanes, caps.vector_lanes) << stages::print(stage);
      ir::visit(stage.values[0], [&](const ir::Expr& e) {
        EXPECT_NE(e->kind, ir::NodeKind::Select) << stages::print(stage);
        return true;
      });
    }
    EXPECT_EQ(products, 2);
  }
}

}  // namespace
}  // namespace gossamer::differential
