#include "tune/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gossamer::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double least_share = 1e-3;   // of all kernels' time: one that takes less is left alone
constexpr double least_weight = 0.03;  // of a kernel that takes next to nothing, for its trials
constexpr double turns_by_weight = 2.0 / 3;  // the power: one of an eighth has a quarter of them
constexpr int most_comparisons = 7;          // beside the first: kernels go back by halves
constexpr double most_over = 1.1;  // of the search's seconds, that these comparisons may take

// By more than a hundredth, in all turns but one: runs of a page have a floor that kernels do not
// change, and what lies on it is noise.
bool is_slower(const Measurement& seen) {
  int lost = 0;
  for (size_t turn = 0; turn < seen.run_after.size(); ++turn)
    lost += seen.run_after[turn] > seen.run_before[turn];
  return lost + 1 >= last_turns && fastest(seen.run_after) > 1.01 * fastest(seen.run_before);
}

}  // namespace

// A distinct kernel of the model.
struct Planner::Anchor {
  std::string key, machine, name, origin;
  stages::Group group;
  target::Capabilities capabilities;
  std::unique_ptr<Search> search = nullptr;
  schedule::Point best = {};
  double ratio = 1;          // the best one's time by the default one's
  double ms = 0, share = 0;  // of the default one
  int trials = 0, under_way = 0;
  Measured compared = {};  // at the end, beside the default point
  bool recorded_default = false;

  double weight() const { return ms * ratio; }
  const schedule::Point& first() const { return search->space().start(); }
  bool improved() const { return to_string(best) != to_string(first()); }
};

struct Planner::Challenge {
  Anchor* anchor;
  schedule::Point point;
  double ratio = 1;  // of the point that it is measured beside
};

struct Planner::Sent {
  Challenges challenges;
  bool compare = false;
};

Planner::Planner(const Options& options) : options_(options), begin_(Clock::now()) {}
Planner::~Planner() = default;

double Planner::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

int Planner::decided() const { return outcome_.trials + outcome_.failures; }

bool Planner::is_over() const { return phase_ == over; }

Outcome Planner::outcome() const { return outcome_; }

bool Planner::is_enough() const {
  if (options_.is_stopped && options_.is_stopped()) return true;
  if (options_.trials > 0 && decided() + points_under_way_ >= options_.trials) return true;
  // A small batch takes as long to load as a large one.
  return rounds_ > 0 && room() < (batch_size_ + 2) / 3;
}

// How many challengers end in time, if they take as long as those of the latest batch.
size_t Planner::room() const {
  constexpr auto any = std::numeric_limits<size_t>::max();
  if (options_.seconds <= 0 || batch_size_ == 0) return any;
  const double left = options_.seconds - seconds() - comparison_seconds();
  if (left >= batch_seconds_) return any;
  return static_cast<size_t>(std::max(0.0, left / batch_seconds_) *
                             static_cast<double>(batch_size_));
}

// At the end: kernels, then whole runs.
double Planner::comparison_seconds() const {
  const auto improved =
      std::ranges::count_if(anchors_, [](const auto& anchor) { return anchor->improved(); });
  return last_turns * static_cast<double>(improved) * turn_seconds_ + runs_comparison_seconds();
}

double Planner::runs_comparison_seconds() const {
  return make_seconds_ + last_turns * run_seconds_;
}

// Once at any rate.
bool Planner::may_compare_again() const {
  if (comparisons_ > most_comparisons) return false;
  return comparisons_ <= 2 || options_.seconds <= 0 ||
         seconds() + runs_comparison_seconds() <= most_over * options_.seconds;
}

// A kernel that is the same for all classes of a target says the first of them.
Planner::Anchor* Planner::anchor_of(const std::string& key, std::string_view machine) const {
  for (const auto& anchor : anchors_)
    if (anchor->key == key && target_of(anchor->machine) == target_of(machine)) return anchor.get();
  return nullptr;
}

