#include "runtime/generate/feeds.h"

#include <algorithm>

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
