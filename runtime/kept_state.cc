#include "runtime/kept_state.h"

#include <algorithm>

#include "runtime/host_memory.h"
#include "runtime/model_state.h"

namespace gossamer::runtime {
namespace {

// Rows of a tensor: `pieces` runs of `elements` each.
struct Pieces {
  size_t count = 1, elements = 1;
};

Pieces pieces_of(std::span<const int64_t> shape, int axis, int64_t extent) {
  Pieces pieces;
  for (size_t at = 0; at < shape.size(); ++at) {
    const bool before = at < static_cast<size_t>(axis), mine = at == static_cast<size_t>(axis);
    (before ? pieces.count : pieces.elements) *= static_cast<size_t>(mine ? extent : shape[at]);
  }
  return pieces;
}

Port* port_named(std::vector<Port>& ports, const std::string& name) {
  const auto found = std::ranges::find(ports, name, &Port::name);
  return found == ports.end() ? nullptr : &*found;
}

// Ports are runs' no more. False for one that is part of a sequence or an optional.
bool remove(std::vector<Port>& ports, std::vector<Group>& groups, const Port* port) {
  const auto at = static_cast<size_t>(port - ports.data());
  for (const Group& group : groups)
    if (at >= group.first && at < group.first + group.count) return false;
  for (Group& group : groups) group.first -= group.first > at;
  ports.erase(ports.begin() + (port - ports.data()));
  return true;
}

size_t entry_named(const std::vector<package::Port>& entries, const std::string& name) {
  return static_cast<size_t>(std::ranges::find(entries, name, &package::Port::name) -
                             entries.begin());
}

std::string kind_of(const Port& port) {
  return cat(ir::name_of(port.dtype), " of ", port.shape.size(), " axes");
}

Result<> refused(const std::string& name, const std::string& what) {
  return fail_at(cat("state \"", name, "\""), what);
}

}  // namespace

std::vector<std::byte> with_room(const TensorView& tensor, int axis, int64_t room) {
  const auto size = static_cast<size_t>(ir::byte_size(tensor.dtype));
  const auto [count, elements] =
      pieces_of(tensor.shape, axis, tensor.shape[static_cast<size_t>(axis)]);
  const size_t apart = pieces_of(tensor.shape, axis, room).elements * size;
  std::vector<std::byte> all(count * apart);
  for (size_t at = 0; at < count; ++at)
    std::ranges::copy(tensor.bytes.subspan(at * elements * size, elements * size),
                      all.begin() + static_cast<std::ptrdiff_t>(at * apart));
  return all;
}

std::vector<std::byte> first_rows(const TensorView& tensor, int axis, int64_t rows) {
  const auto size = static_cast<size_t>(ir::byte_size(tensor.dtype));
  const auto [count, elements] = pieces_of(tensor.shape, axis, rows);
  const size_t apart =
      pieces_of(tensor.shape, axis, tensor.shape[static_cast<size_t>(axis)]).elements * size;
  std::vector<std::byte> first(count * elements * size);
  for (size_t at = 0; at < count; ++at)
    std::ranges::copy(tensor.bytes.subspan(at * apart, elements * size),
                      first.begin() + static_cast<std::ptrdiff_t>(at * elements * size));
  return first;
}

const Kept* KeptState::of_input(size_t input) const {
  const auto found = std::ranges::find(all, input, &Kept::input);
  return found == all.end() ? nullptr : &*found;
}

const Kept* KeptState::of_output(size_t output) const {
  const auto found = std::ranges::find(all, output, &Kept::output);
  return found == all.end() ? nullptr : &*found;
}

const Kept* KeptState::of_dim(size_t dim) const {
  const auto found = std::ranges::find(all, static_cast<int>(dim), &Kept::dim);
  return found == all.end() ? nullptr : &*found;
}

Result<size_t> KeptState::find(const std::string& name) const {
  const auto found = std::ranges::find(ports, name, &Port::name);
  if (found != ports.end()) return static_cast<size_t>(found - ports.begin());
  std::string names;
  for (const Port& port : ports) names += cat(names.empty() ? "" : ", ", port.name);
  return fail(names.empty() ? cat("\"", name, "\" is no state: the model was loaded without")
                            : cat("\"", name, "\" is no state of the model; it has ", names));
}

Result<> Model::State::keep_state(const StateOptions& options) {
  std::map<std::string, std::string> pairs = options.pairs;
  for (const Port& port : signature.inputs) {
    const std::string past = "past", values = "_key_values";
    if (!options.by_name || !port.name.starts_with(past)) continue;
    std::string rest = port.name.substr(past.size());
    if (rest.starts_with(values)) rest = rest.substr(values.size());
    if (port_named(signature.outputs, "present" + rest)) pairs.emplace(port.name, "present" + rest);
  }
  if (options.by_name && pairs.empty())
    return fail("the model has no inputs past... with outputs present...", "name the state");
  for (const auto& [name, next] : pairs) {
    const Port* const input = port_named(signature.inputs, name);
    const Port* const output = port_named(signature.outputs, next);
    if (!input) return refused(name, "is no input of the model");
    if (!output) return refused(name, cat("there is no output \"", next, "\" to continue it"));
    if (input->dtype == ir::DType::string || kind_of(*input) != kind_of(*output))
      return refused(name, cat("is ", kind_of(*input), ", \"", next, "\" is ", kind_of(*output)));
    Kept state;
    state.input = entry_named(module().inputs, name);
    state.output = entry_named(module().outputs, next);
    if (kept.of_output(state.output)) return refused(name, "its output continues another one");
    for (size_t at = 0; at < module().dims.size(); ++at) {
      const package::Dim& dim = module().dims[at];
      if (dim.output != static_cast<int>(state.output)) continue;
      if (dim.input != static_cast<int>(state.input))
        return refused(name, cat("\"", next, "\" continues another input"));
      state.dim = static_cast<int>(at);
      state.axis = dim.axis;
    }
    kept.all.push_back(std::move(state));
    kept.ports.push_back(*input);
    if (!remove(signature.inputs, signature.input_groups, input) ||
        !remove(signature.outputs, signature.output_groups, output))
      return refused(name, "is part of a sequence or an optional");
  }
  kept.rows = options.rows;
  return {};
}

bool Model::State::holds_state(size_t slot) const {
  return std::ranges::any_of(kept.all, [&](const Kept& state) {
    const int tensor = module().inputs[state.input].tensor;
    return state.room > 0 &&
           module().tensors[static_cast<size_t>(tensor)].slot == static_cast<int>(slot);
  });
}

Result<> Model::State::feed_state(std::vector<TensorView>& feeds) {
  for (Kept& state : kept.all) {
    TensorView& feed = feeds[state.input];
    const Port& port = inputs[state.input];
    const std::string where = cat("state \"", port.name, "\"");
    if (state.shape) {
      state.fed = *state.shape;
      if (!on_device) GS_TRY(fetch_state(state));
      feed.bytes = state.host.bytes;
      GS_TRY(check_kind(port, {feed.dtype, state.fed, {}}, where));
      continue;
    }
    state.room = 0;
    state.fed = port.shape;
    // Extents that have names are those of other feeds.
    for (size_t axis = 0; axis < state.fed.size(); ++axis) {
      if (port.shape[axis] >= 0) continue;
      state.fed[axis] = 0;
      for (size_t at = 0; at < inputs.size(); ++at)
        for (size_t i = 0; i < inputs[at].symbols.size() && !kept.of_input(at); ++i)
          if (!port.symbols[axis].empty() && inputs[at].symbols[i] == port.symbols[axis])
            state.fed[axis] = feeds[at].shape[i];
    }
    uint64_t bytes = static_cast<uint64_t>(ir::byte_size(port.dtype));
    for (const int64_t extent : state.fed)
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
        return fail_at(where, "would have a shape without a size");
    if (auto room = has_room(bytes); !room) return fail_at(where, room.error().message);
    state.zeros.assign(bytes, {});
    feed.bytes = state.zeros;
  }
  for (const Kept& state : kept.all) feeds[state.input].shape = state.fed;
  return {};
}

Result<> Model::State::fetch_state(Kept& state) {
  if (!state.there) return {};
  GS_ASSIGN(state.host, state.there->read());
  state.there.reset();
  return {};
}

// Rows lie in the slot; `memory`: more of it, or nothing where there is enough.
Result<> Model::State::fill_state(Kept& state, int64_t room, std::shared_ptr<Buffer> memory) {
  const package::Port& port = module().inputs[state.input];
  HostTensor rows{port.dtype, state.fed, {}};
  if (state.room > 0) {
    GS_ASSIGN(rows, rows_of(state));
  } else {
    rows.bytes = state.shape ? state.host.bytes : TensorBytes(state.zeros);
  }
  const auto slot = static_cast<size_t>(module().tensors[static_cast<size_t>(port.tensor)].slot);
  const bool more = memory != nullptr;
  if (more) slots[slot].swap(memory);
  if (!rows.bytes.empty()) {
    auto written =
        write_tensor(port.tensor, port.dtype, with_room(view_of(rows), state.axis, room));
    if (!written) {
      if (more) slots[slot].swap(memory);
      return written;
    }
  }
  state.host.bytes.clear();
  state.room = room;
  return {};
}

Result<> Model::State::place_state(std::span<const int64_t> dims, const Sized& sizes) {
  for (Kept& state : kept.all) {
    if (state.dim < 0) continue;
    const int64_t room = dims[static_cast<size_t>(state.dim)];
    if (state.room == room && room > 0) continue;
    const int tensor = module().inputs[state.input].tensor;
    const auto slot = static_cast<size_t>(module().tensors[static_cast<size_t>(tensor)].slot);
    const int64_t bytes = bytes_of(slot, sizes);
    std::shared_ptr<Buffer> memory;
    if (!slots[slot] || bytes < 0 || slots[slot]->size() < static_cast<size_t>(bytes)) {
      GS_ASSIGN(memory, allocate(slot, sizes));
    }
    GS_TRY(fill_state(state, room, std::move(memory)));
  }
  return {};
}

Result<HostTensor> Model::State::rows_of(const Kept& state) {
  const package::Port& port = module().inputs[state.input];
  const package::Tensor& from = module().tensors[static_cast<size_t>(port.tensor)];
  const std::vector<int64_t>& shape = state.shape ? *state.shape : state.fed;
  const auto size = static_cast<size_t>(ir::byte_size(from.storage));
  const auto [count, elements] =
      pieces_of(shape, state.axis, shape[static_cast<size_t>(state.axis)]);
  const size_t length = elements * size;
  const size_t apart = pieces_of(shape, state.axis, state.room).elements * size;
  const size_t whole = count == 0 || length == 0 ? 0 : (count - 1) * apart + length;
  GS_TRY(has_room(2 * whole));
  const Buffer& memory = *memory_of(port.tensor);
  GS_CHECK(whole <= memory.size(), "rows lie in their memory");
  std::vector<std::byte> read;
  std::span<const std::byte> stored = memory.mapped();
  if (stored.empty()) {
    read.resize(whole);
    GS_TRY(queue_of(port.tensor).read(memory, 0, read));
    stored = read;
  }
  std::vector<std::byte> dense(count * length);
  for (size_t at = 0; at < count; ++at)
    std::ranges::copy(stored.subspan(at * apart, length),
                      dense.begin() + static_cast<std::ptrdiff_t>(at * length));
  HostTensor rows{port.dtype, shape, {}};
  take_elements(from.storage, dense, rows);
  return rows;
}

Result<std::optional<HostTensor>> Model::State::read_state(Kept& state) {
  if (!state.shape) return std::nullopt;
  GS_TRY(fetch_state(state));
  if (state.room == 0) return state.host;
  GS_ASSIGN(HostTensor rows, rows_of(state));
  return rows;
}

void Model::State::take_state(std::vector<HostTensor> left) {
  for (size_t at = 0; at < kept.all.size(); ++at) {
    kept.all[at].shape = left[at].shape;
    kept.all[at].host = std::move(left[at]);
    kept.all[at].there.reset();
  }
}

const std::vector<Port>& Model::state() const { return state_->kept.ports; }

Result<std::optional<HostTensor>> Model::read_state(const std::string& name) {
  const std::lock_guard lock(state_->turn);
  const auto attached = state_->device->attach();
  GS_ASSIGN(const size_t at, state_->kept.find(name));
  return state_->read_state(state_->kept.all[at]);
}

Result<> Model::write_state(const std::string& name, const TensorView& value) {
  const std::lock_guard lock(state_->turn);
  GS_ASSIGN(const size_t at, state_->kept.find(name));
  GS_TRY(check_feed(state_->kept.ports[at], value, cat("state \"", name, "\"")));
  state_->let_go_text();
  Kept& state = state_->kept.all[at];
  state.shape.emplace(value.shape.begin(), value.shape.end());
  state.host = {value.dtype, *state.shape, {value.bytes.begin(), value.bytes.end()}};
  state.there.reset();
  state.room = 0;
  return {};
}

void Model::reset_state() {
  const std::lock_guard lock(state_->turn);
  state_->let_go_text();
  for (Kept& state : state_->kept.all) {
    state.shape = std::nullopt;
    state.host = {};
    state.there.reset();
    state.room = 0;
  }
}

void Model::shorten_state(int64_t rows) {
  const std::lock_guard lock(state_->turn);
  state_->let_go_text();
  for (Kept& state : state_->kept.all) {
    if (state.dim < 0 || !state.shape) continue;
    int64_t& has = (*state.shape)[static_cast<size_t>(state.axis)];
    if (has <= rows) continue;
    if (state.room == 0) {
      state.host.bytes = first_rows(view_of(state.host), state.axis, rows);
      state.host.shape[static_cast<size_t>(state.axis)] = rows;
    }
    has = rows;
  }
}

Result<> Model::State::copy_text() {
  std::map<std::string, HostTensor> states;
  for (size_t at = 0; at < kept.all.size(); ++at) {
    GS_ASSIGN(std::optional<HostTensor> value, read_state(kept.all[at]));
    if (value) states.emplace(kept.ports[at].name, *std::move(value));
  }
  const std::lock_guard lock(text->mutex);
  text->states = std::move(states);
  return {};
}

void Model::State::let_go_text() {
  if (!text) return;
  // Nothing else refers to it: it goes.
  if (text.use_count() > 1) {
    const auto attached = device->attach();
    const auto copied = copy_text();
    const std::lock_guard lock(text->mutex);
    text->lost = !copied;
    text->holder = nullptr;
  }
  text = nullptr;
}

void Model::hold_text(std::shared_ptr<KeptText> text) {
  const std::lock_guard lock(state_->turn);
  text->holder = this;
  state_->text = std::move(text);
}

bool Model::resume_text(const std::shared_ptr<KeptText>& text, bool copy) {
  const std::lock_guard lock(state_->turn);
  if (state_->text != text) return false;
  if (copy) {
    state_->let_go_text();
  } else {
    text->holder = nullptr;
    state_->text = nullptr;
  }
  return true;
}

Result<> Model::fetch_text(KeptText& text) {
  const Model* holder = nullptr;
  {
    const std::lock_guard lock(text.mutex);
    if (text.lost)
      return fail("the state of the text is gone with its device", "generate it again");
    holder = text.holder;
  }
  if (!holder) return {};
  const std::lock_guard lock(holder->state_->turn);
  const auto attached = holder->state_->device->attach();
  return holder->state_->copy_text();
}

std::vector<std::string> Model::fixed_state() const {
  std::vector<std::string> names;
  for (size_t at = 0; at < state_->kept.all.size(); ++at)
    if (state_->kept.all[at].dim < 0) names.push_back(state_->kept.ports[at].name);
  return names;
}

Result<int64_t> Model::state_capacity(const std::string& name) const {
  const std::lock_guard lock(state_->turn);
  GS_ASSIGN(const size_t at, state_->kept.find(name));
  return state_->kept.all[at].room;
}

}  // namespace gossamer::runtime
