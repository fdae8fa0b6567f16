// A package, loaded onto a device.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gossamer/profile.hpp"
#include "runtime/device.h"
#include "runtime/shared.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

class BufferPool;
struct DeviceFeed;
struct DeviceResults;
struct KeptText;
struct SetAside;
struct SetAsideState;
struct Kept;

struct Port {
  std::string name;
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;        // -1 where it depends on the inputs
  std::vector<std::string> symbols;  // names of an input's symbolic dimensions, else ""
};

// A value of the model that is no single tensor: a sequence is the inputs (outputs)
// [first, first + count) in order, an optional that holds nothing is none of them.
struct Group {
  std::string name;
  bool sequence = true;
  size_t first = 0, count = 0;
};

// Which inputs are what an output was in the run before.
struct StateOptions {
  std::map<std::string, std::string> pairs = {};  // input to output
  bool by_name = false;                           // also each past... with its present...
  // How many rows states have room for at once, where they are written in place (`compile
  // --state`): the longest that a sequence becomes. 0: half as much again when there is too little.
  int64_t rows = 0;
};

struct LoadOptions {
  int threads = 0;  // 0: one a core
  // These inputs and outputs are no longer those of runs: the model keeps them.
  StateOptions state = {};
  // What the package runs on instead of a device of its own target; for tests.
  std::unique_ptr<Device> device;
  // And on this one what a GPU leaves to the CPU.
  std::unique_ptr<Device> side;
  // With models of which one at a time is loaded, run or ended.
  std::shared_ptr<Shared> shared;
};

struct LaunchReport {
  std::string kernel, schedule, origin;
  std::string reason;  // why the CPU beside a GPU ran it; "": the target did
  int64_t range = 0;   // when it ran last
  int64_t times = 0;   // that it ran in the last run
};

// Times in milliseconds, sizes in bytes.
struct Report {
  std::string device;
  double load_ms = 0, last_run_ms = 0;
  int64_t memory_bytes = 0, weight_bytes = 0;
  std::vector<LaunchReport> launches;  // of the last run, in order
};

class Model {
 public:
  // Errors name the file: missing, truncated or changed files, a package of another version or
  // target, code that this machine cannot run.
  static Result<std::unique_ptr<Model>> load(const std::string& folder, LoadOptions options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::string& name() const;
  // Of runs: without what is state.
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  const std::vector<Group>& input_groups() const;
  const std::vector<Group>& output_groups() const;
  // What a run is given for an input that its caller has no value for; null: the input has no
  // default. As long as the model is there.
  const HostTensor* default_of(std::string_view input) const;
  // One tensor an input, in order; gives one an output. Calls from several threads take turns.
  // Errors: another number of tensors, a wrong type or shape, a condition of the model that fails.
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> feeds);
  // The same into memory that is there: the vector's tensors take theirs again where it is large
  // enough, and stay as they were on errors. Feeds may lie in it.
  Result<> run(std::span<const TensorView> feeds, std::vector<HostTensor>& outputs);
  Result<> run(std::span<const HostTensor> feeds, std::vector<HostTensor>& outputs);
  // The same with tensors of the device (runtime/device_tensor.h): feeds are used where they lie,
  // outputs stay there, in memory that is the pool's when nobody has it any more, as do feeds from
  // the host with `keep_feeds`. What the device does not have comes by the host. Errors as of
  // run(), and those of the device possibly only when something is read; a model with strings has
  // no such runs. State stays on the device.
  Result<DeviceResults> run_on_device(std::span<const DeviceFeed> feeds,
                                      const std::shared_ptr<BufferPool>& pool,
                                      bool keep_feeds = false);
  Report report() const;
  // Where the time of a run goes; errors as of run().
  Result<Profile> profile(std::span<const TensorView> feeds, const ProfileOptions& options = {});
  Result<Profile> profile(std::span<const HostTensor> feeds, const ProfileOptions& options = {});

  // State: what a run leaves to the next. A run that fails leaves it as it was, as profile() does.
  // By the names of its inputs; errors: no state of the model.
  const std::vector<Port>& state() const;
  // What the next run begins with; nothing: zeros, of length 0 along axes that nothing else tells.
  Result<std::optional<HostTensor>> read_state(const std::string& name);
  // Errors: another type or shape.
  Result<> write_state(const std::string& name, const TensorView& value);
  void reset_state();  // back to the beginning, all of it
  // Keeps the first `rows` rows of the states that grow in place.
  void shorten_state(int64_t rows);
  // States of several texts, samples of a batch (runtime/generate/batch.h), for models whose states
  // have a first axis for samples.
  // Exchanges the state with one that was set aside.
  void exchange_state(SetAside& other);
  // The next run begins with so many samples, whose rows are the first ones that each has; there is
  // memory for at least `places` samples of `room` rows. The first `used` samples stay where more
  // memory is needed. Errors: no memory.
  Result<> shape_samples(int64_t samples, int64_t rows, int64_t places, int64_t room, int64_t used);
  // Copies the first rows of a sample, of what was set aside or of its own, to one of its own, and
  // states that do not grow as a whole. Errors: these have other shapes.
  Result<> copy_sample(const SetAside* other, int64_t from, int64_t to, int64_t rows);
  // Text whose state the model has (runtime/generate/cache.h). The model copies it to the host
  // before it changes its state, if anything else refers to the text.
  void hold_text(std::shared_ptr<KeptText> text);
  // Whether the model has that state; from here on, its caller may change it. `copy`: others need
  // it, too.
  bool resume_text(const std::shared_ptr<KeptText>& text, bool copy);
  // Copies it to the host where only a model has it. Errors: the device is lost.
  static Result<> fetch_text(KeptText& text);
  // States that do not grow in place, which cannot be shortened.
  std::vector<std::string> fixed_state() const;
  // Rows that there is memory for before more has to be made; 0 for one that is no rows.
  Result<int64_t> state_capacity(const std::string& name) const;

  // A generation holds the model from claim(), which fails while another one does, to release().
  bool claim();
  void release();
  // Whether runs go on after a call returns, so that it pays to send several.
  bool runs_ahead() const;

 private:
  struct State;
  Result<> copy_fixed(Kept& state, const SetAsideState* other, int64_t from, int64_t to);
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gossamer::runtime
