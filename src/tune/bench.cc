#include "tune/bench.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

namespace gossamer::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double hopeless = 1.03;  // after one turn: no more turns
constexpr size_t most_kept = 2;    // challengers that stay loaded for points that became the best
constexpr uint64_t small = 128'000'000;  // bytes of weights: more models than needed may be there

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

// A kernel that is the same for all classes of a target says the first of them.
bool is_of(const Placed& placed, const compiler::KernelReport& kernel) {
  return placed.key == kernel.key && target_of(placed.machine) == target_of(kernel.machine);
}

// `points.size()`: none of them.
size_t point_of(const std::vector<Placed>& points, const compiler::KernelReport& kernel) {
  const auto found =
      std::ranges::find_if(points, [&](const Placed& one) { return is_of(one, kernel); });
  return static_cast<size_t>(found - points.begin());
}

// No more turns can make it the faster one.
bool is_lost(const Measured& one) {
  if (one.after[0] >= hopeless * one.before[0]) return true;
  int lost = 0;
  for (size_t turn = 0; turn < one.after.size(); ++turn)
    lost += one.after[turn] >= one.before[turn];
  return lost > 1;
}

std::string text_of(const std::vector<PlacedLayout>& layouts, const std::vector<Placed>& points) {
  std::string text;
  for (const PlacedLayout& one : layouts)
    text += cat(one.key, " ", one.machine, " ", to_string(one.choice), "\n");
  for (const Placed& one : points)
    text += cat(one.key, " ", one.machine, " ", to_string(one.point), "\n");
  return text;
}

}  // namespace

std::string_view target_of(std::string_view machine) {
  return machine.substr(0, machine.find('.'));
}

int runs_at_once(double run_ms) {
  return static_cast<int>(std::clamp(60 / std::max(run_ms, 0.01), 2.0, 20.0));
}

double fastest(const std::vector<double>& all) {
  return all.empty() ? 0 : *std::ranges::min_element(all);
}

std::optional<Comparison> compare_turns(const std::vector<double>& before,
                                        const std::vector<double>& after) {
  std::vector<double> ours, theirs, ratios;
  for (size_t turn = 0; turn < std::min(before.size(), after.size()); ++turn) {
    if (before[turn] <= 0 || after[turn] <= 0) continue;
    ours.push_back(before[turn]);
    theirs.push_back(after[turn]);
    ratios.push_back(after[turn] / before[turn]);
  }
  if (ratios.empty()) return std::nullopt;
  const auto [least, largest] = std::ranges::minmax(ratios);
  const auto wins = std::ranges::count_if(ratios, [](double one) { return one < 1; });
  const double ratio = fastest(theirs) / fastest(ours);
  return Comparison{fastest(theirs), ratio, largest - least,
                    ratios.size() >= turns && ratio <= faster && wins + 1 >= turns};
}

Task<Result<int>> Bench::Watched::load(package::Files files) {
  const Stopwatch watch(spent_.load);
  co_return co_await measurer_.load(std::move(files));
}
void Bench::Watched::free(int model) { measurer_.free(model); }
Task<Result<Timing>> Bench::Watched::profile(int model, int runs, const std::vector<int>& kernels) {
  const Stopwatch watch(spent_.measure);
  co_return co_await measurer_.profile(model, runs, kernels);
}
Task<Result<double>> Bench::Watched::time(int model, int runs) {
  const Stopwatch watch(spent_.measure);
  co_return co_await measurer_.time(model, runs);
}
Task<Result<>> Bench::Watched::check(int model) {
  const Stopwatch watch(spent_.measure);
  co_return co_await measurer_.check(model);
}

Bench::Bench(std::span<const std::byte> model, Measurer& measurer, const compiler::Options& compile,
             const std::function<bool()>& is_stopped)
    : model_(model), measurer_(measurer, spent_), compile_(compile), is_stopped_(is_stopped) {}

namespace {

void add_to(records::Records& records, const std::vector<PlacedLayout>& layouts) {
  records.set_exact();
  for (const PlacedLayout& one : layouts)
    records.add(records::LayoutRecord{one.key, one.machine, one.choice});
}

// By the rule, noting what records would say.
records::LayoutWatch watch_for(const compiler::Options& compile) {
  return {nullptr, compile.records, records::LayoutWatch::Mode::note};
}

}  // namespace

