#include "tune/layout_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace gossamer::tune {
namespace {

using records::SeenLayout;
using records::StageChoice;

constexpr size_t least_candidates = 4;  // fewer find nothing: points have their time
constexpr size_t most_groups = 4;       // of stages in one layout, those that compute most

std::string text_of(const std::vector<PlacedLayout>& layouts) {
  std::set<std::string> lines;
  for (const PlacedLayout& one : layouts) lines.insert(cat(one.key, " ", to_string(one.choice)));
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_layout(StageChoice choice) { return choice.of == StageChoice::Of::layout; }

// Numbers of stages between which no layout changes: what one makes is read by the other along the
// same axis.
std::vector<std::vector<size_t>> groups_of(const std::vector<SeenLayout>& stages) {
  std::vector<size_t> group(stages.size());
  std::iota(group.begin(), group.end(), size_t{0});
  const auto first_of = [&](size_t at) {
    while (group[at] != at) at = group[at];
    return at;
  };
  for (size_t at = 0; at < stages.size(); ++at) {
    for (const size_t made : stages[at].reads) {
      const bool same = stages[made].rule == stages[at].rule &&
                        stages[made].extents.size() == stages[at].extents.size();
      if (same) group[first_of(at)] = first_of(made);
    }
  }
  std::map<size_t, std::vector<size_t>> groups;
  for (size_t at = 0; at < stages.size(); ++at) {
    if (is_layout(stages[at].rule)) groups[first_of(at)].push_back(at);
  }
  std::vector<std::vector<size_t>> all;
  for (auto& [first, members] : groups) all.push_back(std::move(members));
  return all;
}

}  // namespace

LayoutSearch::LayoutSearch(const Survey& survey, const Options& options)
    : options_(options),
      begin_(Clock::now()),
      adapter_(survey.timing.adapter),
      guess_(survey.spent.compile + survey.spent.load + survey.spent.measure) {
  find_kinds(survey.layouts);
  find_changes(survey.layouts);
  for (const LayoutTrial& known : options.known_layouts) {
    if (known.adapter != adapter_) continue;
    const std::string text = text_of(known.layouts);
    told_.insert(text);
    if (known.failure.empty() && text == text_of(best_)) ratio_ = known.ratio;
  }
  told_.insert(text_of(best_));
  for (const KernelTime& one : survey.timing.kernels) {
    const auto at = static_cast<size_t>(one.kernel);
    if (one.kernel < 0 || at >= survey.kernels.size() || one.ms <= 0) continue;
    progress_.kernels.push_back(
        {survey.kernels[at].name, survey.kernels[at].origin, one.ms, one.ms});
  }
  std::ranges::sort(progress_.kernels, std::greater(), &Progress::Kernel::ms);
}

void LayoutSearch::find_kinds(const std::vector<SeenLayout>& stages) {
  for (const SeenLayout& stage : stages) {
    const auto known = std::ranges::find(kinds_, stage.key, &Kind::key);
    if (known != kinds_.end()) {
      known->work += stage.work;
      continue;
    }
    SeenLayout by_rule = stage;
    by_rule.recorded.reset();
    kinds_.push_back({stage.key, stage.machine, stage.name, stage.origin, stage.rule, stage.reduces,
                      by_rule.choices(), stage.work});
    // What an earlier search took.
    if (stage.recorded && *stage.recorded != stage.rule)
      best_.push_back({stage.key, stage.machine, *stage.recorded});
  }
}

// All kinds of convolutions by the same algorithm, then each by itself, those that compute most
// first.
void LayoutSearch::find_algorithms() {
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    if (!is_layout(kinds_[kind].rule)) kinds.push_back(kind);
  std::ranges::sort(kinds, {}, [&](size_t kind) { return std::pair(-kinds_[kind].work, kind); });
  if (kinds.size() > 1)
    for (const StageChoice choice : kinds_[kinds[0]].choices)
      changes_.push_back({kinds, choice, {}});
  for (const size_t kind : kinds)
    for (const StageChoice choice : kinds_[kind].choices) changes_.push_back({{kind}, choice, {}});
}

// Reductions whose output leaves the model in another order than it is computed in come first: a
// copy follows each. Then algorithms, whose stages have layouts of their own; then groups of
// stages, inside of which nothing is converted; then stages by themselves. The rule carries a
// reduction's layout on to the maps behind it, so of maps alone is asked where there is no
// reduction.
void LayoutSearch::find_changes(const std::vector<SeenLayout>& stages) {
  // Kinds, those that compute most first.
  std::vector<std::pair<double, std::vector<size_t>>> groups, single;
  for (const auto& group : groups_of(stages)) {
    const bool reduces = std::ranges::any_of(group, [&](size_t at) { return stages[at].reduces; });
    std::set<size_t> kinds;
    for (const size_t at : group) {
      if (reduces && !stages[at].reduces) continue;
      const auto kind = std::ranges::find(kinds_, stages[at].key, &Kind::key);
      kinds.insert(static_cast<size_t>(kind - kinds_.begin()));
    }
    double work = 0;
    for (const size_t kind : kinds) work += kinds_[kind].work;
    if (kinds.size() > 1) groups.emplace_back(-work, std::vector(kinds.begin(), kinds.end()));
  }
  std::ranges::sort(groups);
  if (groups.size() > most_groups) groups.resize(most_groups);
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    if (is_layout(kinds_[kind].rule)) single.emplace_back(-kinds_[kind].work, std::vector{kind});
  std::ranges::sort(single);
  groups.insert(groups.end(), single.begin(), single.end());
  std::set<size_t> read;
  for (const SeenLayout& stage : stages) read.insert(stage.reads.begin(), stage.reads.end());
  for (size_t at = 0; at < stages.size(); ++at) {
    const StageChoice last = records::layout_along(static_cast<int>(stages[at].extents.size()) - 1);
    if (!is_layout(stages[at].rule) || !stages[at].reduces || stages[at].rule == last ||
        read.contains(at))
      continue;
    const auto kind = std::ranges::find(kinds_, stages[at].key, &Kind::key);
    changes_.push_back({{static_cast<size_t>(kind - kinds_.begin())}, last, {}});
  }
  find_algorithms();
  // An axis in which no stage lies by the rule, and that is not the last one of any, is gathered.
  std::set<StageChoice> likely{records::layout_along(-1)};
  for (const SeenLayout& stage : stages) {
    likely.insert(stage.rule);
    likely.insert(records::layout_along(static_cast<int>(stage.extents.size()) - 1));
  }
  std::deque<Change> unlikely;
  for (const auto& [less, kinds] : groups) {
    std::vector<StageChoice> choices;
    for (const size_t kind : kinds)
      for (const StageChoice choice : kinds_[kind].choices)
        if (std::ranges::find(choices, choice) == choices.end()) choices.push_back(choice);
    for (const StageChoice choice : choices)
      (likely.contains(choice) ? changes_ : unlikely).push_back({kinds, choice, {}});
  }
  changes_.insert(changes_.end(), unlikely.begin(), unlikely.end());
}

// Those of its stages that can have the axis, over the best so far.
std::vector<PlacedLayout> LayoutSearch::with(const Change& change) const {
  std::vector<PlacedLayout> layouts;
  for (size_t at = 0; at < kinds_.size(); ++at) {
    const Kind& kind = kinds_[at];
    const auto now = std::ranges::find(best_, kind.key, &PlacedLayout::key);
    StageChoice choice = now == best_.end() ? kind.rule : now->choice;
    const bool changes = std::ranges::find(change.kinds, at) != change.kinds.end() &&
                         std::ranges::find(kind.choices, change.choice) != kind.choices.end();
    if (changes) choice = change.choice;
    if (choice != kind.rule) layouts.push_back({kind.key, kind.machine, choice});
  }
  return layouts;
}

std::string LayoutSearch::name_of(const Change& change) const {
  const std::string which =
      change.kinds.size() == 1 ? kinds_[change.kinds[0]].name : cat(change.kinds.size(), " stages");
  return cat(which, " ", to_string(change.choice));
}

bool LayoutSearch::is_enough() const {
  if (options_.trials > 0 && begun_ >= static_cast<int>(options_.layout_share * options_.trials))
    return true;
  if (options_.seconds <= 0) return false;
  const double share = options_.layout_share * options_.seconds;
  if (begun_ == 0 && guess_ * double(std::min(least_candidates, changes_.size())) > share)
    return true;
  // As long as those before, on the average.
  const double each = ended_ > 0 ? took_ / ended_ : guess_;
  const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  return seconds + each > share;
}

std::optional<Batch> LayoutSearch::next() {
  if (options_.is_stopped && options_.is_stopped()) return std::nullopt;
  if (!again_.empty()) {
    Candidate candidate = std::move(again_.front());
    again_.pop_front();
    return send(std::move(candidate));
  }
  while (!is_enough() && !changes_.empty()) {
    Change change = std::move(changes_.front());
    changes_.pop_front();
    auto layouts = change.layouts ? *std::exchange(change.layouts, {}) : with(change);
    if (!told_.insert(text_of(layouts)).second) continue;
    ++begun_;
    return send({std::move(change), std::move(layouts), best_, ratio_});
  }
  return std::nullopt;
}

Batch LayoutSearch::send(Candidate candidate) {
  candidate.begin = Clock::now();
  Batch batch{++sent_, Batch::Kind::layouts, candidate.beside, candidate.layouts, {}, {}};
  under_way_[batch.number] = std::move(candidate);
  return batch;
}

void LayoutSearch::take(int number, const Measurement& measured) {
  auto sent = under_way_.extract(number);
  if (!sent) return;
  Candidate& candidate = sent.mapped();
  took_ += std::chrono::duration<double>(Clock::now() - candidate.begin).count();
  const std::string name = name_of(candidate.change);
  judge(std::move(candidate), measured);
  if (trials_ + failures_ > progress_.layouts) tell_progress(name);
}

void LayoutSearch::lose(int number, const std::string& why) {
  Measurement failed;
  failed.failure = why;
  take(number, failed);
}

void LayoutSearch::judge(Candidate candidate, const Measurement& measured) {
  const std::string name = name_of(candidate.change);
  LayoutTrial trial{candidate.layouts, adapter_, 0, 0, 0, measured.failure};
  const auto compared = compare_turns(measured.run_before, measured.run_after);
  // A page's run on a fast GPU is made of what launches cost the page: fewer launches of slower
  // kernels win there, and take the GPU from all else.
  const bool slower_kernels = measured.kernels_ratio > 1 / faster;
  const bool wins = trial.failure.empty() && compared && compared->faster && !slower_kernels;
  // Of many candidates one wins by chance: a second time it does not.
  if (wins && !candidate.won) {
    candidate.won = true;
    again_.push_back(std::move(candidate));
    return;
  }
  ++ended_;
  if (!trial.failure.empty()) {
    ++failures_;
  } else if (compared) {
    ++trials_;
    trial.ms = compared->ms;
    trial.ratio = (slower_kernels ? measured.kernels_ratio : compared->ratio) * candidate.ratio;
    trial.spread = compared->spread;
  } else {
    return;
  }
  if (options_.on_layout_trial) options_.on_layout_trial(trial, name);
  if (wins) win(candidate, trial);
}

void LayoutSearch::win(const Candidate& candidate, const LayoutTrial& trial) {
  // Meanwhile others have won on another device: they are to be tried together, beside the better
  // ones of both.
  const bool met = text_of(candidate.beside) != text_of(best_);
  if (met)
    changes_.push_front({candidate.change.kinds, candidate.change.choice, with(candidate.change)});
  if (met && trial.ratio > faster * ratio_) return;
  const std::vector<PlacedLayout> before = std::exchange(best_, candidate.layouts);
  ratio_ = trial.ratio;
  tell_better(before, trial);
}

void LayoutSearch::tell_progress(const std::string& name) {
  progress_.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  progress_.layouts = trials_ + failures_;
  progress_.layout_gain = 1 / ratio_;
  progress_.layout = name;
  if (options_.on_progress) options_.on_progress(progress_);
}

// What is not as it was before.
void LayoutSearch::tell_better(const std::vector<PlacedLayout>& before,
                               const LayoutTrial& trial) const {
  if (!options_.on_better_layout) return;
  for (const Kind& kind : kinds_) {
    const auto choice_in = [&](const std::vector<PlacedLayout>& layouts) {
      const auto found = std::ranges::find(layouts, kind.key, &PlacedLayout::key);
      return found == layouts.end() ? kind.rule : found->choice;
    };
    const StageChoice choice = choice_in(best_);
    if (choice == choice_in(before)) continue;
    LayoutTrial told = trial;
    if (choice == kind.rule) told.ratio = 1;
    options_.on_better_layout({kind.key, kind.machine, choice}, told, kind.name);
  }
}

void LayoutSearch::give_up() {
  const std::vector<PlacedLayout> before = std::exchange(best_, {});
  ratio_ = 1;
  tell_better(before, {{}, adapter_, 0, 1, 0, ""});
}

std::vector<TunedLayout> LayoutSearch::changed() const {
  std::vector<TunedLayout> all;
  for (const PlacedLayout& one : best_) {
    const auto kind = std::ranges::find(kinds_, one.key, &Kind::key);
    all.push_back({kind->key, kind->machine, kind->name, kind->origin, kind->rule, one.choice});
  }
  return all;
}

}  // namespace gossamer::tune
