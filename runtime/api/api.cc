// The public C++ API over runtime::Model.
#include "gossamer/gossamer.hpp"

#include "runtime/api/element_type.h"
#include "runtime/generate/batch.h"
#include "runtime/generate/generator.h"
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

Tensor::Tensor(ElementType type, std::vector<int64_t> shape, TensorBytes bytes)
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

struct ModelState::State {
  std::unique_ptr<runtime::Model> model;
  std::vector<Port> state;
};

struct Model::State : ModelState::State {
  std::vector<Port> inputs, outputs;
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;
const std::vector<Port>& Model::inputs() const { return state_->inputs; }
const std::vector<Port>& Model::outputs() const { return state_->outputs; }

ModelState Model::state() const {
  ModelState state;
  state.state_ = state_.get();
  return state;
}

namespace {

// Where it lies.
std::expected<runtime::TensorView, Error> view_of(const Tensor& tensor, const std::string& where) {
  const auto dtype = runtime::dtype_of(tensor.type());
  if (!dtype) return std::unexpected(Error{where, "has an unknown element type", ""});
  return runtime::TensorView{*dtype, tensor.shape(), tensor.bytes(), tensor.strings()};
}

Tensor tensor_of(runtime::HostTensor from) {
  if (from.dtype == ir::DType::string)
    return Tensor::of_strings(std::move(from.shape), std::move(from.strings));
  return Tensor(runtime::public_type(from.dtype), std::move(from.shape), std::move(from.bytes));
}

// One tensor an input, in order, where they lie.
std::expected<std::vector<runtime::TensorView>, Error> feeds_of(
    const runtime::Model& model, const std::vector<Port>& ports,
    const std::map<std::string, Tensor>& inputs) {
  std::vector<runtime::TensorView> feeds;
  for (const Port& port : ports) {
    const auto found = inputs.find(port.name);
    if (found == inputs.end()) {
      const runtime::HostTensor* value = model.default_of(port.name);
      if (!value)
        return std::unexpected(Error{cat("input \"", port.name, "\""), "is not given", ""});
      feeds.push_back(runtime::view_of(*value));
      continue;
    }
    const auto view = view_of(found->second, cat("input \"", port.name, "\""));
    if (!view) return std::unexpected(view.error());
    feeds.push_back(*view);
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
  const auto feeds = feeds_of(*state_->model, state_->inputs, inputs);
  if (!feeds) return std::unexpected(feeds.error());
  std::vector<runtime::HostTensor> results;
  if (auto done = state_->model->run(*feeds, results); !done)
    return std::unexpected(error_of(done.error()));
  std::map<std::string, Tensor> outputs;
  for (size_t at = 0; at < results.size(); ++at)
    outputs.emplace(state_->outputs[at].name, tensor_of(std::move(results[at])));
  return outputs;
}

const std::vector<Port>& ModelState::ports() const { return state_->state; }

std::expected<std::optional<Tensor>, Error> ModelState::read(const std::string& name) const {
  auto value = state_->model->read_state(name);
  if (!value) return std::unexpected(error_of(value.error()));
  if (!*value) return std::nullopt;
  return tensor_of(**std::move(value));
}

std::expected<void, Error> ModelState::write(const std::string& name, const Tensor& value) {
  const auto view = view_of(value, cat("state \"", name, "\""));
  if (!view) return std::unexpected(view.error());
  if (auto written = state_->model->write_state(name, *view); !written)
    return std::unexpected(error_of(written.error()));
  return {};
}

void ModelState::reset() { state_->model->reset_state(); }

std::expected<int64_t, Error> ModelState::capacity(const std::string& name) const {
  const auto rows = state_->model->state_capacity(name);
  if (!rows) return std::unexpected(error_of(rows.error()));
  return *rows;
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
  const auto feeds = feeds_of(*state_->model, state_->inputs, inputs);
  if (!feeds) return std::unexpected(feeds.error());
  auto profile = state_->model->profile(*feeds, options);
  if (!profile) return std::unexpected(error_of(profile.error()));
  return *std::move(profile);
}

struct GenerationCache::State {
  runtime::TextCache cache;
};

GenerationCache::GenerationCache() : GenerationCache(std::make_unique<State>()) {}
GenerationCache::GenerationCache(std::unique_ptr<State> state) : state_(std::move(state)) {}
GenerationCache::GenerationCache(GenerationCache&&) noexcept = default;
GenerationCache& GenerationCache::operator=(GenerationCache&&) noexcept = default;
GenerationCache::~GenerationCache() = default;
std::vector<int64_t> GenerationCache::tokens() const { return state_->cache.tokens(); }
int64_t GenerationCache::reused() const { return state_->cache.reused(); }

std::expected<GenerationCache, Error> GenerationCache::fork() const {
  auto made = state_->cache.fork();
  if (!made) return std::unexpected(error_of(made.error()));
  return GenerationCache(std::make_unique<State>(*std::move(made)));
}

std::expected<std::vector<std::byte>, Error> GenerationCache::save() const {
  auto file = state_->cache.save();
  if (!file) return std::unexpected(error_of(file.error()));
  return *std::move(file);
}

std::expected<GenerationCache, Error> GenerationCache::load(std::span<const std::byte> bytes) {
  auto made = runtime::TextCache::load(bytes);
  if (!made) return std::unexpected(error_of(made.error()));
  return GenerationCache(std::make_unique<State>(*std::move(made)));
}

struct Generation::State {
  std::unique_ptr<runtime::Generator> generator;
};

Generation::Generation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;
GenerationEnd Generation::how() const { return state_->generator->how(); }

std::expected<std::optional<Token>, Error> Generation::next() {
  auto token = state_->generator->next();
  if (!token) return std::unexpected(error_of(token.error()));
  return *std::move(token);
}

namespace {

std::expected<std::map<std::string, runtime::HostTensor>, Error> host_tensors_of(
    const std::map<std::string, Tensor>& feeds) {
  std::map<std::string, runtime::HostTensor> given;
  for (const auto& [name, tensor] : feeds) {
    const auto view = view_of(tensor, cat("input \"", name, "\""));
    if (!view) return std::unexpected(view.error());
    given[name] = {view->dtype, tensor.shape(), {view->bytes.begin(), view->bytes.end()}};
  }
  return given;
}

}  // namespace

std::expected<Generation, Error> Model::generate(std::span<const int64_t> prompt,
                                                 const GenerateOptions& options,
                                                 const std::map<std::string, Tensor>& feeds) {
  auto given = host_tensors_of(feeds);
  if (!given) return std::unexpected(given.error());
  const runtime::TextCache* const cache = options.cache ? &options.cache->state_->cache : nullptr;
  auto made = runtime::Generator::begin(*state_->model, prompt, options, *std::move(given), cache);
  if (!made) return std::unexpected(error_of(made.error()));
  return Generation(std::make_unique<Generation::State>(*std::move(made)));
}

struct GenerationBatch::State {
  std::unique_ptr<runtime::Batch> batch;
};

GenerationBatch::GenerationBatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
GenerationBatch::GenerationBatch(GenerationBatch&&) noexcept = default;
GenerationBatch& GenerationBatch::operator=(GenerationBatch&&) noexcept = default;
GenerationBatch::~GenerationBatch() = default;

std::expected<int64_t, Error> GenerationBatch::add(std::span<const int64_t> prompt,
                                                   const GenerateOptions& options,
                                                   std::span<const int32_t> mask) {
  const auto text = state_->batch->add(prompt, options, mask);
  if (!text) return std::unexpected(error_of(text.error()));
  return *text;
}

std::expected<void, Error> GenerationBatch::restrict(int64_t text, std::span<const int32_t> mask) {
  const auto done = state_->batch->restrict(text, mask);
  if (!done) return std::unexpected(error_of(done.error()));
  return {};
}

void GenerationBatch::remove(int64_t text) { state_->batch->remove(text); }

std::vector<BatchToken> GenerationBatch::step() {
  std::vector<BatchToken> tokens;
  for (runtime::BatchStep& each : state_->batch->step()) {
    tokens.push_back({each.text, std::move(each.token), each.end, {}, each.reused});
    if (each.error) tokens.back().error = error_of(*each.error);
  }
  return tokens;
}

int64_t GenerationBatch::places() const { return state_->batch->places(); }
size_t GenerationBatch::running() const { return state_->batch->running(); }
size_t GenerationBatch::waiting() const { return state_->batch->waiting(); }

std::expected<GenerationBatch, Error> Model::generate_batch(
    const BatchOptions& options, const std::map<std::string, Tensor>& feeds) {
  auto given = host_tensors_of(feeds);
  if (!given) return std::unexpected(given.error());
  auto made = runtime::Batch::begin(*state_->model, options, *std::move(given));
  if (!made) return std::unexpected(error_of(made.error()));
  return GenerationBatch(std::make_unique<GenerationBatch::State>(*std::move(made)));
}

std::expected<Model, Error> load(const std::string& folder, const LoadOptions& options) {
  runtime::LoadOptions load_options;
  load_options.threads = options.threads;
  load_options.state = {options.state.pairs, options.state.by_name, options.state.rows};
  auto model = runtime::Model::load(folder, std::move(load_options));
  if (!model) return std::unexpected(error_of(model.error()));
  auto state = std::make_unique<Model::State>();
  state->inputs = ports_of((*model)->inputs());
  state->outputs = ports_of((*model)->outputs());
  state->state = ports_of((*model)->state());
  state->model = std::move(*model);
  return Model(std::move(state));
}

}  // namespace gossamer