// Of kernels that have one for this device, all take its class: only there will records change
// them.
void Planner::take_class() {
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

Result<std::unique_ptr<Planner>> Planner::create(Survey survey, const Options& options) {
  std::unique_ptr<Planner> made(new Planner(options));
  // Each time of runs has one more that is not timed.
  made->run_seconds_ = 2e-3 * survey.timing.run_ms * (runs_at_once(survey.timing.run_ms) + 1);
  made->outcome_.adapter = survey.timing.adapter;
  made->outcome_.compile_seconds = survey.spent.compile;
  made->outcome_.load_seconds = survey.spent.load;
  made->outcome_.measure_seconds = survey.spent.measure;
  auto& anchors = made->anchors_;
  for (const KernelTime& one : survey.timing.kernels) {
    const auto at = static_cast<size_t>(one.kernel);
    // The device may speak of a kernel that the package does not have.
    if (one.kernel < 0 || at >= survey.kernels.size() || !survey.kernels[at].group) continue;
    const compiler::KernelReport& kernel = survey.kernels[at];
    Anchor* anchor = made->anchor_of(kernel.key, kernel.machine);
    if (!anchor) {
      anchors.push_back(
          std::make_unique<Anchor>(Anchor{kernel.key, kernel.machine, kernel.name, kernel.origin,
                                          *kernel.group, kernel.capabilities}));
      anchor = anchors.back().get();
    }
    anchor->ms += one.ms;
    anchor->share = std::max(anchor->share, one.share);
  }
  double all = 0;
  for (const auto& anchor : anchors) all += anchor->ms;
  std::erase_if(anchors, [&](const auto& one) { return one->ms <= least_share * all; });
  if (anchors.empty()) return fail("the model has no kernels to tune");
  std::ranges::sort(anchors, std::greater(), [](const auto& one) { return one->ms; });
  made->turn_seconds_ = survey.turn_seconds / static_cast<double>(anchors.size());
  made->take_class();
  for (const LearnedCosts& costs : options.costs)
    if (costs.machine == anchors[0]->machine) made->costs_.begin_with(&costs.trees);
  for (const auto& anchor : anchors) made->remember(*anchor);
  made->costs_.fit();
  return made;
}

// What earlier searches found of a kernel.
void Planner::remember(Anchor& anchor) {
  anchor.search = std::make_unique<Search>(anchor.group, anchor.capabilities,
                                           options_.seed + static_cast<unsigned>(anchors_.size()));
  anchor.best = anchor.first();
  costs_.add(anchor.search->space(), anchor.first(), 1.0);
  const schedule::Point* recorded = options_.compile.records
                                        ? options_.compile.records->find(anchor.key, anchor.machine)
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
    costs_.add(anchor.search->space(), trial.point, trial.ratio);
    if (to_string(trial.point) == to_string(anchor.best)) anchor.ratio = trial.ratio;
  }
}

// Kernels that take more get more points, while they have some, and get them first.
Planner::Challenges Planner::choose(size_t most_points) {
  Challenges challenges;
  // A round may be nobody's turn: the next one is another's.
  while (challenges.empty()) {
    double most = 0;
    for (const auto& anchor : anchors_)
      if (!anchor->search->is_over()) most = std::max(most, anchor->weight());
    // Others may have all the points that there are.
    if (most == 0) break;
    ++rounds_;
    for (const auto& anchor : anchors_) {
      const double weight = std::max(least_weight, anchor->weight() / most);
      if (anchor->trials + anchor->under_way + 0.5 > rounds_ * std::pow(weight, turns_by_weight))
        continue;
      add_point(*anchor, challenges);
      if (challenges.size() >= most_points) break;
      if (options_.trials > 0 &&
          decided() + points_under_way_ + static_cast<int>(challenges.size()) >= options_.trials)
        break;
    }
  }
  return challenges;
}

// If it has one left.
void Planner::add_point(Anchor& anchor, Challenges& challenges) {
  while (!anchor.search->is_over()) {
    const auto point = anchor.search->next(costs_);
    if (!point) continue;
    challenges.push_back({&anchor, *point});
    break;
  }
}

std::vector<Placed> Planner::best() const {
  std::vector<Placed> points;
  for (const auto& anchor : anchors_)
    points.push_back({anchor->key, anchor->machine, anchor->best});
  return points;
}

