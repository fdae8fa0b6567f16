#include "runtime/model.h"

#include <algorithm>
#include <set>

#include "ir/scalar.h"
#include "runtime/clock.h"
#include "runtime/cpu/device.h"
#include "runtime/device_here.h"
#include "runtime/model_state.h"
#include "runtime/string_ports.h"
#include "runtime/wasm/device.h"

namespace gossamer::runtime {
namespace {

using Made = Result<std::unique_ptr<Device>>;

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const std::string& folder, LoadOptions options) {
  const auto begin = Clock::now();
  auto state = std::make_unique<State>();
  if (options.shared) options.shared->begin();
  GS_ASSIGN(state->package, open_package(folder, options.shared.get()));
  const package::Module& module = state->module();
  GS_TRY(state->provide_devices(folder, options));
  const auto attached = state->device->attach();
  if (auto able = check_needs(module, *state->device, state->side.get()); !able)
    return fail_at(folder, able.error().message, able.error().hint);
  state->inputs = described_ports(module.inputs);
  state->outputs = described_ports(module.outputs);
  state->signature = signature_of(module);
  if (auto kept = state->keep_state(options.state); !kept) {
    kept.error().where = cat(folder, ": ", kept.error().where);
    return std::unexpected(kept.error());
  }
  const auto steps = [&]() -> Result<> {
    state->choose_variants();
    GS_TRY(state->read_defaults());
    GS_TRY(state->load_code());
    return state->initialize(options.shared.get());
  };
  if (auto done = steps(); !done) {
    Diagnostic error = done.error();
    error.where = error.where.empty() ? folder : cat(folder, ": ", error.where);
    return std::unexpected(std::move(error));
  }
  state->load_ms = milliseconds_since(begin);
  return std::unique_ptr<Model>(new Model(std::move(state)));
}

Result<> Model::State::provide_devices(const std::string& folder, LoadOptions& options) {
  const TargetKind target = module().target;
  const std::optional<package::Side>& beside = module().side;
  const auto provide = [&](const std::string& name, auto make) -> Result<std::shared_ptr<Device>> {
    if (options.shared) return options.shared->device(name, make);
    return make();
  };
  const auto on_cpu = [&](const char* name, auto make) {
    return provide(cat(name, " ", options.threads),
                   [&]() -> Made { return make(options.threads); });
  };
  if (options.device) options.shared = nullptr;
  device = std::move(options.device);
  if (beside) side = std::move(options.side);
  // Before a device is looked for: without the engine there is no use for one.
  const bool page = is_gpu_of_pages(target);
  const bool for_engine =
      beside ? beside->target != TargetKind::cpu : !device && page && module().plan_values > 0;
  if (for_engine && !side) {
    auto engine = on_cpu("wasm", make_wasm_device);
    if (!engine)
      return fail_at(
          folder,
          cat("was compiled for pages: what its target leaves to the CPU is WebAssembly, and ",
              engine.error().where, engine.error().where.empty() ? "" : " ",
              engine.error().message),
          cat(page ? "compile the model with --side cpu, or " : "compile for cpu, or ",
              engine.error().hint));
    side = std::move(*engine);
  }
  if (!device && target == TargetKind::cpu) {
    GS_ASSIGN(device, on_cpu("cpu", make_cpu_device));
  }
  if (!device && target == TargetKind::wasm) {
    GS_ASSIGN(device, on_cpu("wasm", make_wasm_device));
  }
  if (!device) {
    GS_ASSIGN(device,
              provide(std::string(name_of(target)), [&] { return make_gpu_device(target); }));
  }
  if (beside && !side) {
    GS_ASSIGN(side, on_cpu("cpu", make_cpu_device));
  }
  return {};
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() {
  const std::lock_guard lock(state_->turn);
  state_->let_go_text();
}
const std::string& Model::name() const { return state_->module().name; }
const std::vector<Port>& Model::inputs() const { return state_->signature.inputs; }
const std::vector<Port>& Model::outputs() const { return state_->signature.outputs; }

const std::vector<Group>& Model::input_groups() const { return state_->signature.input_groups; }
const std::vector<Group>& Model::output_groups() const { return state_->signature.output_groups; }

Result<std::vector<HostTensor>> Model::run(std::span<const HostTensor> feeds) {
  std::vector<HostTensor> outputs;
  GS_TRY(run(feeds, outputs));
  return outputs;
}

Result<> Model::run(std::span<const HostTensor> feeds, std::vector<HostTensor>& outputs) {
  std::vector<TensorView> views;
  for (const HostTensor& feed : feeds) views.push_back(view_of(feed));
  return run(views, outputs);
}

Result<> Model::run(std::span<const TensorView> feeds, std::vector<HostTensor>& outputs) {
  const std::lock_guard lock(state_->turn);
  const auto attached = state_->device->attach();
  const auto begin = Clock::now();
  GS_ASSIGN(const PackedFeeds packed, pack_feeds(state_->signature.inputs, feeds));
  const bool strings =
      state_->signature.outputs.size() + state_->kept.all.size() != state_->outputs.size();
  std::vector<HostTensor> pairs;
  GS_TRY(state_->run(packed.feeds, strings ? pairs : outputs));
  if (strings) {
    GS_ASSIGN(outputs, unpack_outputs(state_->signature.outputs, std::move(pairs)));
  }
  state_->last_run_ms = milliseconds_since(begin);
  return {};
}

Report Model::report() const {
  const std::lock_guard lock(state_->turn);
  Report report;
  report.device = state_->device->description();
  report.load_ms = state_->load_ms;
  report.last_run_ms = state_->last_run_ms;
  const package::Module& module = state_->module();
  for (size_t at = 0; at < state_->slots.size(); ++at) {
    const auto& slot = state_->slots[at];
    if (slot) report.memory_bytes += static_cast<int64_t>(slot->size());
  }
  std::set<int> read;
  for (const package::Weight& weight : module.weights)
    if (read.insert(weight.file).second)
      report.weight_bytes +=
          static_cast<int64_t>(state_->package.files.at(state_->file_of(weight))->bytes().size());
  for (size_t at = 0; at < module.run.size(); ++at) {
    const package::Launch& launch = module.run[at];
    const package::KernelInfo& kernel = module.kernels[static_cast<size_t>(launch.kernel)];
    LaunchReport row{kernel.name, kernel.schedule, launch.origin, launch.reason};
    if (at < state_->launch_ranges.size()) row.range = state_->launch_ranges[at];
    if (at < state_->launch_times.size()) row.times = state_->launch_times[at];
    report.launches.push_back(std::move(row));
  }
  return report;
}

Result<> Model::State::load_code() {
  loaded.assign(module().kernels.size(), -1);
  slots.resize(module().slots.size());
  const std::vector<KernelEntry> entries = entries_of(0);
  const int segments = module().plan_values > 0 ? module().plan_segments : 0;
  // A page has the plan in a module of its own.
  const bool native = module().side && module().side->target == TargetKind::cpu;
  const bool apart = side && !native && segments > 0;
  if (apart) {
    GS_ASSIGN(const auto bytes, package.file("plan.wasm"));
    GS_ASSIGN(plan_code, side->load(bytes, {}, segments));
  }
  if (module().side) {
    GS_ASSIGN(const auto bytes, package.file(module().side->code));
    GS_ASSIGN(side_code, side->load(bytes, entries_of(1), apart ? 0 : segments));
  }
  const std::string_view file = code_file();
  const int own = side ? 0 : segments;
  if (entries.empty() && own == 0 && !package.files.contains(file)) return {};
  std::span<const std::byte> bytes;
  if (device->computes()) {
    GS_ASSIGN(bytes, package.file(file));
  }
  GS_ASSIGN(code, device->load(bytes, entries, own));
  return {};
}

bool Model::State::takes_variants() const {
  return device->hardware() &&
         (module().target != TargetKind::wasm || package.files.contains(relaxed_kernels));
}

std::string_view Model::State::code_file() const {
  if (module().target == TargetKind::wasm) {
    if (!takes_variants()) return "kernels.wasm";
    const bool dots = device->exact_dots() && package.files.contains(dot_kernels);
    return dots ? dot_kernels : relaxed_kernels;
  }
  const bool shaders = std::ranges::any_of(
      module().kernels, [](const package::KernelInfo& kernel) { return kernel.code >= 0; });
  return shaders ? "kernels.json" : "kernels.so";
}

void Model::State::choose_variants() {
  if (!takes_variants()) return;
  for (auto* launches : {&package.manifest.module.init, &package.manifest.module.run}) {
    for (package::Launch& launch : *launches) {
      if (!launch.hardware) continue;
      launch.kernel = launch.hardware->kernel;
      launch.scalars = launch.hardware->scalars;
      launch.range = launch.hardware->range;
    }
  }
}

// Entries of the kernels that launches call; the CPU's code has all kernels.
std::vector<KernelEntry> Model::State::entries_of(int number) {
  std::vector<bool> called(module().kernels.size(), module().target == TargetKind::cpu);
  for (const auto* launches : {&module().init, &module().run})
    for (const package::Launch& launch : *launches)
      called[static_cast<size_t>(launch.kernel)] = true;
  std::vector<KernelEntry> entries;
  for (size_t at = 0; at < called.size(); ++at) {
    const package::KernelInfo& kernel = module().kernels[at];
    if (!called[at] || kernel.device != number) continue;
    loaded[at] = static_cast<int>(entries.size());
    entries.push_back({kernel.entry, kernel.buffers, kernel.scalars, kernel.code, kernel.group_size,
                       kernel.writes});
  }
  return entries;
}

Result<> Model::State::write_tensor(int tensor, ir::DType dtype, std::span<const std::byte> bytes) {
  const package::Tensor& to = module().tensors[static_cast<size_t>(tensor)];
  Queue& queue = queue_of(tensor);
  if (to.storage == dtype) return queue.write(*memory_of(tensor), 0, bytes, to.storage);
  dtype = ir::carrier_of(dtype);  // memory holds codes
  const bool narrows = ir::byte_size(dtype) == 8 && ir::is_int(dtype);
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  const auto stored_size = static_cast<size_t>(ir::byte_size(to.storage));
  std::vector<std::byte> converted(bytes.size() / size * stored_size);
  for (size_t at = 0; at < bytes.size() / size; ++at) {
    const ir::Scalar value = ir::read_scalar(dtype, &bytes[at * size]);
    const ir::Scalar stored = ir::convert(to.storage, value);
    if (narrows && stored.i != value.i)
      return fail_at(cat("tensor \"", to.name, "\""),
                     cat("element ", at, " is ", value.i,
                         ", which does not fit the 32 bits of this target's integers"),
                     "run this model on cpu");
    ir::write_scalar(stored, &converted[at * stored_size]);
  }
  return queue.write(*memory_of(tensor), 0, converted, to.storage);
}

}  // namespace gossamer::runtime
