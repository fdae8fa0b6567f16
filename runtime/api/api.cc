// The public C++ API over runtime::Model.
#include "gossamer/gossamer.hpp"

#include "runtime/api/element_type.h"
#include "runtime/model.h"

namespace gossamer {

namespace {

Error error_of(const Diagnostic& diagnostic) {
  return {diagnostic.where, diagnostic.message, diagnostic.hint};
}

std::vector<Port> ports_of(const std::vector<runtime::Port>& ports) {
  std::vector<Port> all;
  for (const runtime::Port& port : ports)
    all.push_back({port.name, runtime::public_type(port.dtype), port.shape});
  return all;
}

}  // namespace

std::string Error::to_string() const { return Diagnostic{where, message, hint}.to_string(); }

size_t byte_size(ElementType type) {
  const auto dtype = runtime::dtype_of(type);
  return dtype ? static_cast<size_t>(ir::byte_size(*dtype)) : 0;
}

Tensor::Tensor(ElementType type, std::vector<int64_t> shape, std::vector<std::byte> bytes)
    : type_(type), shape_(std::move(shape)), bytes_(std::move(bytes)) {}

Tensor Tensor::of_strings(std::vector<int64_t> shape, std::vector<std::string> values) {
  Tensor tensor(ElementType::string, std::move(shape), {});
  tensor.strings_ = std::move(values);
  return tensor;
}

Error Tensor::wrong_type(ElementType asked) const {
  const auto name = [](ElementType type) {
    const auto dtype = runtime::dtype_of(type);
    return dtype ? ir::name_of(*dtype) : "of an unknown type";
  };
  return {"", cat("the tensor's elements are ", name(type_), ", not ", name(asked)), ""};
}

struct Model::State {
  std::unique_ptr<runtime::Model> model;
  std::vector<Port> inputs, outputs;
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;
const std::vector<Port>& Model::inputs() const { return state_->inputs; }
const std::vector<Port>& Model::outputs() const { return state_->outputs; }

namespace {

// One tensor an input, in order, where they lie.
std::expected<std::vector<runtime::TensorView>, Error> feeds_of(
    const std::vector<Port>& ports, const std::map<std::string, Tensor>& inputs) {
  std::vector<runtime::TensorView> feeds;
  for (const Port& port : ports) {
    const auto found = inputs.find(port.name);
    if (found == inputs.end())
      return std::unexpected(Error{cat("input \"", port.name, "\""), "is not given", ""});
    const auto dtype = runtime::dtype_of(found->second.type());
    if (!dtype)
      return std::unexpected(
          Error{cat("input \"", port.name, "\""), "has an unknown element type", ""});
    feeds.push_back(
        {*dtype, found->second.shape(), found->second.bytes(), found->second.strings()});
  }
  for (const auto& [name, tensor] : inputs) {
    bool known = false;
    for (const Port& port : ports) known = known || port.name == name;
    if (!known)
      return std::unexpected(Error{cat("input \"", name, "\""), "is no input of the model", ""});
  }
  return feeds;
}

}  // namespace

std::expected<std::map<std::string, Tensor>, Error> Model::run(
    const std::map<std::string, Tensor>& inputs) {
  const auto feeds = feeds_of(state_->inputs, inputs);
  if (!feeds) return std::unexpected(feeds.error());
  std::vector<runtime::HostTensor> results;
  if (auto done = state_->model->run(*feeds, results); !done)
    return std::unexpected(error_of(done.error()));
  std::map<std::string, Tensor> outputs;
  for (size_t at = 0; at < results.size(); ++at) {
    runtime::HostTensor& result = results[at];
    outputs.emplace(state_->outputs[at].name,
                    result.dtype == ir::DType::string
                        ? Tensor::of_strings(std::move(result.shape), std::move(result.strings))
                        : Tensor(runtime::public_type(result.dtype), std::move(result.shape),
                                 std::move(result.bytes)));
  }
  return outputs;
}

Report Model::report() const {
  const runtime::Report from = state_->model->report();
  Report report{from.device,       from.load_ms,      from.last_run_ms,
                from.memory_bytes, from.weight_bytes, {}};
  for (const runtime::LaunchReport& launch : from.launches)
    report.kernels.push_back({launch.kernel, launch.schedule, launch.origin, launch.times});
  return report;
}

std::expected<Profile, Error> Model::profile(const std::map<std::string, Tensor>& inputs,
                                             const ProfileOptions& options) {
  const auto feeds = feeds_of(state_->inputs, inputs);
  if (!feeds) return std::unexpected(feeds.error());
  auto profile = state_->model->profile(*feeds, options);
  if (!profile) return std::unexpected(error_of(profile.error()));
  return *std::move(profile);
}

std::expected<Model, Error> load(const std::string& folder, const LoadOptions& options) {
  runtime::LoadOptions load_options;
  load_options.threads = options.threads;
  auto model = runtime::Model::load(folder, std::move(load_options));
  if (!model) return std::unexpected(error_of(model.error()));
  auto state = std::make_unique<Model::State>();
  state->inputs = ports_of((*model)->inputs());
  state->outputs = ports_of((*model)->outputs());
  state->model = std::move(*model);
  return Model(std::move(state));
}

}  // namespace gossamer