Batch Planner::send(Challenges challenges, bool compare) {
  Batch batch{next_++,          compare ? Batch::Kind::comparison : Batch::Kind::points,
              options_.layouts, {},
              best(),           {}};
  for (Challenge& one : challenges) {
    one.ratio = one.anchor->ratio;
    batch.challengers.push_back({one.anchor->key, one.anchor->machine, one.point});
    if (compare) continue;
    ++one.anchor->under_way;
    ++points_under_way_;
  }
  under_way_[batch.number] = {std::move(challenges), compare};
  return batch;
}

// The improved kernels are measured each, once; what follows is of whole runs.
Batch Planner::send_comparison() {
  Challenges improved;
  for (const auto& anchor : anchors_)
    if (anchor->improved() && comparisons_ == 0) improved.push_back({anchor.get(), anchor->best});
  return send(std::move(improved), true);
}

std::optional<Batch> Planner::next() {
  if (phase_ == searching) {
    if (!again_.empty()) {
      Challenges challenges = std::move(again_.front());
      again_.pop_front();
      return send(std::move(challenges), false);
    }
    if (!is_enough()) {
      // One batch is the least that says anything.
      Challenges challenges = choose(std::max<size_t>(1, room()));
      if (!challenges.empty()) return send(std::move(challenges), false);
    }
    if (under_way_.empty()) phase_ = comparing;
  }
  if (phase_ == comparing && under_way_.empty()) return send_comparison();
  return std::nullopt;
}

void Planner::take(int number, const Measurement& measured) {
  auto sent = under_way_.extract(number);
  if (!sent || measured.points.size() != sent.mapped().challenges.size()) return;
  outcome_.compile_seconds += measured.spent.compile;
  outcome_.load_seconds += measured.spent.load;
  outcome_.measure_seconds += measured.spent.measure;
  if (sent.mapped().compare) return take_comparison(sent.mapped(), measured);
  const Challenges& challenges = sent.mapped().challenges;
  if (measured.turn_seconds > 0)
    turn_seconds_ = measured.turn_seconds / static_cast<double>(challenges.size());
  make_seconds_ = measured.spent.compile + measured.spent.load;
  batch_seconds_ = make_seconds_ + measured.spent.measure;
  batch_size_ = challenges.size();
  for (size_t at = 0; at < challenges.size(); ++at) {
    --challenges[at].anchor->under_way;
    --points_under_way_;
    judge(challenges[at], measured.points[at]);
  }
  costs_.fit();
  tell_progress();
}

Result<> Planner::lose(int number, const std::string& why) {
  auto sent = under_way_.extract(number);
  if (!sent) return {};
  const Challenges& challenges = sent.mapped().challenges;
  if (sent.mapped().compare) return fail(why);
  for (const Challenge& one : challenges) {
    --one.anchor->under_way;
    --points_under_way_;
  }
  if (challenges.size() == 1) {
    fail_trial(challenges[0], why);
    return {};
  }
  const auto middle = challenges.begin() + static_cast<ptrdiff_t>(challenges.size() / 2);
  again_.emplace_back(challenges.begin(), middle);
  again_.emplace_back(middle, challenges.end());
  return {};
}

void Planner::fail_trial(const Challenge& challenge, const std::string& why) {
  Anchor& anchor = *challenge.anchor;
  anchor.search->tell(challenge.point, std::nullopt);
  ++anchor.trials;
  ++outcome_.failures;
  if (options_.on_trial)
    options_.on_trial({anchor.key, anchor.machine, challenge.point, outcome_.adapter, 0, 0, 0, why},
                      anchor.name);
}

