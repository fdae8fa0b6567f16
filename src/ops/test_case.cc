#include "ops/test_case.h"

#include <algorithm>
#include <cmath>

#include "ir/scalar.h"
#include "ops/host_value.h"

namespace gossamer::ops {
namespace {

// A small generator of our own: the same numbers on every platform.
struct Random {
  uint64_t state;
  double next() {  // in [0, 1)
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
  }
};

DType type_of(const InputDef& input, DType wanted) {
  if (input.types & only(wanted)) return wanted;
  for (unsigned i = 0; i < static_cast<unsigned>(DType::index); ++i) {
    if (input.types & (1u << i)) return static_cast<DType>(i);
  }
  return wanted;
}

TensorData random_tensor(DType dtype, const std::vector<int64_t>& shape, const Case& test,
                         Random& random) {
  TensorData data{dtype, shape, {}, {}};
  size_t bytes = static_cast<size_t>(ir::byte_size(dtype));
  size_t count = static_cast<size_t>(data.element_count());
  if (dtype == DType::string) {
    for (size_t i = 0; i < count; ++i)
      data.strings.push_back(std::string(static_cast<size_t>(random.next() * 3), 'a'));
    return data;
  }
  data.bytes.resize(count * bytes);
  for (size_t i = 0; i < count; ++i) {
    double value = test.low + (test.high - test.low) * random.next();
    if (dtype == DType::boolean) value = random.next() < 0.5 ? 0 : 1;
    if (ir::is_int(dtype)) value = std::round(value);
    ir::write_scalar(ir::Scalar::of_float(dtype, value), &data.bytes[i * bytes]);
  }
  return data;
}

}  // namespace

bool is_given(const Case& test, size_t i) {
  if (i >= test.inputs.size()) return false;
  const TensorData& data = test.inputs[i];
  return !data.bytes.empty() || !data.shape.empty() || !data.strings.empty();
}

const InputDef& input_of(const OpDef& def, const Case& test, size_t i) {
  if (test.length >= 0) {
    const auto length = static_cast<size_t>(test.length);
    i = i < length ? 0 : i - length + 1;
  }
  return def.inputs[std::min(i, def.inputs.size() - 1)];
}

std::vector<TensorData> case_inputs(const OpDef& def, const Case& test) {
  Random random{0x9e3779b97f4a7c15u + def.name.size() * 131 + test.name.size()};
  std::vector<TensorData> inputs;
  size_t count = std::max(test.shapes.size(), test.inputs.size());
  for (size_t i = 0; i < count; ++i) {
    if (is_given(test, i)) {
      inputs.push_back(test.inputs[i]);
    } else if (i >= test.shapes.size() || test.shapes[i] == std::vector<int64_t>{-1}) {
      inputs.push_back({DType::f32, {-1}, {}, {}});
    } else {
      const InputDef& input = input_of(def, test, i);
      inputs.push_back(random_tensor(type_of(input, test.dtype), test.shapes[i], test, random));
    }
  }
  return inputs;
}

int output_count_of(const OpDef& def, const Case& test) {
  if (test.outputs > 0) return test.outputs;
  return std::max<int>(1, static_cast<int>(def.outputs.size()));
}

DefinedCase define_case(const OpDef& def, const Case& test, const std::vector<TensorData>& inputs,
                        int outputs) {
  DefinedCase made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorData& data = inputs[i];
    if (data.shape == std::vector<int64_t>{-1}) {
      made.inputs.push_back({});
      continue;
    }
    Shape shape;
    for (int64_t extent : data.shape) shape.push_back(ir::index(extent));
    Tensor tensor{ir::buffer(cat("input", i), data.dtype, shape), std::nullopt};
    if (data.dtype == DType::string) {
      StringsData parts = split_strings(data);
      tensor.lengths = ir::buffer(cat("input", i, ".lengths"), DType::i32, shape);
      shape.push_back(ir::index(parts.bytes.shape.back()));
      tensor.bytes = ir::buffer(cat("input", i), DType::u8, shape);
      made.memory.emplace_back(tensor.bytes, std::move(parts.bytes));
      made.memory.emplace_back(tensor.lengths, std::move(parts.lengths));
    } else {
      made.memory.emplace_back(tensor.buffer, data);
    }
    if (is_given(test, i)) tensor.host = host_elements(data.dtype, data.bytes);
    made.inputs.push_back(std::move(tensor));
  }
  std::vector<Item> items(made.inputs.begin(), made.inputs.end());
  if (test.length >= 0) {
    const auto end = std::min(static_cast<size_t>(test.length), made.inputs.size());
    items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(end));
    items.insert(items.begin(),
                 Item::sequence({made.inputs.begin(),
                                 made.inputs.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  made.builder =
      std::make_unique<Builder>(def, test.name, std::move(items), test.attributes, outputs);
  made.status = made.builder->define();
  if (!made.status) return made;
  for (int i = 0; i < outputs; ++i) {
    const auto item = made.builder->items.find(i);
    if (item == made.builder->items.end())
      made.outputs.push_back(made.builder->outputs[static_cast<size_t>(i)]);
    else
      made.outputs.insert(made.outputs.end(), item->second.elements.begin(),
                          item->second.elements.end());
  }
  return made;
}

std::vector<Buffer> DefinedCase::output_memory() const {
  std::vector<Buffer> buffers;
  for (const Tensor& output : outputs) {
    buffers.push_back(output.bytes ? output.bytes : output.buffer);
    if (output.bytes) buffers.push_back(output.lengths);
  }
  return buffers;
}

}  // namespace gossamer::ops
