// A run of a model with steps: what docs/specs/host.md says each of them does.
#include <algorithm>
#include <cmath>

#include "ir/scalar.h"
#include "runtime/host_memory.h"
#include "runtime/model_state.h"

namespace gossamer::runtime {

using package::Step;

namespace {
constexpr double largest_scalar = 0x1p53 - 1;
}  // namespace

class Model::State::Steps {
 public:
  Steps(State& state, std::span<const TensorView> feeds, std::vector<int64_t> dims)
      : state_(state), feeds_(feeds), dims_(std::move(dims)) {}

  // Everything that is known before the first step.
  Result<> begin() {
    GS_TRY(plan(0));
    return state_.write_inputs(feeds_, {});
  }
  Result<> run(const std::vector<Step>& steps);
  const Sized& sizes() const { return sizes_; }

 private:
  Result<> plan(int segment) {
    GS_TRY(state_.plan(segment, dims_, sizes_));
    return state_.provide_slots(sizes_, segment);
  }
  Result<> launch(const Step& step);
  Result<> read(const Step& step);
  Result<> set(const Step& step);
  Result<> copy(const Step& step);
  Result<> loop(const Step& step);
  int64_t value(package::Number number) const { return value_of(number, sizes_); }
  // What decides how the run goes on must be exact.
  Result<int64_t> number(package::Number number) const {
    const int64_t known = value(number);
    if (std::abs(static_cast<double>(known)) <= largest_scalar) return known;
    return fail("these dimensions give a number too large to count with");
  }
  int64_t& variable(int dim) { return dims_[static_cast<size_t>(dim)]; }

  State& state_;
  std::span<const TensorView> feeds_;
  std::vector<int64_t> dims_;
  Sized sizes_;                   // values only: the rest is evaluated where it is used
  std::vector<int64_t> numbers_;  // scalars of a launch, or values about to be set
};

Result<> Model::State::Steps::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::Kind::launch:
        GS_TRY(launch(step));
        break;
      case Step::Kind::read:
        GS_TRY(read(step));
        break;
      case Step::Kind::plan:
        GS_TRY(plan(step.segment));
        break;
      case Step::Kind::set:
        GS_TRY(set(step));
        break;
      case Step::Kind::branch: {
        GS_ASSIGN(const int64_t condition, number(step.number));
        GS_TRY(run(condition != 0 ? step.body : step.otherwise));
      } break;
      case Step::Kind::loop:
        GS_TRY(loop(step));
        break;
      case Step::Kind::copy:
        GS_TRY(copy(step));
        break;
    }
  }
  return {};
}

Result<> Model::State::Steps::launch(const Step& step) {
  for (int at = step.first; at < step.last; ++at) {
    const package::Launch& launch = state_.module().run[static_cast<size_t>(at)];
    numbers_.clear();
    for (package::Number scalar : launch.scalars) numbers_.push_back(value(scalar));
    const int64_t range = value(launch.range);
    GS_TRY(state_.check_numbers(launch, numbers_, range));
    GS_TRY(state_.launch_of_run(static_cast<size_t>(at), numbers_, range, sizes_));
  }
  return {};
}

Result<> Model::State::Steps::read(const Step& step) {
  const package::Module& module = state_.module();
  const package::Tensor& tensor = module.tensors[static_cast<size_t>(step.tensor)];
  const auto count = static_cast<size_t>(step.count);
  ir::DType dtype = tensor.storage;
  std::span<const std::byte> bytes;
  std::vector<std::byte> copy;
  for (size_t at = 0; at < feeds_.size(); ++at) {
    if (module.inputs[at].tensor != step.tensor) continue;
    dtype = feeds_[at].dtype;
    bytes = feeds_[at].bytes;
  }
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  if (!bytes.data() && count > 0) {
    const Buffer* const memory = state_.memory_of(step.tensor);
    if (memory && count * size <= memory->size() && step.count <= value(tensor.elements)) {
      copy.resize(count * size);
      const ReadArguments one{memory, 0, copy, dtype};
      GS_TRY(state_.queue_of(step.tensor).read({&one, 1}));
      bytes = copy;
    }
  }
  if (bytes.size() < count * size)
    return fail_at(cat("tensor \"", tensor.name, "\""),
                   cat("has fewer than the ", count, " elements that are read from it"));
  for (size_t at = 0; at < count; ++at) {
    const double value = ir::read_scalar(dtype, &bytes[at * size]).as_double();
    variable(step.dim + static_cast<int>(at)) =
        static_cast<int64_t>(std::clamp(value, -largest_scalar, largest_scalar));
  }
  return {};
}

Result<> Model::State::Steps::set(const Step& step) {
  numbers_.clear();
  for (const auto& [dim, value] : step.sets) {
    GS_ASSIGN(const int64_t known, number(value));
    numbers_.push_back(known);
  }
  for (size_t at = 0; at < step.sets.size(); ++at) variable(step.sets[at].first) = numbers_[at];
  return {};
}

// From one device to the other, in the storage type of each.
Result<> Model::State::Steps::copy(const Step& step) {
  const package::Tensor& from = state_.module().tensors[static_cast<size_t>(step.tensor)];
  const Buffer* const memory = state_.memory_of(step.tensor);
  const Buffer* const to = state_.memory_of(step.to);
  const package::Tensor& into = state_.module().tensors[static_cast<size_t>(step.to)];
  // A texture's tensor ends with a whole texel.
  const int64_t elements = std::min(value(from.elements), value(into.elements));
  const auto size = static_cast<size_t>(ir::byte_size(from.storage));
  if (!memory || !to || static_cast<uint64_t>(elements) > memory->size() / size)
    return fail_at(cat("tensor \"", from.name, "\""), "is copied before its size is known",
                   "compile the model again");
  // A GPU may have what the host has no memory for. Twice: what is written is converted first.
  const size_t length = static_cast<size_t>(elements) * size;
  if (auto room = has_room(2 * length); !room)
    return fail_at(cat("tensor \"", from.name, "\""), room.error().message, "use smaller inputs");
  std::vector<std::byte> bytes(length);
  const ReadArguments one{memory, 0, bytes, from.storage};
  GS_TRY(state_.queue_of(step.tensor).read({&one, 1}));
  return state_.write_tensor(step.to, from.storage, bytes);
}

Result<> Model::State::Steps::loop(const Step& step) {
  GS_ASSIGN(const int64_t rounds, number(step.number));
  int64_t round = 0;
  for (variable(step.dim) = 0; round < rounds; variable(step.dim) = ++round) {
    if (step.condition >= 0 && variable(step.condition) == 0) break;
    GS_TRY(run(step.body));
  }
  return {};
}

Result<> Model::State::run_steps(std::span<const TensorView> feeds, std::vector<int64_t> dims,
                                 const Finish& finish) {
  Steps steps(*this, feeds, std::move(dims));
  GS_TRY(steps.begin());
  GS_TRY(steps.run(module().steps));
  return finish(steps.sizes());
}

}  // namespace gossamer::runtime
