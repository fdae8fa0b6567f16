#include "runtime/generate/feeds.h"

#include <algorithm>
#include <limits>

#include "ir/scalar.h"
#include "runtime/generate/sampling.h"

namespace gossamer::runtime {

std::unexpected<Diagnostic> refused(std::string message, std::string hint) {
  return fail_at("generate()", std::move(message), std::move(hint));
}

HostTensor integers_of(const Port& port, std::vector<int64_t> shape,
                       std::span<const int64_t> values) {
  if (port.dtype == ir::DType::i64) return tensor_of<int64_t>(port.dtype, std::move(shape), values);
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return tensor_of<int32_t>(ir::DType::i32, std::move(shape), narrow);
}

HostTensor integers(const Port& port, std::vector<int64_t> shape, int64_t first, int64_t step) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<int64_t> values;
  const int64_t row = shape.empty() ? 1 : shape.back();
  for (int64_t at = 0; at < count; ++at) values.push_back(first + step * (at % row));
  return integers_of(port, std::move(shape), values);
}

HostTensor mask_of(const Port& port, std::span<const int64_t> before, int64_t count) {
  const auto texts = static_cast<int64_t>(before.size());
  const int64_t tokens = std::ranges::max(before) + count;
  const bool by_token = port.shape.size() == 4;
  const int64_t rows = by_token ? count : 1;
  HostTensor mask{port.dtype, {texts, tokens}, {}};
  if (by_token) mask.shape = {texts, 1, rows, tokens};
  const auto size = static_cast<size_t>(ir::byte_size(port.dtype));
  mask.bytes.resize(static_cast<size_t>(texts * rows * tokens) * size);
  const bool adds = by_token && ir::is_float(port.dtype);
  const ir::Scalar seen =
      adds ? ir::Scalar::of_float(port.dtype, 0) : ir::Scalar::of_int(port.dtype, 1);
  const ir::Scalar hidden =
      adds ? ir::Scalar::of_float(port.dtype, -std::numeric_limits<double>::infinity())
           : ir::Scalar::of_int(port.dtype, 0);
  std::byte* to = mask.bytes.data();
  for (const int64_t each : before)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t at = 0; at < tokens; ++at, to += size)
        ir::write_scalar(at < each + (by_token ? row + 1 : count) ? seen : hidden, to);
  return mask;
}

size_t place_of(const std::vector<Port>& ports, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(ports, name, &Port::name) - ports.begin());
}

Result<> check_model(const Model& model) {
  if (place_of(model.outputs(), "next_ids") == model.outputs().size())
    return refused("the package does not choose tokens",
                   "compile the model with generate and state");
  if (place_of(model.state(), token_counts) == model.state().size())
    return refused("the model was loaded without its state", "load it with its state by name");
  return {};
}

Result<> check_prompt(std::span<const int64_t> prompt, int64_t words) {
  if (prompt.empty())
    return refused("the prompt has no tokens", "give at least the one that texts begin with");
  for (const int64_t id : prompt)
    if (id < 0 || id >= words)
      return refused(
          cat("the prompt has token ", id, ", the model's vocabulary is 0 to ", words - 1),
          "use the tokenizer of this model");
  return {};
}

Result<> check_feeds(const Model& model, const std::map<std::string, HostTensor>& feeds) {
  for (const auto& [name, value] : feeds)
    if (place_of(model.inputs(), name) == model.inputs().size() || name == ids_input)
      return refused(cat("\"", name, "\" is not an input of its runs"));
  return {};
}

Result<> add_defaults(const Model& model, std::map<std::string, HostTensor>& feeds,
                      const std::function<bool(const Port&)>& counted) {
  for (const Port& port : model.inputs()) {
    if (feeds.contains(port.name) || counted(port)) continue;
    const HostTensor* const value = model.default_of(port.name);
    if (!value)
      return refused(cat("it does not know the input \"", port.name, "\""),
                     "give its value in `feeds`");
    feeds.emplace(port.name, *value);
  }
  return {};
}

Result<> claim(Model& model) {
  if (model.claim()) return {};
  return refused("another one is under way on this model",
                 "wait until it ends, end it, or load the model twice");
}

}  // namespace gossamer::runtime
