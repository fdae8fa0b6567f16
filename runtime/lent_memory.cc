// Runs on the CPU without copies of what goes in and out.
#include <algorithm>

#include "runtime/host_memory.h"
#include "runtime/model_state.h"

namespace gossamer::runtime {
namespace {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

Model::State::Lent::Lent(State& state, std::span<const TensorView> feeds,
                         std::span<const int64_t> longer, const Sized& sizes,
                         std::vector<HostTensor>* results)
    : state_(state), inputs_(feeds.size(), false) {
  if (state.on_device || !state.device->in_host_memory() ||
      std::ranges::any_of(longer, [](int64_t more) { return more != 0; }))
    return;
  state.lent = this;
  lend_inputs(feeds, sizes);
  if (results) lend_results(feeds, sizes, *results);
}

// What kernels did not finish goes back as well.
Model::State::Lent::~Lent() {
  for (auto& [slot, memory] : own_) state_.slots[slot] = std::move(memory);
  for (Written& one : written_)
    if (one.result && one.result->bytes.empty()) one.result->bytes = std::move(one.bytes);
  state_.lent = nullptr;
}

TensorBytes* Model::State::Lent::bytes_of(size_t output) {
  for (Written& one : written_) {
    if (one.output != output) continue;
    one.result = nullptr;
    return &one.bytes;
  }
  return nullptr;
}

void Model::State::Lent::place(size_t slot, std::byte* data, size_t size) {
  std::shared_ptr<Buffer> memory = std::make_shared<HostBuffer>(data, size);
  own_.emplace_back(slot, std::exchange(state_.slots[slot], std::move(memory)));
}

// Inputs that kernels read as they are and do not write.
void Model::State::Lent::lend_inputs(std::span<const TensorView> feeds, const Sized& sizes) {
  const Sites& sites = state_.known_sites();
  for (size_t at = 0; at < feeds.size(); ++at) {
    const auto& [slot, direct, written] = sites.inputs[at];
    const auto tensor = static_cast<size_t>(state_.module().inputs[at].tensor);
    const ir::DType storage = state_.module().tensors[tensor].storage;
    if (!direct || written || storage != feeds[at].dtype || state_.kept.of_input(at) ||
        state_.holds_state(slot))
      continue;
    const std::span<const std::byte> bytes = feeds[at].bytes;
    const int64_t size = state_.bytes_of(slot, sizes);
    const auto place_of = reinterpret_cast<uintptr_t>(bytes.data());
    if (size != static_cast<int64_t>(bytes.size()) ||
        place_of % static_cast<uintptr_t>(ir::byte_size(storage)) != 0 ||
        !may_read_past_end(bytes.data(), bytes.size()))
      continue;
    place(slot, const_cast<std::byte*>(bytes.data()), bytes.size());
    inputs_[at] = true;
  }
}

// Those whose slot nothing else needs after the run. A small one does not keep the memory of a
// large slot, and what a feed lies in is written when the run has ended.
void Model::State::Lent::lend_results(std::span<const TensorView> feeds, const Sized& sizes,
                                      std::span<HostTensor> results) {
  constexpr int64_t spared = 4096;
  const Sites& sites = state_.known_sites();
  for (size_t at = 0, next = 0; at < sites.outputs.size(); ++at) {
    const package::Port& port = state_.module().outputs[at];
    if (state_.kept.of_output(at)) continue;
    HostTensor* const result = next < results.size() ? &results[next] : nullptr;
    ++next;
    const auto& [slot, direct, free] = sites.outputs[at];
    const ir::DType storage = state_.module().tensors[static_cast<size_t>(port.tensor)].storage;
    if (!direct || !free || storage != port.dtype || state_.holds_state(slot)) continue;
    const int64_t size = state_.bytes_of(slot, sizes);
    int64_t bytes = ir::byte_size(storage);
    bool counted = size >= 0;
    for (const package::Number extent : port.shape)
      counted = counted && !__builtin_mul_overflow(bytes, value_of(extent, sizes), &bytes);
    if (!counted || bytes < 0 || size > bytes + bytes / 4 + spared) continue;
    const auto lies_in_it = [&](const TensorView& feed) {
      return overlap(feed.bytes, result->bytes);
    };
    if (result && std::ranges::any_of(feeds, lies_in_it)) continue;
    const size_t wanted = static_cast<size_t>(size) + read_past_end;
    Written one{at, result, {}};
    if (result && result->bytes.capacity() >= wanted)
      one.bytes = std::move(result->bytes);
    else if (!has_room(wanted))
      continue;
    one.bytes.resize(wanted);
    place(slot, one.bytes.data(), static_cast<size_t>(size));
    written_.push_back(std::move(one));
  }
}

}  // namespace gossamer::runtime
