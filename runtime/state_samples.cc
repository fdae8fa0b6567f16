// States of several texts in one batch, whose samples come and go between runs. The first axis of a
// state that grows by rows is that of samples, so a sample is one piece of memory.
#include <algorithm>
#include <cstring>

#include "runtime/model_state.h"
#include "runtime/set_aside.h"

namespace gossamer::runtime {
namespace {

// The state that counts tokens (runtime/generate/sampling.h).
constexpr std::string_view counts = "past_token_counts";

// Where rows of a sample are: `heads` pieces of rows of `row` bytes.
struct Form {
  size_t heads = 1, row = 1;

  size_t sample(int64_t room) const { return heads * static_cast<size_t>(room) * row; }
};

Form form_of_rows(std::span<const int64_t> shape, int axis, ir::DType storage) {
  Form form{1, static_cast<size_t>(ir::byte_size(storage))};
  for (size_t at = 1; at < shape.size(); ++at) {
    const auto rows = static_cast<size_t>(axis);
    if (at < rows) form.heads *= static_cast<size_t>(shape[at]);
    if (at > rows) form.row *= static_cast<size_t>(shape[at]);
  }
  return form;
}

struct Sample {
  Buffer& memory;
  int64_t room = 0, number = 0;
};

Result<> copy_rows(Queue& queue, const Form& form, const Sample& from, const Sample& to,
                   int64_t rows) {
  const size_t bytes = static_cast<size_t>(rows) * form.row;
  if (bytes == 0) return {};
  const auto offset = [&](const Sample& of, size_t head) {
    return static_cast<size_t>(of.number) * form.sample(of.room) +
           head * static_cast<size_t>(of.room) * form.row;
  };
  // All of a sample at once: a GPU is waited for once.
  const size_t begin = offset(from, 0), whole = offset(from, form.heads - 1) + bytes - begin;
  GS_CHECK(begin + whole <= from.memory.size(), "samples lie in their memory");
  std::vector<std::byte> read;
  std::span<const std::byte> stored = from.memory.mapped();
  if (stored.empty()) {
    read.resize(whole);
    GS_TRY(queue.read(from.memory, begin, read));
    stored = read;
  } else {
    stored = stored.subspan(begin, whole);
  }
  for (size_t head = 0; head < form.heads; ++head)
    GS_TRY(queue.write(to.memory, offset(to, head),
                       stored.subspan(head * static_cast<size_t>(from.room) * form.row, bytes)));
  return {};
}

}  // namespace

void Model::exchange_state(SetAside& other) {
  const std::lock_guard lock(state_->turn);
  state_->let_go_text();
  other.all.resize(state_->kept.all.size());
  for (size_t at = 0; at < other.all.size(); ++at) {
    Kept& mine = state_->kept.all[at];
    SetAsideState& aside = other.all[at];
    std::swap(mine.shape, aside.shape);
    std::swap(mine.room, aside.room);
    std::swap(mine.host, aside.host);
    std::swap(mine.there, aside.there);
    if (mine.dim < 0) continue;
    const int tensor = state_->module().inputs[mine.input].tensor;
    std::swap(state_->slots[static_cast<size_t>(
                  state_->module().tensors[static_cast<size_t>(tensor)].slot)],
              aside.memory);
  }
}

Result<> Model::shape_samples(int64_t samples, int64_t rows, int64_t places, int64_t room,
                              int64_t used) {
  const std::lock_guard lock(state_->turn);
  const auto attached = state_->device->attach();
  state_->let_go_text();
  for (size_t at = 0; at < state_->kept.all.size(); ++at) {
    Kept& state = state_->kept.all[at];
    const std::vector<int64_t> had = state.shape.value_or(std::vector<int64_t>());
    std::vector<int64_t> shape = state_->kept.ports[at].shape;
    shape[0] = samples;
    if (state.dim < 0 && state_->kept.ports[at].name == counts) {
      // Without columns, as penalties are the caller's.
      for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 0);
      state.shape = state.host.shape = shape;
      state.host.dtype = state_->kept.ports[at].dtype;
      state.host.bytes.clear();
      state.there.reset();
      state.room = 0;
      continue;
    }
    if (state.dim < 0) {
      if (!state.shape || had[0] == samples) continue;
      GS_TRY(state_->fetch_state(state));
      const size_t bytes = had[0] == 0 ? 0 : state.host.bytes.size() / static_cast<size_t>(had[0]);
      state.host.bytes.resize(bytes * static_cast<size_t>(samples), std::byte{});
      (*state.shape)[0] = state.host.shape[0] = samples;
      continue;
    }
    shape[static_cast<size_t>(state.axis)] = rows;
    // Other open axes are as they were: runs check them.
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] < 0) shape[axis] = had.empty() ? 0 : had[axis];
    const package::Tensor& tensor =
        state_->module().tensors[static_cast<size_t>(state_->module().inputs[state.input].tensor)];
    const auto slot = static_cast<size_t>(tensor.slot);
    const Form form = form_of_rows(shape, state.axis, tensor.storage);
    std::shared_ptr<Buffer>& memory = state_->slots[slot];
    const size_t bytes = static_cast<size_t>(places) * form.sample(room);
    const bool lies = state.room > 0 && memory, large = memory && memory->size() >= bytes;
    // One text sees its own rows alone, whatever the rest has.
    if (!lies && large && places == 1) state.room = room;
    const bool fits = state.room > 0 && large;
    if (!fits || state.room < room) {
      std::shared_ptr<Buffer> more;
      auto made = state_->reserve(slot, bytes);
      if (!made)
        return fail_at("generate()", cat("there is no memory for the caches of ", places,
                                         " texts of ", room, " tokens: ", made.error().message));
      more = std::move(*made);
      // Rows that a sample lacks get no weight, which holds for numbers alone.
      const std::vector<std::byte> zeros(more->size());
      GS_TRY(state_->device->queue().write(*more, 0, zeros));
      const size_t had_places = lies ? memory->size() / form.sample(state.room) : 0;
      for (int64_t each = 0; each < std::min(used, static_cast<int64_t>(had_places)); ++each)
        GS_TRY(copy_rows(state_->device->queue(), form, {*memory, state.room, each},
                         {*more, room, each}, std::min(state.room, room)));
      memory = std::move(more);
      state.room = room;
    }
    state.host = {};
    state.shape = std::move(shape);
  }
  return {};
}

