// What a loaded model holds, and the steps of loading and running it.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <mutex>

#include "runtime/defaults.h"
#include "runtime/device_tensor.h"
#include "runtime/kept_state.h"
#include "runtime/kept_text.h"
#include "runtime/mapped_file.h"
#include "runtime/model.h"
#include "runtime/package_folder.h"
#include "runtime/signature.h"

namespace gossamer::runtime {

struct Model::State {
  // What follows from one tuple of dimensions.
  struct Sized {
    std::vector<double> values;  // of the plan, see Executable::plan
    std::vector<std::vector<int64_t>> scalars;
    std::vector<int64_t> ranges;
  };

  std::shared_ptr<Device> device;  // the target's
  std::shared_ptr<Device> side;    // the CPU beside a GPU, where the package has code for it
  PackageFolder package;
  std::unique_ptr<Executable> code, side_code;
  std::unique_ptr<Executable> plan_code;  // where the plan lies in neither
  std::vector<int> loaded;  // of each kernel, its place in the code of its device; -1: not needed
  std::vector<std::shared_ptr<Buffer>> slots;
  std::vector<bool> spent;            // slots that only loading needed
  std::vector<Port> inputs, outputs;  // as the package has them
  Signature signature;                // as users see them, without state
  Defaults defaults;
  KeptState kept;
  bool keeps = true;               // what runs make of the state
  std::shared_ptr<KeptText> text;  // whose state it is, if any
  std::map<std::vector<int64_t>, Sized> sized;
  double load_ms = 0, last_run_ms = 0;
  // For each launch of the last run: its latest range, and how often it ran.
  std::vector<int64_t> launch_ranges, launch_times;
  std::atomic<bool> generates = false;
  mutable std::mutex turn;

  const package::Module& module() const { return package.manifest.module; }
  // Saturates; the lowest number stands for one that cannot be given.
  static int64_t value_of(package::Number number, const Sized& sizes) {
    if (!number.planned) return number.value;
    const double value = sizes.values[static_cast<size_t>(number.value)];
    if (!(value > -0x1p63)) return std::numeric_limits<int64_t>::min();
    return value < 0x1p63 ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::max();
  }

  const Executable& planner() const {
    return plan_code ? *plan_code : side_code ? *side_code : *code;
  }
  Device& device_at(int number) { return number == 0 ? *device : *side; }
  const package::Slot& slot_of(int tensor) const {
    const package::Tensor& entry = module().tensors[static_cast<size_t>(tensor)];
    return module().slots[static_cast<size_t>(entry.slot)];
  }
  Queue& queue_of(int tensor) { return device_at(slot_of(tensor).device).queue(); }

  // Loading
  // Reads package::defaults_file.
  Result<> read_defaults();
  Result<> provide_devices(const std::string& folder, LoadOptions& options);
  // Takes the form of each launch that suits this device; on wasm, the one with relaxed SIMD.
  static constexpr std::string_view relaxed_kernels = "kernels.relaxed.wasm";
  static constexpr std::string_view dot_kernels = "kernels.dots.wasm";
  bool takes_variants() const;
  void choose_variants();
  // What has the kernels of the target.
  std::string_view code_file() const;
  std::vector<KernelEntry> entries_of(int device);
  Result<> load_code();
  // Memory that is known, weights, and the launches that pack them (model_weights.cc).
  Result<> initialize(Shared* shared);
  // The origin of each slot's bytes (runtime/shared.h).
  Result<Origins> find_origins();
  // The name of the file that has it.
  std::string file_of(const package::Weight& weight) const {
    return weight.file < 0 ? "weights.safetensors"
                           : package.manifest.files[static_cast<size_t>(weight.file)].name;
  }

  // Running
  Result<std::vector<int64_t>> dims_of(std::span<const TensorView> feeds) const;
  // Sets how many rows states have room for. Gives how much longer the dimensions that are counted
  // in them may become.
  Result<std::vector<int64_t>> choose_room(std::vector<int64_t>& dims) const;
  Result<const Sized*> sizes_of(const std::vector<int64_t>& dims);
  Result<Sized> compute_sizes(std::span<const int64_t> dims,
                              std::span<const package::Launch> launches) const;
  Result<> plan(int segment, std::span<const int64_t> dims, Sized& sizes) const;
  Result<> provide_slots(const Sized& sizes, int segment);
  Result<> provide_for_rows(std::vector<int64_t> dims, std::span<const int64_t> longer);
  // What it takes, saturating as value_of.
  int64_t bytes_of(size_t slot, const Sized& sizes) const;
  Result<std::unique_ptr<Buffer>> allocate(size_t slot, const Sized& sizes);
  // Memory of `bytes` for a slot; for a texture, the rows that they fill.
  Result<std::unique_ptr<Buffer>> reserve(size_t slot, size_t bytes);
  // The largest tensor of a slot: 'tensor "x"'.
  std::string tensor_in(size_t slot, const Sized& sizes) const;
  Result<> check_numbers(const package::Launch& launch, std::span<const int64_t> scalars,
                         int64_t range) const;
  Result<> launch(const package::Launch& launch, std::span<const int64_t> scalars, int64_t range);
  // Launches run[at], and times it if `executions` is set.
  Result<> launch_of_run(size_t at, std::span<const int64_t> scalars, int64_t range,
                         const Sized& sizes);
  // What a launch of a run took and did (profile.cc).
  struct Execution {
    size_t launch;
    double ms, bytes, operations;
  };
  std::vector<Execution>* executions = nullptr;
  bool by_device = false;                  // the device times them
  static constexpr double of_device = -1;  // the time of a launch until the device reports it
  Result<> take_times(std::vector<Execution>& seen);
  Result<std::vector<Execution>> run_timed(std::span<const TensorView> feeds,
                                           std::vector<HostTensor>& results);
  Result<> timed_launch(size_t at, std::span<const int64_t> scalars, int64_t range,
                        const Sized& sizes);
  // Null before the size of its slot is known.
  Buffer* memory_of(int tensor) {
    return slots[static_cast<size_t>(module().tensors[static_cast<size_t>(tensor)].slot)].get();
  }
  Result<> write_tensor(int tensor, ir::DType dtype, std::span<const std::byte> bytes);
  // The shape of an output that is computed. Errors: its memory is too small.
  Result<std::vector<int64_t>> shape_of(const package::Port& port, const Sized& sizes);
  // `stored`: its elements as the device has them.
  void take_output(const package::Port& port, std::vector<int64_t> shape, const std::byte* stored,
                   HostTensor& output) const;
  Result<> write_inputs(std::span<const TensorView> feeds, std::span<const int64_t> dims);
  Result<> read_outputs(const Sized& sizes, std::vector<HostTensor>& results);
  // Without those of the state.
  Result<> run(std::span<const TensorView> feeds, std::vector<HostTensor>& results);

