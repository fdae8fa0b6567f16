#include "tune/tuner.h"

#include <algorithm>
#include <cmath>

namespace gossamer::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int turns = 4;              // of a round, of both models
constexpr int last_turns = 5;         // of the comparison at the end
constexpr double better = 0.97;       // a point's ratio to the best one so far that takes its place
constexpr double hopeless = 1.03;     // all points of a round after one turn: no more turns
constexpr double least_share = 1e-3;  // of all kernels' time: one that takes less is left alone
constexpr double least_weight = 0.03;  // of a kernel that takes next to nothing, for its trials

// Adds the time that it lives.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), begin_(Clock::now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  double& seconds_;
  const Clock::time_point begin_;
};

// Says where a measurer's time goes.
class Watched : public Measurer {
 public:
  Watched(Measurer& measurer, Outcome& outcome) : measurer_(measurer), outcome_(outcome) {}
  Task<Result<int>> load(package::Files files) override {
    const Stopwatch watch(outcome_.load_seconds);
    co_return co_await measurer_.load(std::move(files));
  }
  void free(int model) override { measurer_.free(model); }
  Task<Result<Timing>> profile(int model, int runs, const std::vector<int>& kernels) override {
    const Stopwatch watch(outcome_.measure_seconds);
    co_return co_await measurer_.profile(model, runs, kernels);
  }
  Task<Result<double>> time(int model, int runs) override {
    const Stopwatch watch(outcome_.measure_seconds);
    co_return co_await measurer_.time(model, runs);
  }
  Task<Result<>> check(int model) override {
    const Stopwatch watch(outcome_.measure_seconds);
    co_return co_await measurer_.check(model);
  }

 private:
  Measurer& measurer_;
  Outcome& outcome_;
};

// Of some turns: what else the machine does only makes them longer.
double fastest(const std::vector<double>& all) {
  return all.empty() ? 0 : *std::ranges::min_element(all);
}

// A distinct kernel of the model.
struct Anchor {
  std::string key, machine, name, origin;
  schedule::Group group;
  schedule::Capabilities capabilities;
  std::unique_ptr<Search> search = nullptr;
  schedule::Point best = {};
  double ratio = 1;          // the best one's time by the default one's
  double ms = 0, share = 0;  // of the default one
  int trials = 0;

  double weight() const { return ms * ratio; }
  const schedule::Point& first() const { return search->space().start(); }
  bool improved() const { return to_string(best) != to_string(first()); }
};

// A package that is loaded, and what its kernels are.
struct Loaded {
  int number = -1;
  std::vector<compiler::KernelReport> kernels;
};

// "webgpu" of "webgpu.hardware".
std::string_view target_of(std::string_view machine) {
  return machine.substr(0, machine.find('.'));
}

struct Challenge {
  Anchor* anchor;
  schedule::Point point;
};
using Challenges = std::vector<Challenge>;

using Times = std::map<const Anchor*, double>;

class Tuner {
 public:
  Tuner(std::span<const std::byte> model, Measurer& measurer, const Options& options)
      : model_(model),
        measurer_(measurer, outcome_),
        options_(options),
        compile_(options.compile),
        begin_(Clock::now()) {}