// A sample of a state that has one size for texts of all lengths, on the host.
Result<> Model::copy_fixed(Kept& state, const SetAsideState* other, int64_t from, int64_t to) {
  GS_TRY(state_->fetch_state(state));
  HostTensor source;
  if (other && other->there) {
    GS_ASSIGN(source, other->there->read());
  }
  const HostTensor& given = !other ? state.host : other->there ? source : other->host;
  const std::vector<int64_t>& shape = other ? other->shape.value() : state.shape.value();
  if (shape.empty() || shape[0] <= from) return fail("a state has no such sample");
  if (!state.shape) {
    state.shape = shape;
    (*state.shape)[0] = to + 1;
    state.host = {state_->kept.ports[static_cast<size_t>(&state - state_->kept.all.data())].dtype,
                  *state.shape,
                  {}};
  }
  if (!std::ranges::equal(std::span(shape).subspan(1), std::span(*state.shape).subspan(1)))
    return fail("states of texts have different shapes");
  const size_t bytes = given.bytes.size() / static_cast<size_t>(shape[0]);
  const auto place = [&](int64_t sample) { return static_cast<size_t>(sample) * bytes; };
  if ((*state.shape)[0] <= to) (*state.shape)[0] = to + 1;
  state.host.shape = *state.shape;
  state.host.bytes.resize(place((*state.shape)[0]), std::byte{});
  std::memmove(state.host.bytes.data() + place(to), given.bytes.data() + place(from), bytes);
  return {};
}

Result<> Model::copy_sample(const SetAside* other, int64_t from, int64_t to, int64_t rows) {
  const std::lock_guard lock(state_->turn);
  const auto attached = state_->device->attach();
  state_->let_go_text();
  for (size_t at = 0; at < state_->kept.all.size(); ++at) {
    Kept& state = state_->kept.all[at];
    if (state.dim < 0) {
      if (state_->kept.ports[at].name != counts)
        GS_TRY(copy_fixed(state, other ? &other->all[at] : nullptr, from, to));
      continue;
    }
    const package::Tensor& tensor =
        state_->module().tensors[static_cast<size_t>(state_->module().inputs[state.input].tensor)];
    Buffer* const memory = state_->slots[static_cast<size_t>(tensor.slot)].get();
    Buffer* const source = other ? other->all[at].memory.get() : memory;
    const int64_t room = other ? other->all[at].room : state.room;
    GS_CHECK(memory && source && state.shape && rows <= room && rows <= state.room,
             "samples have memory for their rows");
    const Form form = form_of_rows(*state.shape, state.axis, tensor.storage);
    GS_TRY(copy_rows(state_->device->queue(), form, {*source, room, from},
                     {*memory, state.room, to}, rows));
  }
  return {};
}

}  // namespace gossamer::runtime
