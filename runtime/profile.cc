// Model::profile: what each launch of some runs takes, by the device's clock where it has one, else
// by the host's.
#include <algorithm>

#include "runtime/clock.h"
#include "runtime/model_state.h"
#include "runtime/string_ports.h"

namespace gossamer::runtime {
namespace {

double median(std::vector<double> all) {
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// A sum over the launches of a kernel, and what its limit would leave of it.
KernelProfile kernel_of(const package::Module& module, size_t at, const Profile& profile) {
  const package::KernelInfo& info = module.kernels[at];
  KernelProfile kernel;
  kernel.name = info.name;
  kernel.schedule = info.schedule;
  size_t origins = 0;
  for (const auto* launches : {&module.run, &module.init}) {
    for (const package::Launch& launch : *launches) {
      if (static_cast<size_t>(launch.kernel) != at) continue;
      if (origins++ == 0) kernel.origin = launch.origin;
    }
  }
  if (origins > 1) kernel.origin += cat(" and ", origins - 1, " more");
  for (const LaunchProfile& launch : profile.launches) {
    if (static_cast<size_t>(launch.kernel) != at) continue;
    ++kernel.launches;
    kernel.ms += launch.ms;
    kernel.bytes += launch.bytes;
    kernel.operations += launch.operations;
  }
  const auto least = [](double amount, double rate) { return rate > 0 ? amount / rate / 1e6 : 0; };
  const double moving = least(kernel.bytes, profile.limits.copy_rate);
  const double computing = least(kernel.operations, profile.limits.arithmetic_rate);
  kernel.limit = computing > moving ? "arithmetic" : "memory";
  if (kernel.ms > 0) kernel.share = std::max(moving, computing) / kernel.ms;
  return kernel;
}

}  // namespace

Result<> Model::State::timed_launch(size_t at, std::span<const int64_t> scalars, int64_t range,
                                    const Sized& sizes) {
  const package::Launch& one = module().run[at];
  Execution execution{at, 0, 0, 0};
  for (int tensor : one.tensors) {
    const package::Tensor& used = module().tensors[static_cast<size_t>(tensor)];
    execution.bytes +=
        static_cast<double>(value_of(used.elements, sizes)) * ir::byte_size(used.storage);
  }
  execution.operations =
      std::max(0.0, static_cast<double>(value_of(one.operations, sizes)));  // 0: nobody can count
  const int number = module().kernels[static_cast<size_t>(one.kernel)].device;
  if (by_device && number == 0) {
    execution.ms = range == 0 ? 0 : of_device;
    executions->push_back(execution);
    return launch(one, scalars, range);
  }
  Queue& queue = device_at(number).queue();
  const Clock::time_point begin = Clock::now();
  GS_TRY(launch(one, scalars, range));
  GS_ASSIGN(const std::unique_ptr<Fence> fence, queue.submit());
  GS_TRY(fence->wait());
  execution.ms = milliseconds_since(begin);
  executions->push_back(execution);
  return {};
}

Result<> Model::State::take_times(std::vector<Execution>& seen) {
  GS_ASSIGN(const std::vector<double> times, device->queue().take_times());
  size_t at = 0;
  for (Execution& each : seen) {
    if (each.ms != of_device) continue;
    if (at == times.size()) return fail("the device did not time all launches");
    each.ms = times[at++];
  }
  return {};
}

Result<std::vector<Model::State::Execution>> Model::State::run_timed(
    std::span<const TensorView> feeds, std::vector<HostTensor>& results) {
  std::vector<Execution> seen;
  executions = &seen;
  by_device = device->queue().time_launches(true);
  auto ran = run(feeds, results);
  if (ran && by_device) ran = take_times(seen);
  device->queue().time_launches(false);
  executions = nullptr;
  GS_TRY(ran);
  return seen;
}

Result<Profile> Model::profile(std::span<const HostTensor> feeds, const ProfileOptions& options) {
  std::vector<TensorView> views;
  for (const HostTensor& feed : feeds) views.push_back(view_of(feed));
  return profile(views, options);
}

Result<Profile> Model::profile(std::span<const TensorView> feeds, const ProfileOptions& options) {
  const std::lock_guard lock(state_->turn);
  const auto attached = state_->device->attach();
  GS_ASSIGN(const PackedFeeds packed, pack_feeds(state_->signature.inputs, feeds));
  std::vector<HostTensor> outputs;
  state_->keeps = false;
  const auto keeps_again = [&](void*) { state_->keeps = true; };
  const std::unique_ptr<void, decltype(keeps_again)> until_done(state_.get(), keeps_again);
  const package::Module& module = state_->module();
  const int runs = std::max(1, options.runs);
  std::vector<double> whole;
  for (int run = -1; run < runs; ++run) {
    const Clock::time_point begin = Clock::now();
    GS_TRY(state_->run(packed.feeds, outputs));
    if (run >= 0) whole.push_back(milliseconds_since(begin));
  }
  std::vector<State::Execution> first;
  std::vector<std::vector<double>> times;  // of each launch of the first run
  for (int run = 0; run < runs; ++run) {
    GS_ASSIGN(const std::vector<State::Execution> seen, state_->run_timed(packed.feeds, outputs));
    if (run == 0) {
      first = seen;
      times.resize(seen.size());
    }
    // Random numbers may take another way; what is not the same launch is left out.
    for (size_t at = 0; at < std::min(seen.size(), first.size()); ++at)
      if (seen[at].launch == first[at].launch) times[at].push_back(seen[at].ms);
  }
  Profile profile;
  profile.model = module.name;
  profile.device = state_->device->name();
  profile.adapter = state_->device->description();
  profile.method = state_->by_device ? "timestamps" : "clock";
  profile.run_ms = median(whole);
  profile.limits = state_->device->limits();
  for (size_t at = 0; at < first.size(); ++at) {
    const package::Launch& launch = module.run[first[at].launch];
    const std::string& name = module.kernels[static_cast<size_t>(launch.kernel)].name;
    profile.launches.push_back({name, launch.origin, launch.kernel, median(times[at]),
                                first[at].bytes, first[at].operations});
    profile.kernel_ms += profile.launches.back().ms;
  }
  for (size_t at = 0; at < module.kernels.size(); ++at)
    profile.kernels.push_back(kernel_of(module, at, profile));
  std::ranges::sort(profile.kernels, std::greater(), &KernelProfile::ms);
  return profile;
}

}  // namespace gossamer::runtime