  Task<Result<Outcome>> run() {
    GS_CO_TRY(co_await begin());
    while (!is_over()) {
      const Challenges challenges = choose();
      if (challenges.empty()) break;
      GS_CO_TRY(co_await round(challenges));
    }
    co_return co_await finish();
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  bool is_over() const {
    if (options_.is_stopped && options_.is_stopped()) return true;
    if (options_.trials > 0 && outcome_.trials + outcome_.failures >= options_.trials) return true;
    // The comparison at the end takes its time, too. One round is the least that says anything.
    return rounds_ > 0 && options_.seconds > 0 &&
           seconds() + last_turns * turn_seconds_ >= options_.seconds;
  }

  Result<package::Files> compiled(const compiler::Options& options, compiler::Report& report) {
    const Stopwatch watch(outcome_.compile_seconds);
    return compiler::compile(model_, options, &report);
  }

  // The points so far, and others for some.
  Task<Result<Loaded>> load(const Challenges& challenges, bool defaults = false) {
    schedule::Records records;
    for (const auto& anchor : anchors_) {
      const schedule::Point* point = defaults ? nullptr : &anchor->best;
      for (const Challenge& one : challenges)
        if (one.anchor == anchor.get()) point = &one.point;
      if (point) records.add(anchor->key, anchor->machine, *point);
    }
    compiler::Options compile = compile_;
    compile.records = &records;
    compile.groups = true;
    if (!weights_.files.empty()) compile.weights = &weights_;
    compiler::Report report;
    GS_CO_ASSIGN(package::Files files, compiled(compile, report));
    weights_ = std::move(report.weights);
    Loaded loaded;
    GS_CO_ASSIGN(loaded.number, co_await measurer_.load(std::move(files)));
    loaded.kernels = std::move(report.kernels);
    co_return loaded;
  }

  void free(Loaded& loaded) {
    if (loaded.number >= 0) measurer_.free(loaded.number);
    loaded.number = -1;
  }

  // Null: the device speaks of a kernel that the package does not have.
  static const compiler::KernelReport* kernel_of(const Loaded& loaded, const KernelTime& time) {
    const auto at = static_cast<size_t>(time.kernel);
    return time.kernel >= 0 && at < loaded.kernels.size() ? &loaded.kernels[at] : nullptr;
  }

  // A kernel that is the same for all classes of a target says the first of them.
  Anchor* anchor_of(const compiler::KernelReport& kernel) const {
    for (const auto& anchor : anchors_)
      if (anchor->key == kernel.key && target_of(anchor->machine) == target_of(kernel.machine))
        return anchor.get();
    return nullptr;
  }

  // Of kernels that have one for this device, all take its class: only there will records change
  // them.
  void take_class() {
    const Anchor* special = nullptr;
    for (const auto& anchor : anchors_)
      if (anchor->machine.ends_with(".hardware") || anchor->machine.ends_with(".relaxed"))
        special = anchor.get();
    if (!special) return;
    for (const auto& anchor : anchors_) {
      if (target_of(anchor->machine) != target_of(special->machine)) continue;
      anchor->machine = special->machine;
      anchor->capabilities = special->capabilities;
    }
  }

  // Candidates are compiled for the kind of adapter that ran this one.
  void take_adapters(const Loaded& loaded, const Timing& timing) {
    if (compile_.adapters != "any") return;
    const auto is_hardware = [](const compiler::KernelReport& kernel) {
      return kernel.machine.ends_with(".hardware");
    };
    if (std::ranges::none_of(loaded.kernels, is_hardware)) return;
    const bool ran = std::ranges::any_of(timing.kernels, [&](const KernelTime& time) {
      const auto* kernel = kernel_of(loaded, time);
      return kernel && is_hardware(*kernel);
    });
    compile_.adapters = ran ? "hardware" : "software";
  }

  // Of the kernels that are challenged.
  Task<Result<Times>> profile(const Loaded& loaded, const Challenges& challenges,
                              std::map<const Anchor*, double>* shares = nullptr) {
    std::vector<int> kernels;
    for (size_t at = 0; at < loaded.kernels.size(); ++at) {
      const Anchor* anchor = anchor_of(loaded.kernels[at]);
      if (anchor && std::ranges::find(challenges, anchor, &Challenge::anchor) != challenges.end())
        kernels.push_back(static_cast<int>(at));
    }
    GS_CO_ASSIGN(const Timing timing, co_await measurer_.profile(loaded.number, runs_, kernels));
    Times times;
    for (const KernelTime& one : timing.kernels) {
      const auto* kernel = kernel_of(loaded, one);
      const Anchor* anchor = kernel ? anchor_of(*kernel) : nullptr;
      if (!anchor) continue;
      times[anchor] += one.ms;
      if (shares) (*shares)[anchor] = one.share;
    }
    co_return times;
  }

  // The model as the compiler makes it: its kernels, what they take, and what its outputs are.
  Task<Result<>> begin() {
    GS_CO_ASSIGN(Loaded loaded, co_await load({}));
    GS_CO_TRY(co_await measurer_.check(loaded.number));
    const Clock::time_point before = Clock::now();
    GS_CO_ASSIGN(const Timing timing, co_await measurer_.profile(loaded.number, runs_, {}));
    turn_seconds_ = 2 * std::chrono::duration<double>(Clock::now() - before).count();
    runs_ = static_cast<int>(std::clamp(60 / std::max(timing.run_ms, 0.01), 2.0, 20.0));
    outcome_.adapter = timing.adapter;
    take_adapters(loaded, timing);
    for (const KernelTime& one : timing.kernels) {
      const auto* found = kernel_of(loaded, one);
      if (!found || !found->group) continue;
      const compiler::KernelReport& kernel = *found;
      Anchor* anchor = anchor_of(kernel);
      if (!anchor) {
        anchors_.push_back(
            std::make_unique<Anchor>(Anchor{kernel.key, kernel.machine, kernel.name, kernel.origin,
                                            *kernel.group, kernel.capabilities}));
        anchor = anchors_.back().get();
      }
      anchor->ms += one.ms;
      anchor->share = std::max(anchor->share, one.share);
    }
    double all = 0;
    for (const auto& anchor : anchors_) all += anchor->ms;
    std::erase_if(anchors_, [&](const auto& one) { return one->ms <= least_share * all; });
    if (anchors_.empty()) co_return fail("the model has no kernels to tune");
    std::ranges::sort(anchors_, std::greater(), [](const auto& one) { return one->ms; });
    take_class();
    for (const auto& anchor : anchors_) remember(*anchor);
    costs_.fit();
    free(loaded);
    GS_CO_ASSIGN(now_, co_await load({}));
    co_return {};
  }

  // What earlier searches found of a kernel.
  void remember(Anchor& anchor) {
    anchor.search = std::make_unique<Search>(
        anchor.group, anchor.capabilities, options_.seed + static_cast<unsigned>(anchors_.size()));
    anchor.best = anchor.first();
    const schedule::Point* recorded =
        options_.compile.records ? options_.compile.records->find(anchor.key, anchor.machine)
                                 : nullptr;
    if (recorded && anchor.search->space().legal(*recorded)) anchor.best = *recorded;
    for (const Trial& trial : options_.known) {
      if (trial.key != anchor.key || trial.machine != anchor.machine ||
          trial.adapter != outcome_.adapter)
        continue;
      if (!trial.failure.empty()) {
        anchor.search->tell(trial.point, std::nullopt);
        continue;
      }
      anchor.search->tell(trial.point, trial.ratio);
      costs_.add(anchor.group, trial.point, trial.ratio);
      if (to_string(trial.point) == to_string(anchor.best)) anchor.ratio = trial.ratio;
    }
  }

  // Kernels that take more get more points.
  Challenges choose() {
    ++rounds_;
    double most = 0;
    for (const auto& anchor : anchors_) most = std::max(most, anchor->weight());
    Challenges challenges;
    for (const auto& anchor : anchors_) {
      const double weight = std::max(least_weight, anchor->weight() / most);
      if (anchor->trials > rounds_ * std::sqrt(weight)) continue;
      while (!anchor->search->is_over()) {
        const auto point = anchor->search->next(costs_);
        if (!point) continue;
        challenges.push_back({anchor.get(), *point});
        break;
      }
      if (options_.trials > 0 &&
          outcome_.trials + outcome_.failures + static_cast<int>(challenges.size()) >=
              options_.trials)
        break;
    }
    return challenges;
  }

  Task<Result<>> round(const Challenges& challenges) {
    auto made = co_await try_out(challenges);
    if (!made) co_return co_await blame(challenges, made.error());
    Loaded challenger = *std::move(made);
    const Clock::time_point before = Clock::now();
    std::vector<Times> ours, theirs;
    for (int turn = 0; turn < turns; ++turn) {
      auto mine = co_await profile(now_, challenges);
      if (!mine) {
        // The device is gone: by what a challenger left behind, or for reasons of its own.
        free(challenger);
        GS_CO_TRY(co_await profile(now_, challenges));
        co_return co_await suspect(challenges);
      }
      ours.push_back(*std::move(mine));
      auto times = co_await profile(challenger, challenges);
      if (!times) co_return co_await blame(challenges, times.error());
      theirs.push_back(*std::move(times));
      turn_seconds_ = std::chrono::duration<double>(Clock::now() - before).count() / (turn + 1);
      const auto has_hope = [&](const Challenge& one) {
        return theirs[0][one.anchor] < hopeless * ours[0][one.anchor];
      };
      if (turn == 0 && std::ranges::none_of(challenges, has_hope)) break;
      if (options_.is_stopped && options_.is_stopped()) break;
    }
    bool changed = false;
    for (const Challenge& one : challenges) changed |= judge(one, ours, theirs);
    costs_.fit();
    free(challenger);
    if (changed) {
      free(now_);
      GS_CO_ASSIGN(now_, co_await load({}));
    }
    tell_progress();
    co_return {};
  }

  // Whether it is the best one from now on.
  bool judge(const Challenge& challenge, std::vector<Times>& ours, std::vector<Times>& theirs) {
    Anchor& anchor = *challenge.anchor;
    std::vector<double> before, after, ratios;
    for (size_t turn = 0; turn < theirs.size(); ++turn) {
      const double ms = ours[turn][&anchor], challenging = theirs[turn][&anchor];
      if (ms <= 0 || challenging <= 0) continue;
      before.push_back(ms);
      after.push_back(challenging);
      ratios.push_back(challenging / ms);
    }
    ++anchor.trials;
    if (ratios.empty()) {
      anchor.search->tell(challenge.point, std::nullopt);
      return false;
    }
    const double ratio = fastest(after) / fastest(before);
    const auto [least, largest] = std::ranges::minmax(ratios);
    const auto faster = std::ranges::count_if(ratios, [](double one) { return one < 1; });
    const Trial trial{anchor.key,     anchor.machine,       challenge.point, outcome_.adapter,
                      fastest(after), ratio * anchor.ratio, largest - least, {}};
    ++outcome_.trials;
    anchor.search->tell(challenge.point, trial.ratio);
    costs_.add(anchor.group, challenge.point, trial.ratio);
    if (options_.on_trial) options_.on_trial(trial, anchor.name);
    if (ratios.size() < turns || ratio > better || faster + 1 < turns) return false;
    anchor.best = challenge.point;
    anchor.ratio = trial.ratio;
    progress_.kernel = anchor.name;
    progress_.kernel_gain = 1 / trial.ratio;
    progress_.share = anchor.share / trial.ratio;
    if (options_.on_better) options_.on_better(trial, anchor.name);
    return true;
  }

  // Compiles, loads and runs it once.
  Task<Result<Loaded>> try_out(const Challenges& challenges) {
    GS_CO_ASSIGN(Loaded loaded, co_await load(challenges));
    if (auto checked = co_await measurer_.check(loaded.number); !checked) {
      free(loaded);
      co_return std::unexpected(checked.error());
    }
    co_return loaded;
  }

  Task<Result<>> suspect(const Challenges& challenges) {
    auto made = co_await try_out(challenges);
    if (!made) co_return co_await blame(challenges, made.error());
    free(*made);
    co_return {};
  }

  // Finds those of the points that the error is about.
  Task<Result<>> blame(const Challenges& challenges, const Diagnostic& error) {
    if (challenges.size() == 1) {
      const auto& [anchor, point] = challenges[0];
      anchor->search->tell(point, std::nullopt);
      ++anchor->trials;
      ++outcome_.failures;
      if (options_.on_trial)
        options_.on_trial(
            {anchor->key, anchor->machine, point, outcome_.adapter, 0, 0, 0, error.to_string()},
            anchor->name);
      co_return {};
    }
    const auto middle = challenges.begin() + static_cast<ptrdiff_t>(challenges.size() / 2);
    for (const Challenges& half :
         {Challenges(challenges.begin(), middle), Challenges(middle, challenges.end())}) {
      if (options_.is_stopped && options_.is_stopped()) co_return {};
      GS_CO_TRY(co_await suspect(half));
    }
    co_return {};
  }

  void tell_progress() {
    if (!options_.on_progress) return;
    double before = 0, after = 0;
    progress_.kernels.clear();
    for (const auto& anchor : anchors_) {
      before += anchor->ms;
      after += anchor->ms * anchor->ratio;
      progress_.kernels.push_back(
          {anchor->name, anchor->origin, anchor->ms, anchor->ms * anchor->ratio});
    }
    progress_.seconds = seconds();
    progress_.trials = outcome_.trials + outcome_.failures;
    progress_.gain = after > 0 ? before / after : 1;
    options_.on_progress(progress_);
  }

  // Both once more, in turns: what does not hold goes back to the default point.
  Task<Result<Outcome>> finish() {
    free(now_);
    GS_CO_ASSIGN(Loaded defaults, co_await load({}, true));
    GS_CO_ASSIGN(Comparison seen, co_await compare(defaults));
    bool changed = false;
    for (const auto& anchor : anchors_) {
      if (!anchor->improved()) continue;
      const double ms = fastest(seen.before[anchor.get()]);
      if (fastest(seen.after[anchor.get()]) < 0.99 * ms) continue;
      give_up(*anchor, ms);
      changed = true;
    }
    if (changed) {
      GS_CO_ASSIGN(seen, co_await compare(defaults));
    }
    // A kernel alone may gain what the ones around it lose: then those that gain least go back.
    for (int turn = 0; turn < 6 && fastest(seen.run_after) > 1.01 * fastest(seen.run_before) &&
                       give_up_half(seen);
         ++turn) {
      GS_CO_ASSIGN(seen, co_await compare(defaults));
    }
    free(defaults);
    outcome_.run_ms_before = fastest(seen.run_before);
    outcome_.run_ms_after = fastest(seen.run_after);
    for (const auto& one : anchors_) {
      const Anchor* at = one.get();
      Tuned tuned{at->key, at->machine, at->name,  at->origin, at->first(), at->best,
                  at->ms,  at->ms,      at->share, at->share,  at->trials};
      if (at->improved()) {
        tuned.ms_before = fastest(seen.before[at]);
        tuned.ms_after = fastest(seen.after[at]);
        tuned.share_before = seen.shares_before[at];
        tuned.share_after = seen.shares_after[at];
      }
      outcome_.kernels.push_back(std::move(tuned));
    }
    co_return std::move(outcome_);
  }

  void give_up(Anchor& anchor, double ms) {
    anchor.best = anchor.first();
    anchor.ratio = 1;
    if (options_.on_better)
      options_.on_better({anchor.key, anchor.machine, anchor.best, outcome_.adapter, ms, 1, 0, ""},
                         anchor.name);
  }

  struct Comparison {
    std::vector<double> run_before, run_after;
    std::map<const Anchor*, std::vector<double>> before, after;
    std::map<const Anchor*, double> shares_before, shares_after;
  };

  // Of the improved kernels, those with the smaller gains; whether there were any.
  bool give_up_half(Comparison& seen) {
    std::multimap<double, Anchor*> gains;
    for (const auto& anchor : anchors_) {
      if (!anchor->improved()) continue;
      const Anchor* at = anchor.get();
      gains.emplace(fastest(seen.before[at]) - fastest(seen.after[at]), anchor.get());
    }
    size_t count = (gains.size() + 1) / 2;
    for (auto& [gain, anchor] : gains) {
      if (count-- == 0) break;
      give_up(*anchor, fastest(seen.before[anchor]));
    }
    return !gains.empty();
  }

  // The improved kernels, and whole runs.
  Task<Result<Comparison>> compare(const Loaded& defaults) {
    auto seen = co_await compare_once(defaults);
    co_return seen ? seen : co_await compare_once(defaults);  // the device may have gone meanwhile
  }

  Task<Result<Comparison>> compare_once(const Loaded& defaults) {
    Challenges improved;
    for (const auto& anchor : anchors_)
      if (anchor->improved()) improved.push_back({anchor.get(), anchor->best});
    Comparison seen;
    GS_CO_ASSIGN(Loaded best, co_await load({}));
    for (int turn = 0; turn < last_turns; ++turn) {
      GS_CO_ASSIGN(seen.run_before.emplace_back(), co_await measurer_.time(defaults.number, runs_));
      GS_CO_ASSIGN(seen.run_after.emplace_back(), co_await measurer_.time(best.number, runs_));
      if (improved.empty()) continue;
      GS_CO_ASSIGN(Times times, co_await profile(defaults, improved, &seen.shares_before));
      for (const auto& [anchor, time] : times) seen.before[anchor].push_back(time);
      GS_CO_ASSIGN(times, co_await profile(best, improved, &seen.shares_after));
      for (const auto& [anchor, time] : times) seen.after[anchor].push_back(time);
    }
    free(best);
    co_return seen;
  }

  const std::span<const std::byte> model_;
  Outcome outcome_;
  Watched measurer_;
  const Options& options_;
  compiler::Options compile_;
  const Clock::time_point begin_;
  std::vector<std::unique_ptr<Anchor>> anchors_;  // those that take most first
  CostModel costs_;
  Loaded now_;
  package::WeightFiles weights_;  // of all candidates
  Progress progress_;
  int rounds_ = 0, runs_ = 3;
  double turn_seconds_ = 0;
};

}  // namespace

Task<Result<Outcome>> tune(std::span<const std::byte> model, Measurer& measurer,
                           const Options& options) {
  Tuner tuner(model, measurer, options);
  co_return co_await tuner.run();
}

}  // namespace gossamer::tune
