// For tests of values: what the stages of an operator's definition give.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "interp/stages.h"
#include "ops/test_case.h"

namespace gossamer::interp {

// The elements of the first output; none, and a failure, where the definition refuses the inputs.
// An input without data is absent.
inline std::vector<double> values_of(std::string_view domain, std::string_view name,
                                     const ops::Attributes& attributes,
                                     std::vector<ops::TensorData> inputs) {
  const ops::OpDef& def = *ops::builtin_catalog().find(domain, name);
  ops::Case test{.name = "values", .attributes = attributes, .inputs = std::move(inputs)};
  for (const ops::TensorData& input : test.inputs)
    test.shapes.push_back(input.bytes.empty() ? std::vector<int64_t>{-1} : input.shape);
  const ops::DefinedCase made = ops::define_case(def, test, ops::case_inputs(def, test), 1);
  EXPECT_TRUE(made.status) << (made.status ? "" : made.status.error().to_string());
  if (!made.status) return {};
  Values memory;
  for (const auto& [buffer, data] : made.memory) memory[buffer.get()] = data;
  for (const auto& constant : made.builder->constants)
    memory[constant.buffer.get()] = constant.data;
  const Result<> ran = run_program(made.builder->program, memory);
  EXPECT_TRUE(ran) << (ran ? "" : ran.error().to_string());
  const ops::TensorData& output = memory.at(made.outputs[0].buffer.get());
  std::vector<double> values;
  for (int64_t i = 0; i < output.element_count(); ++i)
    values.push_back(element(output, i).as_double());
  return values;
}

}  // namespace gossamer::interp
