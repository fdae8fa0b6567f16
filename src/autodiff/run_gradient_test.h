// Runs the gradient of an operator's case on the interpreter; a part of tests.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "autodiff/gradient_of_case.h"
#include "interp/stages.h"
#include "ir/scalar.h"

namespace gossamer::autodiff {

inline std::vector<double> numbers_of(const ops::TensorData& data) {
  std::vector<double> values;
  const auto size = static_cast<size_t>(ir::byte_size(data.dtype));
  for (size_t at = 0; at < data.bytes.size(); at += size)
    values.push_back(ir::read_scalar(data.dtype, &data.bytes[at]).as_double());
  return values;
}

inline ops::TensorData data_of(ir::DType dtype, const std::vector<int64_t>& shape,
                               const std::vector<double>& values) {
  ops::TensorData data{dtype, shape, {}, {}};
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  data.bytes.resize(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i)
    ir::write_scalar(ir::Scalar::of_float(dtype, values[i]), &data.bytes[i * size]);
  return data;
}

// All values after a run. `change` may replace those of inputs and weights before it.
inline Result<interp::Values> run_gradient(
    const GradientOfCase& of, const std::function<void(interp::Values&)>& change = {}) {
  interp::Values memory;
  for (const auto& [buffer, data] : of.made.memory) memory[buffer.get()] = data;
  for (const auto& constant : of.made.builder->constants)
    memory[constant.buffer.get()] = constant.data;
  if (change) change(memory);
  GS_TRY(interp::run_program(of.made.builder->program, memory));
  return memory;
}

inline std::vector<std::vector<double>> numbers_of(const std::vector<ops::Tensor>& tensors,
                                                   const interp::Values& memory) {
  std::vector<std::vector<double>> all;
  for (const ops::Tensor& one : tensors) all.push_back(numbers_of(memory.at(one.buffer.get())));
  return all;
}

// Elements of all inputs of a case.
inline int64_t size_of(const std::vector<ops::TensorData>& inputs) {
  int64_t size = 0;
  for (const ops::TensorData& one : inputs) size += one.bytes.empty() ? 0 : one.element_count();
  return size;
}

// The name of a test with an operator as its parameter.
inline std::string test_name(const ops::OpDef& def) {
  std::string name = def.domain;
  std::ranges::replace(name, '.', '_');
  return name.empty() ? def.name : name + "_" + def.name;
}

}  // namespace gossamer::autodiff