// Whether it is the best one from now on.
void Planner::judge(const Challenge& challenge, const Measured& measured) {
  Anchor& anchor = *challenge.anchor;
  if (!measured.failure.empty()) return fail_trial(challenge, measured.failure);
  if (measured.after.empty()) return anchor.search->forget(challenge.point);
  const auto compared = compare_turns(measured.before, measured.after);
  ++anchor.trials;
  if (!compared) return anchor.search->tell(challenge.point, std::nullopt);
  const Trial trial{anchor.key,       anchor.machine,
                    challenge.point,  outcome_.adapter,
                    compared->ms,     compared->ratio * challenge.ratio,
                    compared->spread, {}};
  ++outcome_.trials;
  anchor.search->tell(challenge.point, trial.ratio);
  costs_.add(anchor.search->space(), challenge.point, trial.ratio);
  if (options_.on_trial) options_.on_trial(trial, anchor.name);
  if (!compared->faster) return;
  // Meanwhile another device may have found a better one.
  if (trial.ratio > faster * anchor.ratio) return;
  anchor.best = challenge.point;
  anchor.ratio = trial.ratio;
  progress_.kernel = anchor.name;
  progress_.kernel_gain = 1 / trial.ratio;
  progress_.share = anchor.share / trial.ratio;
  tell_better(anchor, trial);
}

void Planner::tell_progress() {
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
  progress_.trials = decided();
  progress_.gain = after > 0 ? before / after : 1;
  options_.on_progress(progress_);
}

// Both once more, in turns: what does not hold goes back to the default point.
void Planner::take_comparison(const Sent& sent, const Measurement& seen) {
  ++comparisons_;
  if (!sent.challenges.empty()) {
    for (size_t at = 0; at < sent.challenges.size(); ++at) {
      Anchor& anchor = *sent.challenges[at].anchor;
      anchor.compared = seen.points[at];
      if (fastest(anchor.compared.after) < 0.99 * fastest(anchor.compared.before)) continue;
      give_up(anchor);
    }
    return;
  }
  if (!is_slower(seen)) return finish(seen);
  // A kernel alone may gain what the ones around it lose: then those that gain least go back, or
  // all, where there is no time to see what that brings.
  if (may_compare_again()) {
    if (!give_up_half()) finish(seen);
    return;
  }
  for (const auto& anchor : anchors_)
    if (anchor->improved()) give_up(*anchor);
  Measurement known = seen;
  // With all points the model is as before, but for layouts: they go back for these times.
  if (options_.layouts.empty()) known.run_after = known.run_before;
  finish(known);
}

void Planner::give_up(Anchor& anchor) {
  const double ms = anchor.compared.before.empty() ? anchor.ms : fastest(anchor.compared.before);
  anchor.best = anchor.first();
  anchor.ratio = 1;
  anchor.recorded_default = true;
  tell_better(anchor, {anchor.key, anchor.machine, anchor.best, outcome_.adapter, ms, 1, 0, ""});
}

void Planner::tell_better(const Anchor& anchor, Trial trial) const {
  if (!options_.on_better) return;
  trial.likeness = records::likeness_of(anchor.group);
  options_.on_better(trial, anchor.name);
}

// Of the improved kernels, those with the smaller gains; whether there were any.
bool Planner::give_up_half() {
  std::vector<Anchor*> improved;
  for (const auto& anchor : anchors_)
    if (anchor->improved()) improved.push_back(anchor.get());
  std::ranges::sort(improved, {}, [](const Anchor* one) {
    return fastest(one->compared.before) - fastest(one->compared.after);
  });
  const size_t count = (improved.size() + 1) / 2;
  for (size_t at = 0; at < count; ++at) give_up(*improved[at]);
  return count > 0;
}

void Planner::finish(const Measurement& seen) {
  phase_ = over;
  // As they were compared: what is better for a kernel near them is not known to be for them.
  for (const auto& anchor : anchors_)
    if (!anchor->improved() && !anchor->recorded_default) give_up(*anchor);
  outcome_.run_ms_before = fastest(seen.run_before);
  outcome_.run_ms_after = fastest(seen.run_after);
  for (const auto& at : anchors_) {
    Tuned tuned{at->key, at->machine, at->name,  at->origin, at->first(), at->best,
                at->ms,  at->ms,      at->share, at->share,  at->trials};
    if (at->improved()) {
      tuned.ms_before = fastest(at->compared.before);
      tuned.ms_after = fastest(at->compared.after);
      tuned.share_before = at->compared.share_before;
      tuned.share_after = at->compared.share_after;
    }
    outcome_.kernels.push_back(std::move(tuned));
  }
}

}  // namespace gossamer::tune
