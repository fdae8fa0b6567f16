// The half of a search that needs the device: it measures batches of points. Which points, and what
// becomes of them, is the planner's (tune/planner.h), here or on another machine.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/compile_cache.h"
#include "compiler/lowered_kernel_cache.h"
#include "records/records.h"
#include "tune/measurer.h"

namespace gossamer::tune {

// A point of a kernel.
struct Placed {
  std::string key, machine;
  schedule::Point point;
};

// A layout or an algorithm that a record sets for a stage.
struct PlacedLayout {
  std::string key, machine;  // records::choice_key_of
  records::StageChoice choice = {};
};

// What a device measures at once. It says all that is needed, so it may be measured anywhere, and
// again.
struct Batch {
  enum class Kind : uint8_t {
    points,      // the best ones with challengers in their place, beside the best ones
    comparison,  // the best ones beside the model as the compiler makes it: kernels, those of
                 // `challengers`, or without any whole runs
    layouts,     // whole runs in others, beside runs in `layouts`; all at default points
    survey,      // kernels of the model in `layouts`, at default points
  };

  int number = 0;
  Kind kind = Kind::points;
  std::vector<PlacedLayout> layouts;  // that kernels are measured in, beside those by the rule
  std::vector<PlacedLayout> others;   // of a batch of layouts
  std::vector<Placed> best;           // of all kernels so far
  // Of a kernel each, one at most: these take the place of the best ones, and both are measured in
  // turns.
  std::vector<Placed> challengers;
};

// Of a challenger. Neither times nor a failure: it was there when others failed.
struct Measured {
  std::vector<double> before, after;  // of each turn, in ms: without it, and with it
  double share_before = 0, share_after = 0;
  std::string failure;
};

// Where time went, in seconds.
struct Spent {
  double compile = 0, load = 0, measure = 0;
};

// The model as the compiler makes it, or in other layouts.
struct Survey {
  std::vector<compiler::KernelReport> kernels;
  std::vector<records::SeenLayout> layouts;  // `recorded`: by Options::records, not applied
  Timing timing;
  double turn_seconds = 0;
  Spent spent;
};

struct Measurement {
  std::vector<Measured> points;               // as many as challengers
  std::vector<double> run_before, run_after;  // of whole runs, in ms, where they were compared
  // Of a batch of layouts. Neither times of runs nor a failure: both make the same kernels.
  std::string failure;
  // Of one whose runs are the faster ones: the sum of its kernels' times by the other one's. 0: not
  // timed.
  double kernels_ratio = 0;
  std::optional<Survey> survey;  // where one was asked for
  double turn_seconds = 0;
  Spent spent;
};

// Turns of two that were measured beside each other.
struct Comparison {
  double ms = 0;        // the second one's fastest
  double ratio = 1;     // that by the first one's
  double spread = 0;    // of the ratio between turns: largest less smallest
  bool faster = false;  // by more than noise, in all turns but one
};
// None: there are no times.
std::optional<Comparison> compare_turns(const std::vector<double>& before,
                                        const std::vector<double>& after);

// Of the model as the compiler makes it, all but the times; Options::records say what its layouts
// could be.
Result<Survey> survey_without_times(std::span<const std::byte> model,
                                    const compiler::Options& compile);
// Its kernels in these layouts, at default points.
Result<std::vector<compiler::KernelReport>> kernels_in(const std::vector<PlacedLayout>& layouts,
                                                       std::span<const std::byte> model,
                                                       compiler::Options compile);
// Candidates are compiled for the kind of adapter that ran this one, and layouts are theirs.
void take_adapters(Survey& survey, compiler::Options& compile);

class Bench {
 public:
  // All must outlive it.
  Bench(std::span<const std::byte> model, Measurer& measurer, const compiler::Options& compile,
        const std::function<bool()>& is_stopped);

  // First: what the outputs are, and the kernels. Errors: what the model as it is does wrong.
  Task<Result<Survey>> begin();
  // Errors: the best points or layouts so far do not run, or the device is gone. What challengers
  // do wrong is their failure.
  Task<Result<Measurement>> measure(const Batch& batch);
  const package::WeightFiles& weights() const { return weights_; }

 private:
  // Says where a measurer's time goes.
  class Watched : public Measurer {
   public:
    Watched(Measurer& measurer, Spent& spent) : measurer_(measurer), spent_(spent) {}
    Task<Result<int>> load(package::Files files) override;
    void free(int model) override;
    Task<Result<Timing>> profile(int model, int runs, const std::vector<int>& kernels) override;
    Task<Result<double>> time(int model, int runs) override;
    Task<Result<>> check(int model) override;

   private:
    Measurer& measurer_;
    Spent& spent_;
  };
  // A package that is loaded, and what its kernels are.
  struct Loaded {
    int number = -1;
    std::vector<compiler::KernelReport> kernels;
    std::vector<Placed> points;
    std::string text;  // of all that it does, hashed
  };
  using Which = std::vector<size_t>;  // of a batch's challengers
  struct Times {
    std::vector<double> ms, shares;  // of all challengers, 0: not there
  };

  // `watch`: instead of records.
  Task<Result<Loaded>> load(const std::vector<PlacedLayout>& layouts,
                            const std::vector<Placed>& best,
                            const std::vector<Placed>& challengers = {}, const Which& which = {},
                            const records::LayoutWatch* watch = nullptr);
  Task<Result<Survey>> survey(const Loaded& loaded);
  Task<Result<>> challenge(const Batch& batch, Measurement& made);
  Task<Result<>> time_kernels(const Loaded& challenger, Measurement& made);
  void free(Loaded& loaded);
  Task<Result<>> hold(const std::vector<PlacedLayout>& layouts, const std::vector<Placed>& best);
  Task<Result<Times>> profile(const Loaded& loaded, const std::vector<Placed>& points,
                              const Which& which);
  Task<Result<Times>> profile_best(const Batch& batch, const Which& which);
  const Loaded* place_of(const Batch& batch, const Placed& challenger) const;
  bool has_all(const Batch& batch) const;
  void keep(Loaded& challenger, const Measurement& made);
  void let_go();
  bool is_small() const;
  Task<Result<Loaded>> try_out(const Batch& batch, const Which& which);
  Task<Result<>> round(const Batch& batch, Measurement& made);
  Task<Result<>> suspect(const Batch& batch, const Which& which, Measurement& made);
  Task<Result<>> blame(const Batch& batch, const Which& which, const Diagnostic& error,
                       Measurement& made);
  Task<Result<>> compare(const Batch& batch, Measurement& made);

  const std::span<const std::byte> model_;
  Spent spent_;
  Watched measurer_;
  compiler::Options compile_;
  const std::function<bool()>& is_stopped_;
  package::WeightFiles weights_;          // of all candidates
  compiler::LoweredKernelCache lowered_;  // of all, where the caller keeps none
  compiler::CompileCache prepared_;       // of candidates in these layouts
  std::string prepared_layouts_;
  Loaded now_, defaults_;
  std::vector<Loaded> kept_;         // that won
  std::string held_, held_layouts_;  // the points and layouts of now_
  int runs_ = 3;
};

// "webgpu" of "webgpu.hardware".
std::string_view target_of(std::string_view machine);
// How often a model that takes `run_ms` is run for one time.
int runs_at_once(double run_ms);
// Of some turns: what else the machine does only makes them longer.
double fastest(const std::vector<double>& all);

// A time by another one's that makes it the better one: all else may be noise.
constexpr double faster = 0.97;
constexpr int turns = 4;       // of a batch, of both models
constexpr int last_turns = 5;  // of a comparison

}  // namespace gossamer::tune