Result<Survey> survey_without_times(std::span<const std::byte> model,
                                    const compiler::Options& compile) {
  const records::LayoutWatch watch = watch_for(compile);
  compiler::Options noting = compile;
  noting.records = &watch;
  noting.groups = true;
  compiler::Report report;
  GS_TRY(compiler::compile(model, noting, &report));
  Survey survey;
  survey.kernels = std::move(report.kernels);
  survey.layouts = watch.seen();
  return survey;
}

Result<std::vector<compiler::KernelReport>> kernels_in(const std::vector<PlacedLayout>& layouts,
                                                       std::span<const std::byte> model,
                                                       compiler::Options compile) {
  records::Records records;
  add_to(records, layouts);
  compile.records = &records;
  compile.groups = true;
  compiler::Report report;
  GS_TRY(compiler::compile(model, compile, &report));
  return std::move(report.kernels);
}

void take_adapters(Survey& survey, compiler::Options& compile) {
  if (compile.adapters == "any") {
    const auto is_hardware = [](const compiler::KernelReport& kernel) {
      return kernel.machine.ends_with(".hardware");
    };
    if (std::ranges::none_of(survey.kernels, is_hardware)) return;
    const bool ran = std::ranges::any_of(survey.timing.kernels, [&](const KernelTime& time) {
      const auto at = static_cast<size_t>(time.kernel);
      return time.kernel >= 0 && at < survey.kernels.size() && is_hardware(survey.kernels[at]);
    });
    compile.adapters = ran ? "hardware" : "software";
  }
  // Layouts are of the adapters that a package is for; candidates are for those that are there.
  for (records::SeenLayout& one : survey.layouts)
    if (one.machine.ends_with(".software") && compile.adapters == "hardware")
      one.machine = cat(target_of(one.machine), ".hardware");
}

