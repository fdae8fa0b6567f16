// One run of a model: dimensions, sizes, inputs, launches, outputs.
#include <algorithm>
#include <limits>

#include "ir/scalar.h"
#include "runtime/host_memory.h"
#include "runtime/model_state.h"

namespace gossamer::runtime {
namespace {

constexpr size_t cached_tuples = 64;
constexpr int64_t largest_number = (int64_t{1} << 53) - 1;  // up to here doubles are exact
constexpr int64_t largest_dim = (int64_t{1} << 31) - 1;
constexpr int64_t least_rows = 16;  // that states are given room for

std::string too_many(const std::string& what, int64_t elements, int64_t most) {
  const bool counted = elements >= 0 && elements <= largest_number;
  return cat(what, " would have ", counted ? cat(elements) : "too many", " elements, at most ",
             most, " are possible");
}

// A row of a texture of webgl.
int64_t bytes_of_row(const package::Texture& texture) {
  return int64_t{texture.width} * texture.layers * 16;
}

}  // namespace

Result<> check_kind(const Port& port, const TensorView& feed, const std::string& where) {
  if (feed.dtype != port.dtype)
    return fail_at(where, cat("is ", ir::name_of(port.dtype), ", the tensor given is ",
                              ir::name_of(feed.dtype)));
  for (size_t axis = 0; axis < feed.shape.size(); ++axis)
    if (feed.shape[axis] > largest_dim)
      return fail_at(where, cat("has ", feed.shape[axis], " elements along axis ", axis,
                                ", at most ", largest_dim, " are possible"));
  bool fits = feed.shape.size() == port.shape.size();
  for (size_t axis = 0; fits && axis < port.shape.size(); ++axis)
    fits = feed.shape[axis] >= 0 && (port.shape[axis] < 0 || port.shape[axis] == feed.shape[axis]);
  if (!fits)
    return fail_at(where, cat("has shape ", shape_text(port.shape), ", the tensor given has ",
                              shape_text(feed.shape)));
  return {};
}

Result<> check_feed(const Port& port, const TensorView& feed, const std::string& where) {
  GS_TRY(check_kind(port, feed, where));
  uint64_t bytes = static_cast<uint64_t>(ir::byte_size(feed.dtype));
  for (int64_t extent : feed.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return fail_at(where, "has a shape without a size");
  if (bytes != feed.bytes.size())
    return fail_at(where, cat("has ", feed.bytes.size(), " bytes, shape ", shape_text(feed.shape),
                              " takes ", bytes));
  return {};
}

Result<std::vector<int64_t>> Model::State::dims_of(std::span<const TensorView> feeds) const {
  std::vector<int64_t> dims;
  for (const package::Dim& dim : module().dims) {
    if (dim.input < 0)
      dims.push_back(0);
    else
      dims.push_back(feeds[static_cast<size_t>(dim.input)].shape[static_cast<size_t>(dim.axis)]);
  }
  // A name that several inputs share is one number.
  for (size_t input = 0; input < inputs.size(); ++input) {
    for (size_t axis = 0; axis < inputs[input].symbols.size(); ++axis) {
      for (size_t dim = 0; dim < dims.size(); ++dim) {
        if (module().dims[dim].input < 0 || module().dims[dim].output >= 0 ||
            module().dims[dim].name != inputs[input].symbols[axis] ||
            dims[dim] == feeds[input].shape[axis])
          continue;
        return fail_at(cat("input \"", inputs[input].name, "\""),
                       cat("dimension ", module().dims[dim].name, " is ", feeds[input].shape[axis],
                           " here and ", dims[dim], " in another input"));
      }
    }
  }
  return dims;
}

// States have room for the rows after the run, so that outputs lie without gaps; those that are
// kept for more.
Result<std::vector<int64_t>> Model::State::choose_room(std::vector<int64_t>& dims) const {
  std::vector<int64_t> longer(dims.size(), 0);
  if (std::ranges::all_of(module().dims, [](const auto& dim) { return dim.output < 0; }))
    return longer;
  Sized sizes;
  sizes.values.resize(static_cast<size_t>(module().plan_values));
  if (module().plan_values > 0) GS_TRY(planner().plan(0, dims, sizes.values));
  for (size_t at = 0; at < dims.size(); ++at) {
    const package::Dim& dim = module().dims[at];
    if (dim.output < 0) continue;
    const int64_t rows = value_of(dim.rows, sizes);
    if (rows < dims[at] || rows > largest_dim)
      return fail_at(cat("input \"", inputs[static_cast<size_t>(dim.input)].name, "\""),
                     "these dimensions give more rows than can be counted", "use smaller inputs");
    dims[at] = rows;
    const Kept* const state = kept.of_dim(at);
    if (!state) continue;
    if (state->room >= rows)
      dims[at] = state->room;
    else
      dims[at] = std::min(largest_dim, std::max({least_rows, kept.rows, rows + rows / 2}));
    const std::string& counted = inputs[state->input].symbols[static_cast<size_t>(state->axis)];
    for (size_t other = 0; other < dims.size(); ++other)
      if (module().dims[other].output < 0 && module().dims[other].name == counted)
        longer[other] = dims[at] - rows;
  }
  return longer;
}

// The values of a segment, and its checks.
Result<> Model::State::plan(int segment, std::span<const int64_t> dims, Sized& sizes) const {
  sizes.values.resize(static_cast<size_t>(module().plan_values));
  if (module().plan_values > 0) GS_TRY(planner().plan(segment, dims, sizes.values));
  for (const package::Check& check : module().checks)
    if (check.segment == segment) {
      const int64_t value = value_of(check.value, sizes);
      if (check.most < 0 ? value == 0 : value < 0 || value > check.most)
        return fail(check.most < 0 ? check.message : too_many(check.message, value, check.most));
    }
  return {};
}

Result<Model::State::Sized> Model::State::compute_sizes(
    std::span<const int64_t> dims, std::span<const package::Launch> launches) const {
  Sized sizes;
  if (dims.size() == module().dims.size() && module().plan_values > 0) GS_TRY(plan(0, dims, sizes));
  for (const package::Launch& launch : launches) {
    std::vector<int64_t> scalars;
    for (package::Number scalar : launch.scalars) scalars.push_back(value_of(scalar, sizes));
    const int64_t range = value_of(launch.range, sizes);
    GS_TRY(check_numbers(launch, scalars, range));
    sizes.ranges.push_back(range);
    sizes.scalars.push_back(std::move(scalars));
  }
  return sizes;
}

Result<const Model::State::Sized*> Model::State::sizes_of(const std::vector<int64_t>& dims) {
  if (const auto found = sized.find(dims); found != sized.end()) return &found->second;
  GS_ASSIGN(Sized sizes, compute_sizes(dims, module().run));
  if (sized.size() >= cached_tuples) sized.clear();
  return &sized.emplace(dims, std::move(sizes)).first->second;
}

std::string Model::State::tensor_in(size_t slot, const Sized& sizes) const {
  const package::Tensor* largest = nullptr;
  double most = -1;
  for (const package::Tensor& tensor : module().tensors) {
    if (static_cast<size_t>(tensor.slot) != slot) continue;
    if (tensor.elements.planned && sizes.values.empty()) continue;
    const auto elements = static_cast<double>(value_of(tensor.elements, sizes));
    if (!largest || elements * ir::byte_size(tensor.storage) > most) {
      largest = &tensor;
      most = elements * ir::byte_size(tensor.storage);
    }
  }
  return largest ? cat("tensor \"", largest->name, "\"") : cat("slot ", slot);
}

int64_t Model::State::bytes_of(size_t at, const Sized& sizes) const {
  const package::Slot& slot = module().slots[at];
  if (slot.texture.width == 0) return value_of(slot.bytes, sizes);
  const int64_t rows = value_of(slot.texture.height, sizes);
  int64_t bytes = rows;
  if (rows < 0) return rows;
  if (__builtin_mul_overflow(std::max<int64_t>(rows, 1), bytes_of_row(slot.texture), &bytes))
    return std::numeric_limits<int64_t>::max();
  return bytes;
}

Result<std::unique_ptr<Buffer>> Model::State::reserve(size_t at, size_t bytes) {
  const package::Slot& slot = module().slots[at];
  Device& device = device_at(slot.device);
  if (slot.texture.width == 0) return device.allocate(bytes);
  return device.allocate_texture({slot.texture.width,
                                  static_cast<int64_t>(bytes) / bytes_of_row(slot.texture),
                                  slot.texture.layers});
}

Result<std::unique_ptr<Buffer>> Model::State::allocate(size_t slot, const Sized& sizes) {
  const int64_t bytes = bytes_of(slot, sizes);
  const auto wrong = [&](const std::string& what) {
    return fail_at(tensor_in(slot, sizes), what, "use smaller inputs");
  };
  if (bytes == std::numeric_limits<int64_t>::min() || bytes > largest_number)
    return wrong("would take more bytes than can be counted");
  if (bytes < 0) return wrong(cat("would have a negative size: ", bytes, " bytes"));
  auto made = reserve(slot, static_cast<size_t>(bytes));
  if (!made) return wrong(made.error().message);
  return made;
}

// Slots only grow: shapes that come and go do not allocate again. One that grows after it was used
// may do so every round of a loop, so it grows by half.
Result<> Model::State::provide_slots(const Sized& sizes, int segment) {
  if (on_device && segment == 0) place_feeds(sizes);
  for (size_t at = 0; at < slots.size(); ++at) {
    if (module().slots[at].segment != segment || spent[at] || holds_state(at)) continue;
    const int64_t bytes = bytes_of(at, sizes);
    const size_t had = slots[at] ? slots[at]->size() : 0;
    if (slots[at] && bytes >= 0 && had >= static_cast<size_t>(bytes)) continue;
    slots[at] = on_device && bytes >= 0 ? take_free(at, static_cast<size_t>(bytes)) : nullptr;
    if (slots[at]) continue;
    if (segment > 0 && bytes >= 0 && had + had / 2 > static_cast<size_t>(bytes))
      if (auto more = reserve(at, had + had / 2)) slots[at] = std::move(*more);
    if (slots[at]) continue;
    GS_ASSIGN(slots[at], allocate(at, sizes));
  }
  return {};
}

// Slots are as large as sequences need that are as long as there is room for, so that they last.
// Where there is no memory for that, each run takes what it needs.
Result<> Model::State::provide_for_rows(std::vector<int64_t> dims,
                                        std::span<const int64_t> longer) {
  if (std::ranges::all_of(longer, [](int64_t more) { return more == 0; })) return {};
  for (size_t at = 0; at < dims.size(); ++at)
    dims[at] = std::min(largest_dim, dims[at] + longer[at]);
  Sized sizes;
  sizes.values.resize(static_cast<size_t>(module().plan_values));
  GS_TRY(planner().plan(0, dims, sizes.values));
  return provide_slots(sizes, 0);
}

// A launch's numbers are exact, as memory that they belong to would have been refused otherwise;
// what belongs to none is refused here.
Result<> Model::State::check_numbers(const package::Launch& launch,
                                     std::span<const int64_t> scalars, int64_t range) const {
  const package::KernelInfo& kernel = module().kernels[static_cast<size_t>(launch.kernel)];
  const std::string where = launch.origin.empty() ? cat("kernel ", kernel.name) : launch.origin;
  if (range > largest_number || range == std::numeric_limits<int64_t>::min())
    return fail_at(where, "these dimensions give more work than can be counted");
  if (range < 0) return fail_at(where, "these dimensions give a negative amount of work");
  for (const int64_t scalar : scalars)
    if (scalar > largest_number || scalar < -largest_number)
      return fail_at(where, "a number computed from these dimensions is too large");
  return {};
}

Result<> Model::State::launch(const package::Launch& launch, std::span<const int64_t> scalars,
                              int64_t range) {
  std::vector<Buffer*> buffers;
  std::vector<ir::DType> storage;
  buffers.reserve(launch.tensors.size());
  storage.reserve(launch.tensors.size());
  for (int tensor : launch.tensors) {
    storage.push_back(module().tensors[static_cast<size_t>(tensor)].storage);
    buffers.push_back(memory_of(tensor));
    if (!buffers.back())
      return fail_at(cat("tensor \"", module().tensors[static_cast<size_t>(tensor)].name, "\""),
                     "is used before its size is known", "compile the model again");
  }
  const auto kernel = static_cast<size_t>(launch.kernel);
  const int number = module().kernels[kernel].device;
  return device_at(number).queue().launch(number == 0 ? *code : *side_code,
                                          {loaded[kernel], buffers, scalars, range, storage});
}

Result<> Model::State::launch_of_run(size_t at, std::span<const int64_t> scalars, int64_t range,
                                     const Sized& sizes) {
  launch_ranges[at] = range;
  ++launch_times[at];
  return executions ? timed_launch(at, scalars, range, sizes)
                    : launch(module().run[at], scalars, range);
}

Result<std::vector<int64_t>> Model::State::shape_of(const package::Port& port, const Sized& sizes) {
  const package::Tensor& from = module().tensors[static_cast<size_t>(port.tensor)];
  const std::string where = cat("output \"", port.name, "\"");
  std::vector<int64_t> shape;
  uint64_t count = 1;
  for (package::Number extent : port.shape) {
    shape.push_back(value_of(extent, sizes));
    if (shape.back() < 0 ||
        __builtin_mul_overflow(count, static_cast<uint64_t>(shape.back()), &count))
      return fail_at(where, "these dimensions give it no size");
  }
  const auto size = static_cast<size_t>(ir::byte_size(port.dtype));
  const auto stored_size = static_cast<size_t>(ir::byte_size(from.storage));
  const Buffer* const memory = memory_of(port.tensor);
  if (!memory) return fail_at(where, "was not computed");
  if (count > memory->size() / stored_size) return fail_at(where, "is larger than its memory");
  // Twice: the caller copies it.
  if (auto room = has_room(2 * count * std::max(size, stored_size)); !room)
    return fail_at(where, room.error().message);
  return shape;
}

void Model::State::take_output(const package::Port& port, std::vector<int64_t> shape,
                               const std::byte* stored, HostTensor& output) const {
  const package::Tensor& from = module().tensors[static_cast<size_t>(port.tensor)];
  const auto stored_size = static_cast<size_t>(ir::byte_size(from.storage));
  size_t count = 1;
  for (int64_t extent : shape) count *= static_cast<size_t>(extent);
  output.dtype = port.dtype;
  output.shape = std::move(shape);
  output.strings.clear();
  take_elements(from.storage, {stored, count * stored_size}, output);
}

Result<> Model::State::write_inputs(std::span<const TensorView> feeds,
                                    std::span<const int64_t> dims) {
  for (size_t at = 0; at < feeds.size(); ++at) {
    const TensorView& feed = feeds[at];
    if (const Kept* const mine = kept.of_input(at); mine && mine->room > 0) continue;
    if (lent && lent->has_input(at)) continue;
    if (on_device) {
      GS_ASSIGN(const bool there, take_feed(at));
      if (there) continue;
    }
    const auto state = std::ranges::find_if(module().dims, [&](const package::Dim& dim) {
      return dim.output >= 0 && dim.input == static_cast<int>(at);
    });
    std::vector<std::byte> spread;
    if (state != module().dims.end() && !feed.bytes.empty())
      spread =
          with_room(feed, state->axis, dims[static_cast<size_t>(state - module().dims.begin())]);
    GS_TRY(write_tensor(module().inputs[at].tensor, feed.dtype,
                        spread.empty() ? feed.bytes : std::span<const std::byte>(spread)));
  }
  return {};
}

// Nothing is written before all is known to fit, and a GPU is waited for once.
Result<> Model::State::read_outputs(const Sized& sizes, std::vector<HostTensor>& results) {
  const size_t count = module().outputs.size();
  // Parts of the state that stay in place.
  const auto stays = [&](size_t at) {
    const Kept* const state = kept.of_output(at);
    return state && (state->dim >= 0 || !keeps);
  };
  std::vector<std::vector<int64_t>> shapes;
  std::vector<TensorBytes> copies(count);
  std::vector<ReadArguments> reads;
  bool seen = false;
  for (size_t at = 0; at < count; ++at) {
    const package::Port& port = module().outputs[at];
    GS_ASSIGN(std::vector<int64_t> shape, shape_of(port, sizes));
    const Buffer& memory = *memory_of(port.tensor);
    if (memory.mapped().data()) {
      seen = true;
    } else if (!stays(at)) {
      const ir::DType storage = module().tensors[static_cast<size_t>(port.tensor)].storage;
      size_t bytes = static_cast<size_t>(ir::byte_size(storage));
      for (int64_t extent : shape) bytes *= static_cast<size_t>(extent);
      copies[at].resize(bytes);
      reads.push_back({&memory, 0, copies[at], storage});
    }
    shapes.push_back(std::move(shape));
  }
  // What the host does not see is the target's.
  if (!reads.empty()) GS_TRY(device->queue().read(reads));
  if (seen || reads.empty()) {
    for (Device* each : {device.get(), side.get()}) {
      if (!each) continue;
      GS_ASSIGN(const std::unique_ptr<Fence> fence, each->queue().submit());
      GS_TRY(fence->wait());
    }
  }
  results.resize(count - kept.all.size());
  std::vector<HostTensor> left(kept.all.size());
  auto result = results.begin();
  for (size_t at = 0; at < count; ++at) {
    const package::Port& port = module().outputs[at];
    const Kept* const state = kept.of_output(at);
    HostTensor& to = state ? left[static_cast<size_t>(state - kept.all.data())] : *result++;
    if (stays(at)) {
      to.shape = std::move(shapes[at]);
      continue;
    }
    if (auto* const bytes = lent ? lent->bytes_of(at) : nullptr) {
      size_t size = static_cast<size_t>(ir::byte_size(port.dtype));
      for (const int64_t extent : shapes[at]) size *= static_cast<size_t>(extent);
      bytes->resize(size);
      to = {port.dtype, std::move(shapes[at]), std::move(*bytes), {}};
      continue;
    }
    const auto mapped = memory_of(port.tensor)->mapped();
    take_output(port, std::move(shapes[at]), mapped.data() ? mapped.data() : copies[at].data(), to);
  }
  if (keeps) take_state(std::move(left));
  return {};
}

Result<> Model::State::run(std::span<const TensorView> given, std::vector<HostTensor>& results) {
  let_go_text();
  const size_t wanted = inputs.size() - kept.all.size();
  if (given.size() != wanted)
    return fail(cat("the model has ", wanted, " inputs, ", given.size(), " are given"));
  std::vector<TensorView> feeds;
  for (size_t at = 0, next = 0; at < inputs.size(); ++at) {
    feeds.push_back(kept.of_input(at) ? TensorView{inputs[at].dtype, {}, {}} : given[next++]);
    if (!kept.of_input(at))
      GS_TRY(check_feed(inputs[at], feeds[at], cat("input \"", inputs[at].name, "\"")));
  }
  GS_TRY(feed_state(feeds));
  return run_fed(feeds, [&](const Sized& sizes) { return read_outputs(sizes, results); }, &results);
}

Result<> Model::State::run_fed(std::span<const TensorView> feeds, const Finish& finish,
                               std::vector<HostTensor>* results) {
  GS_ASSIGN(std::vector<int64_t> dims, dims_of(feeds));
  launch_ranges.assign(module().run.size(), 0);
  launch_times.assign(module().run.size(), 0);
  if (!module().steps.empty()) return run_steps(feeds, std::move(dims), finish);
  GS_ASSIGN(const std::vector<int64_t> longer, choose_room(dims));
  GS_ASSIGN(const Sized* const sizes, sizes_of(dims));
  GS_TRY(place_state(dims, *sizes));
  const Lent lending(*this, feeds, longer, *sizes, results);
  [[maybe_unused]] const auto provided = provide_for_rows(dims, longer);
  GS_TRY(provide_slots(*sizes, 0));
  GS_TRY(write_inputs(feeds, dims));
  for (size_t at = 0; at < module().run.size(); ++at)
    GS_TRY(launch_of_run(at, sizes->scalars[at], sizes->ranges[at], *sizes));
  return finish(*sizes);
}

}  // namespace gossamer::runtime