  // Memory of the caller in the places of slots, for one run on the CPU (lent_memory.cc): feeds
  // that kernels read where they lie, and results that they write where they go.
  class Lent {
   public:
    // `results`: of run(), or null. Where there is to be room for longer sequences, slots are
    // larger than what is lent.
    Lent(State& state, std::span<const TensorView> feeds, std::span<const int64_t> longer,
         const Sized& sizes, std::vector<HostTensor>* results);
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    bool has_input(size_t at) const { return inputs_[at]; }
    // The bytes of an output where kernels wrote them into those of a result; null: they did not.
    TensorBytes* bytes_of(size_t output);

   private:
    struct Written {
      size_t output;
      HostTensor* result;  // takes its bytes back unless they are taken; null: a new one
      TensorBytes bytes;
    };
    void place(size_t slot, std::byte* data, size_t size);
    void lend_inputs(std::span<const TensorView> feeds, const Sized& sizes);
    void lend_results(std::span<const TensorView> feeds, const Sized& sizes,
                      std::span<HostTensor> results);

    State& state_;
    std::vector<bool> inputs_;
    std::vector<Written> written_;
    std::vector<std::pair<size_t, std::shared_ptr<Buffer>>> own_;  // what the slots had
  };
  Lent* lent = nullptr;  // of the run under way

  // What is done with the outputs where they lie.
  using Finish = std::function<Result<>(const Sized& sizes)>;
  // With those of the state.
  Result<> run_fed(std::span<const TensorView> feeds, const Finish& finish,
                   std::vector<HostTensor>* results = nullptr);

  // State (kept_state.cc)
  Result<> keep_state(const StateOptions& options);
  bool holds_state(size_t slot) const;
  // Sets the views of the state's inputs to what the run begins with.
  Result<> feed_state(std::vector<TensorView>& feeds);
  // Memory with as much room as `dims` say, with what the run begins with.
  Result<> place_state(std::span<const int64_t> dims, const Sized& sizes);
  Result<> fill_state(Kept& state, int64_t room, std::shared_ptr<Buffer> memory);
  // Rows as they lie among others, without gaps.
  Result<HostTensor> rows_of(const Kept& state);
  Result<std::optional<HostTensor>> read_state(Kept& state);
  // To the host, where a run on the device left it there.
  Result<> fetch_state(Kept& state);
  // Copies the state to `text`.
  Result<> copy_text();
  // The state is about to change.
  void let_go_text();
  // What a run leaves, one a state; of rows that lie in place the shape alone.
  void take_state(std::vector<HostTensor> left);

  // Models with steps (model_steps.cc)
  class Steps;
  Result<> run_steps(std::span<const TensorView> feeds, std::vector<int64_t> dims,
                     const Finish& finish);

  // Runs whose ends stay on the device (model_on_device.cc)
  struct InputSite {
    size_t slot;
    bool direct;   // kernels read it where it is, and steps nothing of it
    bool written;  // a launch writes it in place, once the input is not needed
  };
  struct OutputSite {
    size_t slot;
    bool direct;  // on the target, and not on the side of it
    bool free;    // its slot may be other memory in each run; else its elements are copied
  };
  struct Sites {
    std::vector<InputSite> inputs;
    std::vector<OutputSite> outputs;
  };
  class OnDevice;
  OnDevice* on_device = nullptr;  // the run under way
  std::optional<Sites> sites;     // known from the first one on
  static constexpr size_t most_ahead = 3;
  std::vector<std::unique_ptr<Fence>> ahead;  // of the latest ones
  Sites find_sites() const;
  const Sites& known_sites();
  Result<DeviceResults> run_on_device(std::span<const DeviceFeed> given,
                                      const std::shared_ptr<BufferPool>& pool, bool keep_feeds);
  // An output, as it goes out.
  Result<DeviceTensor> leave(const package::Port& port, const OutputSite& site, const Sized& sizes,
                             const std::shared_ptr<BufferPool>& pool);
  BufferPool::Kind form_of(size_t slot) const;
  // Memory that is not in use; null: there is none of that size.
  std::shared_ptr<Buffer> take_free(size_t slot, size_t bytes);
  // Outputs of users, and the state.
  Result<std::vector<DeviceTensor>> leave_outputs(const Sized& sizes,
                                                  const std::shared_ptr<BufferPool>& pool);
  // Puts memory of feeds where the package has slots for it.
  void place_feeds(const Sized& sizes);
  // Whether the input's elements came from the device: they are in its slot now.
  Result<bool> take_feed(size_t input);
};

}  // namespace gossamer::runtime