// Without points and layouts it is the model as the compiler makes it.
Task<Result<Bench::Loaded>> Bench::load(const std::vector<PlacedLayout>& layouts,
                                        const std::vector<Placed>& best,
                                        const std::vector<Placed>& challengers, const Which& which,
                                        const records::LayoutWatch* watch) {
  records::Records records;
  records.set_exact();  // none has a neighbour here, and none is looked for
  add_to(records, layouts);
  for (const Placed& one : best) records.add(one.key, one.machine, one.point);
  for (const size_t at : which) {
    const Placed& one = challengers[at];
    records.add(one.key, one.machine, one.point);
  }
  Loaded loaded;
  loaded.points = best;
  for (const size_t at : which) {
    const Placed& one = challengers[at];
    for (Placed& place : loaded.points)
      if (place.key == one.key && target_of(place.machine) == target_of(one.machine)) place = one;
  }
  compiler::Options compile = compile_;
  if (watch) {
    compile.records = watch;
  } else {
    std::string text = text_of(layouts, {});
    if (text != prepared_layouts_) prepared_.stages.reset();
    prepared_layouts_ = std::move(text);
    compile.cache = &prepared_;
    compile.records = &records;
  }
  compile.groups = true;
  if (!compile.lowered) compile.lowered = &lowered_;
  if (!weights_.files.empty()) compile.weights = &weights_;
  compiler::Report report;
  Result<package::Files> files = [&] {
    const Stopwatch watch_time(spent_.compile);
    return compiler::compile(model_, compile, &report);
  }();
  if (!files) co_return std::unexpected(std::move(files).error());
  weights_ = std::move(report.weights);
  for (const package::File& file : *files)
    if (!file.name.ends_with(".safetensors"))
      loaded.text.append(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  loaded.text = records::hash_of(loaded.text);
  GS_CO_ASSIGN(loaded.number, co_await measurer_.load(*std::move(files)));
  loaded.kernels = std::move(report.kernels);
  co_return loaded;
}

void Bench::free(Loaded& loaded) {
  if (loaded.number >= 0) measurer_.free(loaded.number);
  loaded.number = -1;
}

Task<Result<Survey>> Bench::begin() {
  const records::LayoutWatch watch = watch_for(compile_);
  GS_CO_ASSIGN(Loaded loaded, co_await load({}, {}, {}, {}, &watch));
  GS_CO_ASSIGN(Survey survey, co_await this->survey(loaded));
  if (is_small()) {
    defaults_ = std::move(loaded);
  } else {
    free(loaded);
  }
  runs_ = runs_at_once(survey.timing.run_ms);
  survey.layouts = watch.seen();
  take_adapters(survey, compile_);
  co_return survey;
}

Task<Result<Survey>> Bench::survey(const Loaded& loaded) {
  GS_CO_TRY(co_await measurer_.check(loaded.number));
  Survey survey;
  const Clock::time_point before = Clock::now();
  GS_CO_ASSIGN(survey.timing, co_await measurer_.profile(loaded.number, runs_, {}));
  survey.turn_seconds = 2 * std::chrono::duration<double>(Clock::now() - before).count();
  survey.kernels = loaded.kernels;
  survey.spent = std::exchange(spent_, {});
  co_return survey;
}

Task<Result<>> Bench::time_kernels(const Loaded& challenger, Measurement& made) {
  GS_CO_ASSIGN(const Timing mine, co_await measurer_.profile(now_.number, runs_, {}));
  GS_CO_ASSIGN(const Timing theirs, co_await measurer_.profile(challenger.number, runs_, {}));
  const auto sum_of = [](const Timing& timing) {
    double sum = 0;
    for (const KernelTime& one : timing.kernels) sum += one.ms;
    return sum;
  };
  if (sum_of(mine) > 0) made.kernels_ratio = sum_of(theirs) / sum_of(mine);
  co_return {};
}

Task<Result<>> Bench::challenge(const Batch& batch, Measurement& made) {
  auto loaded = co_await load(batch.others, {});
  if (loaded && loaded->text == now_.text) {
    free(*loaded);
    co_return {};
  }
  Result<> ran;
  if (loaded) {
    ran = co_await measurer_.check(loaded->number);
  } else {
    ran = std::unexpected(loaded.error());
  }
  for (int turn = 0; ran && turn < turns; ++turn) {
    auto mine = co_await measurer_.time(now_.number, runs_);
    if (!mine) {
      // The device is gone, maybe by what the challenger left behind.
      ran = std::unexpected(std::move(mine).error());
      break;
    }
    auto theirs = co_await measurer_.time(loaded->number, runs_);
    if (!theirs) {
      ran = std::unexpected(std::move(theirs).error());
      break;
    }
    made.run_before.push_back(*mine);
    made.run_after.push_back(*theirs);
    if (turn == 0 && *theirs >= hopeless * *mine) break;
    if (is_stopped_ && is_stopped_()) break;
  }
  const auto compared = compare_turns(made.run_before, made.run_after);
  if (ran && compared && compared->faster) ran = co_await time_kernels(*loaded, made);
  if (loaded) free(*loaded);
  if (!ran) {
    made.failure = ran.error().to_string();
    free(now_);  // what is next finds out whether the device is there
  }
  co_return {};
}

Task<Result<Measurement>> Bench::measure(const Batch& batch) {
  Measurement made;
  made.points.resize(batch.challengers.size());
  if (batch.kind == Batch::Kind::survey) {
    GS_CO_ASSIGN(Loaded loaded, co_await load(batch.layouts, {}));
    auto seen = co_await survey(loaded);
    free(loaded);
    if (!seen) co_return std::unexpected(std::move(seen).error());
    made.survey = *std::move(seen);
  } else if (batch.kind == Batch::Kind::comparison) {
    // The device may have gone meanwhile.
    if (!co_await compare(batch, made)) {
      made = {};
      made.points.resize(batch.challengers.size());
      free(defaults_);
      let_go();
      GS_CO_TRY(co_await compare(batch, made));
    }
  } else {
    if (batch.kind == Batch::Kind::layouts) {
      GS_CO_TRY(co_await hold(batch.layouts, batch.best));
      GS_CO_TRY(co_await challenge(batch, made));
    } else {
      if (!has_all(batch)) GS_CO_TRY(co_await hold(batch.layouts, batch.best));
      GS_CO_TRY(co_await round(batch, made));
    }
  }
  made.spent = std::exchange(spent_, {});
  co_return made;
}

// Loads the best points, where others are.
Task<Result<>> Bench::hold(const std::vector<PlacedLayout>& layouts,
                           const std::vector<Placed>& best) {
  std::string text = text_of(layouts, best);
  if (now_.number >= 0 && held_ == text) co_return {};
  // What is there goes when the new one is loaded: they share most of their kernels.
  if (!is_small()) let_go();
  GS_CO_ASSIGN(Loaded fresh, co_await load(layouts, best));
  let_go();
  now_ = std::move(fresh);
  held_ = std::move(text);
  held_layouts_ = text_of(layouts, {});
  co_return {};
}

bool Bench::is_small() const {
  uint64_t bytes = 0;
  for (const package::File& file : weights_.files) bytes += file.size;
  return bytes <= small;
}

void Bench::let_go() {
  free(now_);
  held_.clear();
  for (Loaded& one : kept_) free(one);
  kept_.clear();
}

// Where the best point of a challenger's kernel is loaded; null: nowhere.
const Bench::Loaded* Bench::place_of(const Batch& batch, const Placed& challenger) const {
  const auto same_kernel = [&](const Placed& one) {
    return one.key == challenger.key && target_of(one.machine) == target_of(challenger.machine);
  };
  const auto best = std::ranges::find_if(batch.best, same_kernel);
  if (best == batch.best.end()) return nullptr;
  const auto has = [&](const Loaded& loaded) {
    const auto found = std::ranges::find_if(loaded.points, same_kernel);
    return loaded.number >= 0 && found != loaded.points.end() &&
           to_string(found->point) == to_string(best->point);
  };
  if (has(now_)) return &now_;
  const auto found = std::ranges::find_if(kept_, has);
  return found == kept_.end() ? nullptr : &*found;
}

// Whether nothing need be compiled and loaded for what challengers are measured beside.
bool Bench::has_all(const Batch& batch) const {
  if (now_.number < 0 || held_layouts_ != text_of(batch.layouts, {})) return false;
  return std::ranges::all_of(batch.challengers,
                             [&](const Placed& one) { return place_of(batch, one) != nullptr; });
}

// One of its points may be the best of its kernel now.
void Bench::keep(Loaded& challenger, const Measurement& made) {
  const bool won = std::ranges::any_of(made.points, [](const Measured& one) {
    const auto compared = compare_turns(one.before, one.after);
    return compared && compared->faster;
  });
  if (!won || !is_small()) return free(challenger);
  if (kept_.size() == most_kept) {
    free(kept_.front());
    kept_.erase(kept_.begin());
  }
  kept_.push_back(std::move(challenger));
}

Task<Result<Bench::Times>> Bench::profile(const Loaded& loaded, const std::vector<Placed>& points,
                                          const Which& which) {
  std::vector<int> kernels;
  for (size_t at = 0; at < loaded.kernels.size(); ++at)
    if (std::ranges::find(which, point_of(points, loaded.kernels[at])) != which.end())
      kernels.push_back(static_cast<int>(at));
  GS_CO_ASSIGN(const Timing timing, co_await measurer_.profile(loaded.number, runs_, kernels));
  Times times{std::vector<double>(points.size()), std::vector<double>(points.size())};
  for (const KernelTime& one : timing.kernels) {
    if (one.kernel < 0 || static_cast<size_t>(one.kernel) >= loaded.kernels.size()) continue;
    const size_t at = point_of(points, loaded.kernels[static_cast<size_t>(one.kernel)]);
    if (at == points.size()) continue;
    times.ms[at] += one.ms;
    times.shares[at] = one.share;
  }
  co_return times;
}

// Of challengers the points that they take the place of, each where it is loaded.
Task<Result<Bench::Times>> Bench::profile_best(const Batch& batch, const Which& which) {
  Times all{std::vector<double>(batch.challengers.size()),
            std::vector<double>(batch.challengers.size())};
  std::map<const Loaded*, Which> places;
  for (const size_t at : which) places[place_of(batch, batch.challengers[at])].push_back(at);
  for (const auto& [place, some] : places) {
    GS_CO_ASSIGN(const Times times,
                 co_await profile(place ? *place : now_, batch.challengers, some));
    for (const size_t at : some) {
      all.ms[at] = times.ms[at];
      all.shares[at] = times.shares[at];
    }
  }
  co_return all;
}

// Compiles, loads and runs it once.
Task<Result<Bench::Loaded>> Bench::try_out(const Batch& batch, const Which& which) {
  GS_CO_ASSIGN(Loaded loaded, co_await load(batch.layouts, batch.best, batch.challengers, which));
  if (auto checked = co_await measurer_.check(loaded.number); !checked) {
    free(loaded);
    co_return std::unexpected(checked.error());
  }
  co_return loaded;
}

Task<Result<>> Bench::round(const Batch& batch, Measurement& made) {
  Which all(batch.challengers.size());
  std::iota(all.begin(), all.end(), size_t{0});
  auto tried = co_await try_out(batch, all);
  if (!tried) co_return co_await blame(batch, all, tried.error(), made);
  Loaded challenger = *std::move(tried);
  Which left = all;
  for (int turn = 0; turn < turns && !left.empty(); ++turn) {
    const Clock::time_point before = Clock::now();
    auto mine = co_await profile_best(batch, left);
    if (!mine) {
      // The device is gone: by what a challenger left behind, or for reasons of its own.
      free(challenger);
      let_go();
      made.points.assign(batch.challengers.size(), {});
      GS_CO_TRY(co_await hold(batch.layouts, batch.best));
      GS_CO_TRY(co_await profile_best(batch, all));
      co_return co_await suspect(batch, all, made);
    }
    auto theirs = co_await profile(challenger, batch.challengers, left);
    if (!theirs) {
      free(challenger);
      made.points.assign(batch.challengers.size(), {});
      co_return co_await blame(batch, all, theirs.error(), made);
    }
    for (const size_t at : left) {
      made.points[at].before.push_back(mine->ms[at]);
      made.points[at].after.push_back(theirs->ms[at]);
    }
    if (turn == 0) made.turn_seconds = std::chrono::duration<double>(Clock::now() - before).count();
    std::erase_if(left, [&](size_t at) { return is_lost(made.points[at]); });
    if (is_stopped_ && is_stopped_()) break;
  }
  keep(challenger, made);
  co_return {};
}

Task<Result<>> Bench::suspect(const Batch& batch, const Which& which, Measurement& made) {
  auto tried = co_await try_out(batch, which);
  if (!tried) co_return co_await blame(batch, which, tried.error(), made);
  free(*tried);
  co_return {};
}

// Finds those of the points that the error is about.
Task<Result<>> Bench::blame(const Batch& batch, const Which& which, const Diagnostic& error,
                            Measurement& made) {
  if (which.size() == 1) {
    made.points[which[0]].failure = error.to_string();
    co_return {};
  }
  const auto middle = which.begin() + static_cast<ptrdiff_t>(which.size() / 2);
  for (const Which& half : {Which(which.begin(), middle), Which(middle, which.end())}) {
    if (is_stopped_ && is_stopped_()) co_return {};
    GS_CO_TRY(co_await suspect(batch, half, made));
  }
  co_return {};
}

Task<Result<>> Bench::compare(const Batch& batch, Measurement& made) {
  GS_CO_TRY(co_await hold(batch.layouts, batch.best));
  if (defaults_.number < 0) {
    GS_CO_ASSIGN(defaults_, co_await load({}, {}));
  }
  for (int turn = 0; batch.challengers.empty() && turn < last_turns; ++turn) {
    GS_CO_ASSIGN(made.run_before.emplace_back(), co_await measurer_.time(defaults_.number, runs_));
    GS_CO_ASSIGN(made.run_after.emplace_back(), co_await measurer_.time(now_.number, runs_));
  }
  if (batch.challengers.empty()) co_return {};
  // Kernels in other layouts are other kernels: theirs are compared in the same ones.
  Loaded same_layouts;
  if (!batch.layouts.empty()) {
    GS_CO_ASSIGN(same_layouts, co_await load(batch.layouts, {}));
  }
  const Loaded& plain = same_layouts.number < 0 ? defaults_ : same_layouts;
  Which all(batch.challengers.size());
  std::iota(all.begin(), all.end(), size_t{0});
  for (int turn = 0; turn < last_turns; ++turn) {
    GS_CO_ASSIGN(const Times before, co_await profile(plain, batch.challengers, all));
    GS_CO_ASSIGN(const Times after, co_await profile(now_, batch.challengers, all));
    for (size_t at = 0; at < batch.challengers.size(); ++at) {
      Measured& one = made.points[at];
      one.before.push_back(before.ms[at]);
      one.after.push_back(after.ms[at]);
      one.share_before = before.shares[at];
      one.share_after = after.shares[at];
    }
  }
  free(same_layouts);
  co_return {};
}

}  // namespace gossamer::tune
