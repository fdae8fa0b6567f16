// Runs whose feeds and outputs stay on the device: memory takes the places of slots, and slots'
// memory goes out with outputs.
#include <algorithm>
#include <set>

#include "runtime/clock.h"
#include "runtime/model_state.h"

namespace gossamer::runtime {

class Model::State::OnDevice {
 public:
  struct Feed {
    const DeviceTensor* there = nullptr;  // null: from the host
    bool placed = false;                  // its memory is the slot's
  };

  OnDevice(State& state, BufferPool& pool) : pool(pool), feeds(state.inputs.size()), state_(state) {
    state.on_device = this;
  }
  // Slots that feeds were put in have none again.
  ~OnDevice() {
    for (const size_t slot : taken_) state_.slots[slot] = nullptr;
    state_.on_device = nullptr;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  bool place(size_t slot, const std::shared_ptr<Buffer>& memory) {
    if (std::ranges::find(taken_, slot) != taken_.end()) return false;
    taken_.push_back(slot);
    if (auto own = std::exchange(state_.slots[slot], memory))
      pool.give_back(state_.form_of(slot), std::move(own));
    return true;
  }

  BufferPool& pool;
  std::vector<Feed> feeds;  // by input

 private:
  State& state_;
  std::vector<size_t> taken_;
};

// How inputs and outputs lie, as web/runtime/src/session/bindings.ts finds it.
Model::State::Sites Model::State::find_sites() const {
  const auto slot_at = [&](int tensor) {
    return static_cast<size_t>(module().tensors[static_cast<size_t>(tensor)].slot);
  };
  std::set<size_t> written, taken;
  for (const package::Launch& launch : module().run) {
    const int writes = module().kernels[static_cast<size_t>(launch.kernel)].writes;
    for (auto tensor = launch.tensors.end() - writes; tensor != launch.tensors.end(); ++tensor)
      written.insert(slot_at(*tensor));
  }
  std::vector<int> named;
  add_tensors(module().steps, named);
  Sites sites;
  for (const package::Port& port : module().inputs) {
    const size_t slot = slot_at(port.tensor);
    const bool direct =
        module().slots[slot].device == 0 && std::ranges::find(named, port.tensor) == named.end();
    sites.inputs.push_back({slot, direct, written.contains(slot)});
  }
  for (const package::Port& port : module().outputs) {
    const size_t slot = slot_at(port.tensor);
    const bool first = taken.insert(slot).second;
    const bool free = module().steps.empty() && first && written.contains(slot) &&
                      !module().slots[slot].persistent;
    sites.outputs.push_back({slot, module().slots[slot].device == 0, free});
  }
  return sites;
}

const Model::State::Sites& Model::State::known_sites() {
  if (!sites) sites = find_sites();
  return *sites;
}

BufferPool::Kind Model::State::form_of(size_t slot) const {
  const package::Slot& entry = module().slots[slot];
  return {entry.device == 0 ? device : side, entry.texture.width, entry.texture.layers};
}

std::shared_ptr<Buffer> Model::State::take_free(size_t slot, size_t bytes) {
  return on_device->pool.take(form_of(slot), bytes);
}

void Model::State::place_feeds(const Sized& sizes) {
  for (size_t at = 0; at < inputs.size(); ++at) {
    OnDevice::Feed& feed = on_device->feeds[at];
    const auto& [slot, direct, written] = sites->inputs[at];
    if (!feed.there || feed.placed || written) continue;
    const std::shared_ptr<Buffer>& memory = feed.there->memory->buffer();
    const int64_t bytes = bytes_of(slot, sizes);
    if (bytes < 0 || memory->size() < static_cast<size_t>(bytes)) continue;
    feed.placed = on_device->place(slot, memory);
  }
}

Result<bool> Model::State::take_feed(size_t input) {
  const OnDevice::Feed& feed = on_device->feeds[input];
  if (!feed.there || feed.placed) return feed.placed;
  Buffer& to = *slots[sites->inputs[input].slot];
  const Buffer& from = *feed.there->memory->buffer();
  GS_TRY(device->queue().copy(to, from, std::min(to.size(), from.size()), feed.there->storage));
  return true;
}

Result<DeviceTensor> Model::State::leave(const package::Port& port, const OutputSite& site,
                                         const Sized& sizes,
                                         const std::shared_ptr<BufferPool>& pool) {
  GS_ASSIGN(std::vector<int64_t> shape, shape_of(port, sizes));
  const ir::DType storage = module().tensors[static_cast<size_t>(port.tensor)].storage;
  DeviceTensor made{port.dtype, shape, storage, nullptr};
  std::shared_ptr<Buffer>& memory = slots[site.slot];
  if (site.free) {
    made.memory = std::make_shared<Block>(pool, form_of(site.slot), std::move(memory));
    memory = nullptr;
    return made;
  }
  if (!site.direct) {
    size_t bytes = static_cast<size_t>(ir::byte_size(storage));
    for (int64_t extent : shape) bytes *= static_cast<size_t>(extent);
    std::vector<std::byte> stored(bytes);
    const ReadArguments one{memory.get(), 0, stored, storage};
    GS_TRY(side->queue().read({&one, 1}));
    take_output(port, std::move(shape), stored.data(), made.host);
    return made;
  }
  std::shared_ptr<Buffer> copy = take_free(site.slot, memory->size());
  if (!copy) {
    GS_ASSIGN(copy, reserve(site.slot, memory->size()));
  }
  GS_TRY(device->queue().copy(*copy, *memory, memory->size(), storage));
  made.memory = std::make_shared<Block>(pool, form_of(site.slot), std::move(copy));
  return made;
}

// Nothing of the state changes before all outputs are there.
Result<std::vector<DeviceTensor>> Model::State::leave_outputs(
    const Sized& sizes, const std::shared_ptr<BufferPool>& pool) {
  std::vector<DeviceTensor> given;
  std::vector<DeviceTensor> left(kept.all.size());
  for (size_t at = 0; at < outputs.size(); ++at) {
    const package::Port& port = module().outputs[at];
    const Kept* const state = kept.of_output(at);
    if (!state) {
      GS_ASSIGN(DeviceTensor output, leave(port, sites->outputs[at], sizes, pool));
      given.push_back(std::move(output));
      continue;
    }
    DeviceTensor& to = left[static_cast<size_t>(state - kept.all.data())];
    GS_ASSIGN(to.shape, shape_of(port, sizes));
    if (state->dim >= 0 || std::ranges::find(to.shape, 0) != to.shape.end()) continue;
    GS_ASSIGN(to, leave(port, sites->outputs[at], sizes, pool));
  }
  for (size_t at = 0; at < left.size(); ++at) {
    Kept& state = kept.all[at];
    state.shape = left[at].shape;
    state.there.reset();
    if (state.dim >= 0) continue;
    state.host = std::move(left[at].host);
    state.host.dtype = inputs[state.input].dtype;
    state.host.shape = *state.shape;
    if (left[at].memory) state.there = std::move(left[at]);
  }
  return given;
}

Result<DeviceResults> Model::State::run_on_device(std::span<const DeviceFeed> given,
                                                  const std::shared_ptr<BufferPool>& pool,
                                                  bool keep_feeds) {
  let_go_text();
  const size_t wanted = inputs.size() - kept.all.size();
  if (signature.inputs.size() != wanted ||
      signature.outputs.size() + kept.all.size() != outputs.size())
    return fail("a model with strings has no runs on the device");
  if (given.size() != wanted)
    return fail(cat("the model has ", wanted, " inputs, ", given.size(), " are given"));
  known_sites();
  pool->age();
  DeviceResults results;
  results.feeds.resize(wanted);
  {
    OnDevice run(*this, *pool);
    std::vector<TensorView> feeds(inputs.size());
    std::vector<HostTensor> fetched(inputs.size());  // what lies on another device, or otherwise
    // Without those of the state, in the order of `given`.
    std::vector<size_t> mine;
    for (size_t at = 0; at < inputs.size(); ++at) {
      feeds[at].dtype = inputs[at].dtype;
      if (!kept.of_input(at)) mine.push_back(at);
    }
    const auto fits = [&](size_t at, const DeviceTensor& there) {
      const ir::DType storage =
          module().tensors[static_cast<size_t>(module().inputs[at].tensor)].storage;
      return sites->inputs[at].direct && there.memory && there.storage == storage &&
             there.memory->kind() == form_of(sites->inputs[at].slot);
    };
    for (size_t next = 0; next < mine.size(); ++next) {
      const size_t at = mine[next];
      const std::string where = cat("input \"", inputs[at].name, "\"");
      const DeviceTensor* const there = given[next].there;
      if (there && fits(at, *there)) {
        feeds[at] = {there->dtype, there->shape, {}};
        run.feeds[at].there = there;
        GS_TRY(check_kind(inputs[at], feeds[at], where));
        continue;
      }
      if (there) {
        GS_ASSIGN(fetched[at], there->read());
      }
      feeds[at] = there ? view_of(fetched[at]) : given[next].view;
      GS_TRY(check_feed(inputs[at], feeds[at], where));
    }
    for (Kept& state : kept.all) {
      if (!state.there) continue;
      if (fits(state.input, *state.there))
        run.feeds[state.input].there = &*state.there;
      else
        GS_TRY(fetch_state(state));
    }
    GS_TRY(feed_state(feeds));
    GS_TRY(run_fed(feeds, [&](const Sized& sizes) -> Result<> {
      GS_ASSIGN(results.outputs, leave_outputs(sizes, pool));
      return {};
    }));
    for (size_t next = 0; keep_feeds && next < mine.size(); ++next) {
      const size_t at = mine[next];
      const auto& [slot, direct, written] = sites->inputs[at];
      if (given[next].there || !direct || written || !slots[slot]) continue;
      const ir::DType storage =
          module().tensors[static_cast<size_t>(module().inputs[at].tensor)].storage;
      results.feeds[next] =
          DeviceTensor{feeds[at].dtype,
                       {feeds[at].shape.begin(), feeds[at].shape.end()},
                       storage,
                       std::make_shared<Block>(pool, form_of(slot), std::move(slots[slot]))};
      slots[slot] = nullptr;
    }
  }
  // It begins now, and the host is at most so many runs ahead.
  GS_ASSIGN(auto fence, device->queue().submit());
  ahead.push_back(std::move(fence));
  if (ahead.size() > most_ahead) {
    GS_TRY(ahead.front()->wait());
    ahead.erase(ahead.begin());
  }
  return results;
}

Result<DeviceResults> Model::run_on_device(std::span<const DeviceFeed> feeds,
                                           const std::shared_ptr<BufferPool>& pool,
                                           bool keep_feeds) {
  const std::lock_guard lock(state_->turn);
  const auto attached = state_->device->attach();
  const auto begin = Clock::now();
  auto results = state_->run_on_device(feeds, pool, keep_feeds);
  // It may have been short of memory: the next one has what is free.
  if (!results) pool->clear();
  state_->last_run_ms = milliseconds_since(begin);
  return results;
}

bool Model::claim() { return !state_->generates.exchange(true); }
void Model::release() { state_->generates = false; }

bool Model::runs_ahead() const {
  const std::string_view name = state_->device->name();
  return name != "cpu" && name != "wasm";
}

}  // namespace gossamer::runtime
