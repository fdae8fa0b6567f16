// The search on a machine that is a formula: it finds what is best there, and goes on past
// candidates that do not load, that end the device or that give wrong numbers.
#include "tune/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>

#include "onnx/model_writer.h"
#include "tune/batch_text.h"
#include "tune/model_quality.h"
#include "tune/whole_search.h"

namespace gossamer::tune {
namespace {

using onnx::bytes_of;
using onnx::model;
using onnx::node;
using onnx::value;

onnx::Message products() {
  return model({{value("a", {"96", "96"}), value("b", {"96", "96"})},
                {node("MatMul", {"a", "b"}, {"c"}), node("Softmax", {"c"}, {"d"}),
                 node("MatMul", {"d", "b"}, {"e"})},
                {value("e", {"96", "96"})}});
}

// The numbers in a kernel's schedule that are no part of a name: factors of splits.
std::vector<int> factors_of(const std::string& schedule) {
  std::vector<int> factors;
  for (size_t at = 0; at < schedule.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(schedule[at]))) continue;
    if (at > 0 && schedule[at - 1] != ' ') continue;
    size_t digits = 0;
    factors.push_back(std::stoi(schedule.substr(at), &digits));
    at += digits;
  }
  return factors;
}

class FormulaMachine : public Measurer {
 public:
  int unloadable = 0, deadly = 0, wrong = 0;  // factors that are so; 0: none
  int heavy = -1;                             // a kernel that takes a hundredfold
  int loads = 0;
  size_t most_alive = 0;  // models at the same time
  std::vector<package::Files> loaded;

  Task<Result<int>> load(package::Files files) override {
    ++loads;
    loaded.push_back(files);
    std::vector<std::vector<int>> kernels;
    for (const package::File& file : files) {
      if (file.name != "manifest.json") continue;
      const std::string text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
      const std::string word = R"("schedule":")";
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const size_t begin = at + word.size();
        kernels.push_back(factors_of(text.substr(begin, text.find('"', begin) - begin)));
      }
    }
    if (has(kernels, unloadable)) return fail("it does not load");
    models_.push_back(kernels);
    asked_.emplace_back(kernels.size());
    const int number = static_cast<int>(models_.size()) - 1;
    alive_.insert(number);
    most_alive = std::max(most_alive, alive_.size());
    return number;
  }
  void free(int model) override { EXPECT_EQ(alive_.erase(model), 1u); }

  Task<Result<Timing>> profile(int model, int, const std::vector<int>& which) override {
    EXPECT_TRUE(alive_.contains(model));
    for (const int kernel : which)
      ++asked_[static_cast<size_t>(model)][static_cast<size_t>(kernel)];
    const auto& kernels = models_[static_cast<size_t>(model)];
    if (has(kernels, deadly)) return fail("the device is gone");
    Timing timing{"a formula", 1, {}};
    for (size_t at = 0; at < kernels.size(); ++at)
      timing.kernels.push_back({static_cast<int>(at), cost(kernels[at]), 0.5});
    if (heavy >= 0) timing.kernels[static_cast<size_t>(heavy)].ms *= 100;
    return timing;
  }
  Task<Result<double>> time(int, int) override { return 1.0; }
  Task<Result<>> check(int model) override {
    if (has(models_[static_cast<size_t>(model)], wrong)) return fail("wrong numbers");
    return {};
  }

  // How often each kernel of each model was asked for by its number.
  const std::vector<std::vector<int>>& asked() const { return asked_; }
  size_t alive() const { return alive_.size(); }

  // Least where all factors are 3 and many are there.
  static double cost(const std::vector<int>& factors) {
    double cost = 1;
    for (const int factor : factors) cost += std::pow(std::log2(std::max(factor, 1) / 3.0), 2);
    return cost;
  }

 private:
  static bool has(const std::vector<std::vector<int>>& kernels, int factor) {
    return factor != 0 && std::ranges::any_of(kernels, [&](const std::vector<int>& factors) {
             return std::ranges::find(factors, factor) != factors.end();
           });
  }

  std::vector<std::vector<std::vector<int>>> models_;
  std::vector<std::vector<int>> asked_;
  std::set<int> alive_;
};

// Of the points of kernels alone, each kernel once.
Options on_software(int trials = 0) {
  Options options;
  options.compile.target = "webgpu";
  options.compile.adapters = "software";
  options.layout_share = 0;
  options.trials = trials;
  return options;
}

// Batch by batch, on one device, until `see` has seen enough.
void drive(WholeSearch& search, Bench& bench,
           const std::function<bool(const Batch&, Measurement&)>& see) {
  for (bool goes_on = true; goes_on && !search.is_over();) {
    const auto batch = search.next();
    ASSERT_TRUE(batch && *batch);
    auto made = bench.measure(**batch).now();
    ASSERT_TRUE(made) << made.error().to_string();
    goes_on = see(**batch, *made);
    ASSERT_TRUE(search.take((*batch)->number, *std::move(made)));
  }
}

struct Searched {
  Result<Outcome> outcome;
  std::vector<Trial> trials, better;
};

Searched search(FormulaMachine& machine, int trials, std::vector<Trial> known = {}) {
  Searched run{Outcome(), {}, {}};
  Options options;
  options.compile.target = "webgpu";
  options.compile.adapters = "software";  // each kernel once
  options.known = std::move(known);
  options.trials = trials;
  options.on_trial = [&](const Trial& trial, const std::string&) { run.trials.push_back(trial); };
  options.on_better = [&](const Trial& trial, const std::string&) { run.better.push_back(trial); };
  run.outcome = tune(bytes_of(products()), machine, options).now();
  return run;
}

TEST(Tuner, FindsWhatIsBestOnTheMachine) {
  FormulaMachine machine;
  const Searched run = search(machine, 300);
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  double before = 0, after = 0;
  for (const Tuned& kernel : run.outcome->kernels) {
    before += kernel.ms_before;
    after += kernel.ms_after;
    // No point that was measured is better than the one that is taken, but for what is near it.
    for (const Trial& trial : run.trials) {
      if (trial.key == kernel.key && trial.machine == kernel.machine)
        EXPECT_GE(trial.ms / (1 - 0.03), kernel.ms_after / 1.001) << to_string(trial.point);
    }
  }
  EXPECT_LT(after, 0.9 * before);
  EXPECT_FALSE(run.better.empty());
  EXPECT_EQ(run.outcome->failures, 0);
}

TEST(Tuner, ThoseThatLostHaveNoMoreTurns) {
  FormulaMachine machine;
  const Searched run = search(machine, 60);
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  int stopped = 0, finished = 0;
  for (const std::vector<int>& times : machine.asked()) {
    for (const int times_of_one : times) {
      stopped += times_of_one == 1;
      finished += times_of_one >= turns;
    }
  }
  EXPECT_GT(stopped, 20);
  EXPECT_GT(finished, 0);
  for (const Trial& trial : run.trials) EXPECT_TRUE(trial.failure.empty()) << trial.failure;
}

// The model as it is, which stays, the best points, two that won and the challenger.
TEST(Tuner, FewModelsAreThereAtTheSameTime) {
  FormulaMachine machine;
  ASSERT_TRUE(search(machine, 60).outcome);
  EXPECT_LE(machine.most_alive, 5u);
  EXPECT_GE(machine.most_alive, 3u);
  EXPECT_EQ(machine.alive(), 2u);
}

// Of the time that a search has: then one batch is measured, and compared.
TEST(Tuner, TheSurveyTakesItsTime) {
  FormulaMachine machine;
  Options options = on_software();
  options.seconds = 1000;
  const onnx::Message source = products();
  for (const double surveyed : {0.0, 1001.0}) {
    const std::function<bool()> never;
    Bench bench(bytes_of(source), machine, options.compile, never);
    auto survey = bench.begin().now();
    ASSERT_TRUE(survey) << survey.error().to_string();
    survey->spent.compile = surveyed;
    WholeSearch search(*std::move(survey), options);
    std::vector<Batch::Kind> kinds;
    drive(search, bench, [&](const Batch& batch, const Measurement&) {
      kinds.push_back(batch.kind);
      return kinds.size() < 3;
    });
    ASSERT_GE(kinds.size(), 2u);
    EXPECT_EQ(kinds[0], Batch::Kind::points);
    EXPECT_EQ(kinds[1], surveyed > 0 ? Batch::Kind::comparison : Batch::Kind::points);
  }
}

// What a batch took, the next one takes, and the comparison behind it comes to its turns. What has
// no time for a whole one measures fewer points.
TEST(Tuner, ABatchBeginsIfItEndsInTime) {
  FormulaMachine machine;
  Options options = on_software();
  options.seconds = 1000;
  // Three kernels that take as long.
  const onnx::Message source =
      model({{value("a", {"96", "64"}), value("b", {"64", "32"}), value("c", {"32", "96"}),
              value("d", {"96", "128"})},
             {node("MatMul", {"a", "b"}, {"ab"}), node("MatMul", {"ab", "c"}, {"abc"}),
              node("MatMul", {"abc", "d"}, {"abcd"})},
             {value("abcd", {"96", "128"})}});
  struct Case {
    double batch, turn;  // of the first one
    Batch::Kind next;
    size_t points;  // of the next one
  };
  for (const Case& one :
       {Case{400, 0, Batch::Kind::points, 3}, Case{0, 20, Batch::Kind::points, 3},
        Case{1500, 0, Batch::Kind::points, 1}, Case{5000, 0, Batch::Kind::comparison, 3},
        Case{0, 2000, Batch::Kind::comparison, 3}}) {
    const std::function<bool()> never;
    Bench bench(bytes_of(source), machine, options.compile, never);
    auto survey = bench.begin().now();
    ASSERT_TRUE(survey) << survey.error().to_string();
    for (KernelTime& kernel : survey->timing.kernels) kernel.ms = 1;
    WholeSearch search(*std::move(survey), options);
    std::vector<Batch> batches;
    drive(search, bench, [&](const Batch& batch, Measurement& made) {
      batches.push_back(batch);
      for (Measured& point : made.points)
        point = {std::vector<double>(turns, 1.0), std::vector<double>(turns, 0.5), 0, 0, {}};
      made.spent.measure = one.batch;
      made.turn_seconds = one.turn;
      return batches.size() < 2;
    });
    ASSERT_EQ(batches.size(), 2u);
    EXPECT_EQ(batches[0].challengers.size(), 3u);
    EXPECT_EQ(batches[1].kind, one.next) << one.batch << " s a batch, " << one.turn << " s a turn";
    EXPECT_EQ(batches[1].challengers.size(), one.points) << one.batch << " s a batch";
  }
}

// A point whose gain is gone at the end goes back, and whole runs alone are compared once more.
TEST(Tuner, WhatDoesNotHoldGoesBack) {
  FormulaMachine machine;
  const Options options = on_software(60);
  const onnx::Message source = products();
  const std::function<bool()> never;
  Bench bench(bytes_of(source), machine, options.compile, never);
  auto survey = bench.begin().now();
  ASSERT_TRUE(survey) << survey.error().to_string();
  WholeSearch search(*std::move(survey), options);
  std::vector<std::vector<Placed>> compared;
  drive(search, bench, [&](const Batch& batch, Measurement& made) {
    if (batch.kind == Batch::Kind::comparison) {
      compared.push_back(batch.challengers);
      if (compared.size() == 1) made.points.at(0).after = made.points.at(0).before;
    }
    return true;
  });
  ASSERT_EQ(compared.size(), 2u);
  ASSERT_FALSE(compared[0].empty());
  EXPECT_TRUE(compared[1].empty());
  size_t improved = 0;
  for (const Tuned& kernel : search.outcome().kernels) {
    const bool gone = kernel.key == compared[0][0].key;
    EXPECT_EQ(gone, to_string(kernel.before) == to_string(kernel.after)) << kernel.name;
    EXPECT_EQ(gone, kernel.ms_before == kernel.ms_after) << kernel.name;
    improved += kernel.ms_after < kernel.ms_before;
  }
  EXPECT_EQ(improved, compared[0].size() - 1);
}

// Kernels whose whole runs are slower go back by halves while there is time, then all that are
// left.
TEST(Tuner, ComparisonsEndSoonAfterTheSecondsDo) {
  FormulaMachine machine;
  Options options = on_software();
  options.seconds = 1000;
  const onnx::Message source = products();
  for (const double compile : {0.0, 2000.0}) {
    const std::function<bool()> never;
    Bench bench(bytes_of(source), machine, options.compile, never);
    auto survey = bench.begin().now();
    ASSERT_TRUE(survey) << survey.error().to_string();
    for (KernelTime& kernel : survey->timing.kernels) kernel.ms = 1;
    size_t batches = 0, comparisons = 0, improved = 0;
    options.is_stopped = [&] { return batches > 0; };
    WholeSearch search(*std::move(survey), options);
    drive(search, bench, [&](const Batch& batch, Measurement& made) {
      ++batches;
      for (Measured& point : made.points)
        point = {std::vector<double>(turns, 1.0), std::vector<double>(turns, 0.5), 0, 0, {}};
      made.spent.compile = compile;
      if (batch.kind != Batch::Kind::comparison) return true;
      if (comparisons++ == 0) improved = batch.challengers.size();
      made.run_before.assign(last_turns, 1.0);
      made.run_after.assign(last_turns, 2.0);
      return true;
    });
    EXPECT_EQ(improved, 2u);
    EXPECT_EQ(comparisons, compile > 0 ? 3u : 4u);
    for (const Tuned& kernel : search.outcome().kernels)
      EXPECT_EQ(to_string(kernel.before), to_string(kernel.after)) << kernel.name;
    // What is not measured is what it was before.
    EXPECT_EQ(search.outcome().run_ms_after, compile > 0 ? 1.0 : 2.0);
  }
}

TEST(Tuner, GoesOnPastBadCandidates) {
  FormulaMachine machine;
  machine.unloadable = 16;
  machine.deadly = 3;
  machine.wrong = 5;
  const Searched run = search(machine, 120);
  // The model as the compiler makes it must not have them.
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  EXPECT_GT(run.outcome->failures, 0);
  EXPECT_GT(run.outcome->trials, 0);
  std::set<std::string> why;
  for (const Trial& trial : run.trials)
    if (!trial.failure.empty()) why.insert(trial.failure);
  EXPECT_GE(why.size(), 2u);
  for (const Trial& trial : run.better)
    for (const Trial& bad : run.trials)
      if (!bad.failure.empty() && bad.key == trial.key && bad.machine == trial.machine)
        EXPECT_NE(to_string(trial.point), to_string(bad.point));
}

TEST(Tuner, GoesOnWhereAnotherSearchEnded) {
  FormulaMachine machine;
  const Searched first = search(machine, 40);
  const Searched second = search(machine, 40, first.trials);
  ASSERT_TRUE(second.outcome);
  for (const Trial& trial : second.trials)
    for (const Trial& known : first.trials)
      if (known.key == trial.key && known.machine == trial.machine)
        EXPECT_NE(to_string(known.point), to_string(trial.point));
}

// The one that takes most, and would have a turn each round, has the fewest points.
TEST(Tuner, AKernelWithoutPointsEndsNoSearch) {
  for (int heavy = 0; heavy < 3; ++heavy) {
    FormulaMachine machine;
    machine.heavy = heavy;
    Options options;
    options.compile.target = "wasm";
    options.layout_share = 0;
    options.trials = 48;
    std::map<std::string, int> trials;
    options.on_trial = [&](const Trial& trial, const std::string&) { ++trials[trial.key]; };
    const auto outcome = tune(bytes_of(products()), machine, options).now();
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_EQ(outcome->trials, 48) << heavy;
    EXPECT_EQ(trials.size(), 2u) << heavy;  // both products are one kernel
  }
}

// Of other products: its first points are better than those of a search that knows nothing.
TEST(Tuner, BeginsWithWhatWasLearnedElsewhere) {
  std::vector<MeasuredKernel> known;
  std::string known_machine;
  for (const char* size : {"64", "160", "192", "256"}) {
    const onnx::Message other = model({{value("a", {size, size}), value("b", {size, size})},
                                       {node("MatMul", {"a", "b"}, {"c"})},
                                       {value("c", {size, size})}});
    FormulaMachine machine;
    Options options = on_software(60);
    std::vector<MeasuredPoint> points;
    options.on_trial = [&](const Trial& trial, const std::string&) {
      points.push_back({trial.point, trial.ratio});
    };
    ASSERT_TRUE(tune(bytes_of(other), machine, options).now());
    auto survey = survey_without_times(bytes_of(other), options.compile);
    ASSERT_TRUE(survey);
    for (const compiler::KernelReport& kernel : survey->kernels) {
      known.push_back({kernel.key, kernel.name, *kernel.group, kernel.capabilities, points, 1});
      known_machine = kernel.machine;
    }
  }
  const LearnedCosts costs = learn_costs(known, known_machine, "");
  const auto gain_of = [&](bool begins, int trials) {
    FormulaMachine machine;
    Options options = on_software(trials);
    if (begins) options.costs = {costs};
    auto outcome = tune(bytes_of(products()), machine, options).now();
    EXPECT_TRUE(outcome) << outcome.error().to_string();
    double before = 0, after = 0;
    for (const Tuned& kernel : outcome->kernels) {
      before += kernel.ms_before;
      after += kernel.ms_after;
    }
    return before / after;
  };
  EXPECT_GT(gain_of(true, 6), gain_of(false, 6));
  EXPECT_GT(gain_of(true, 6), 1.05);
}

// Later packages name the files of weights that the first one has.
TEST(Tuner, WeightsComeOnce) {
  FormulaMachine machine;
  const std::vector<float> ones(64 * 64, 1);
  const onnx::Message weighted = model({{value("a", {"64", "64"})},
                                        {node("MatMul", {"a", "w"}, {"c"})},
                                        {value("c", {"64", "64"})},
                                        {onnx::tensor("w", 1, {64, 64}, ones)}});
  Options options;
  options.compile.target = "webgpu";
  options.compile.adapters = "software";
  options.trials = 2;
  ASSERT_TRUE(tune(bytes_of(weighted), machine, options).now());
  ASSERT_GT(machine.loaded.size(), 2u);
  const auto weights_of = [](const package::Files& files) {
    const auto found = std::ranges::find(files, "weights.safetensors", &package::File::name);
    return found == files.end() ? package::File() : *found;
  };
  const package::File first = weights_of(machine.loaded[0]);
  EXPECT_GT(first.bytes.size(), 64u * 64 * 4);
  const auto manifest_of = [](const package::Files& files) {
    return std::string(reinterpret_cast<const char*>(files[0].bytes.data()), files[0].bytes.size());
  };
  for (size_t at = 1; at < machine.loaded.size(); ++at) {
    const package::File later = weights_of(machine.loaded[at]);
    EXPECT_TRUE(later.bytes.empty());
    EXPECT_EQ(later.sha256, first.sha256);
    EXPECT_EQ(later.size, first.bytes.size());
    EXPECT_NE(manifest_of(machine.loaded[at]).find(first.sha256), std::string::npos);
    EXPECT_NE(manifest_of(machine.loaded[at]).find(first.xxh3), std::string::npos);
  }
}

// Once it is known what ran, candidates are for that alone.
TEST(Tuner, CandidatesAreForTheAdapterThatIsThere) {
  FormulaMachine machine;
  Options options;
  options.compile.target = "webgpu";
  options.trials = 2;
  const auto outcome = tune(bytes_of(products()), machine, options).now();
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const auto says_hardware = [](const package::Files& files) {
    const std::string text(reinterpret_cast<const char*>(files[0].bytes.data()),
                           files[0].bytes.size());
    return text.find("\"hardware\"") != std::string::npos;
  };
  ASSERT_GT(machine.loaded.size(), 2u);
  EXPECT_TRUE(says_hardware(machine.loaded[0]));
  for (size_t at = 1; at < machine.loaded.size(); ++at)
    EXPECT_FALSE(says_hardware(machine.loaded[at]));
}

TEST(Tuner, OfAModelThatCannotBeCompiled) {
  FormulaMachine machine;
  Options options;
  options.compile.target = "nowhere";
  options.trials = 1;
  EXPECT_FALSE(tune(bytes_of(products()), machine, options).now());
}

// Several devices, of which one is lost with its batch time and again.
class Fleet : public testing::Test {
 protected:
  Fleet() : model_(products()) {
    options_.compile.target = "webgpu";
    options_.compile.adapters = "software";
    options_.trials = 61;
    options_.on_trial = [&](const Trial& trial, const std::string&) { trials_.push_back(trial); };
    for (int count = 0; count < 3; ++count) {
      machines_.push_back(std::make_unique<FormulaMachine>());
      benches_.push_back(std::make_unique<Bench>(bytes_of(model_), *machines_.back(),
                                                 options_.compile, options_.is_stopped));
    }
  }

  // With what goes between them as text, as between machines.
  Result<std::unique_ptr<Planner>> begin() {
    std::unique_ptr<Planner> planner;
    for (const auto& bench : benches_) {
      GS_ASSIGN(Survey survey, bench->begin().now());
      Survey seen;
      seen.kernels = survey.kernels;
      GS_ASSIGN(survey, read_survey(to_json(survey), std::move(seen)));
      if (planner) continue;
      GS_ASSIGN(planner, Planner::create(std::move(survey), options_));
    }
    return planner;
  }
  Result<Answer> measure(size_t bench, const Batch& batch) {
    GS_ASSIGN(const Batch sent, read_batch(to_json(batch)));
    GS_ASSIGN(const Measurement made, benches_[bench]->measure(sent).now());
    return read_measurement(to_json(made, sent.number));
  }
  void expect_each_once(const Outcome& outcome) const {
    std::set<std::string> seen;
    for (const Trial& one : trials_)
      EXPECT_TRUE(seen.insert(cat(one.key, one.machine, to_string(one.point))).second)
          << to_string(one.point);
    EXPECT_EQ(static_cast<int>(trials_.size()), options_.trials);
    EXPECT_EQ(outcome.trials + outcome.failures, options_.trials);
  }

  const onnx::Message model_;
  Options options_;
  std::vector<Trial> trials_;
  std::vector<std::unique_ptr<FormulaMachine>> machines_;
  std::vector<std::unique_ptr<Bench>> benches_;
};

TEST_F(Fleet, WhatOneLosesIsMeasuredElsewhere) {
  auto begun = begin();
  ASSERT_TRUE(begun) << begun.error().to_string();
  Planner& planner = **begun;
  std::vector<Batch> waiting;
  size_t most = 0;
  for (size_t turn = 0; !planner.is_over(); ++turn) {
    while (waiting.size() < benches_.size()) {
      auto batch = planner.next();
      if (!batch) break;
      waiting.push_back(*std::move(batch));
    }
    if (waiting.empty()) break;
    most = std::max(most, waiting.size());
    // The latest one first; each fifth is lost, and another device has it at another time.
    const Batch batch = turn % 3 == 0 ? waiting.front() : waiting.back();
    if (turn % 5 == 4) {
      std::ranges::rotate(waiting, waiting.begin() + 1);
      continue;
    }
    std::erase_if(waiting, [&](const Batch& one) { return one.number == batch.number; });
    const auto answer = measure(turn % benches_.size(), batch);
    ASSERT_TRUE(answer) << answer.error().to_string();
    planner.take(answer->number, answer->measurement);
    planner.take(answer->number, answer->measurement);  // what was lost may answer after all
  }
  EXPECT_EQ(most, 3u);
  EXPECT_TRUE(planner.is_over());
  const Outcome outcome = planner.outcome();
  EXPECT_EQ(outcome.failures, 0);
  expect_each_once(outcome);
  double before = 0, after = 0;
  for (const Tuned& kernel : outcome.kernels) {
    before += kernel.ms_before;
    after += kernel.ms_after;
  }
  EXPECT_LT(after, 0.95 * before);
}

// A device that ends whole with each batch that has a factor.
TEST_F(Fleet, WhatEndsDevicesIsFoundByHalves) {
  auto begun = begin();
  ASSERT_TRUE(begun) << begun.error().to_string();
  Planner& planner = **begun;
  const auto is_deadly = [](const Placed& one) {
    return to_string(one.point).find("rows=4") != std::string::npos;
  };
  int lost = 0;
  while (const auto batch = planner.next()) {
    if (batch->kind == Batch::Kind::points && std::ranges::any_of(batch->challengers, is_deadly)) {
      ++lost;
      ASSERT_TRUE(planner.lose(batch->number, "three devices ended with it"));
      continue;
    }
    const auto answer = measure(0, *batch);
    ASSERT_TRUE(answer) << answer.error().to_string();
    planner.take(answer->number, answer->measurement);
  }
  EXPECT_GT(lost, 0);
  const Outcome outcome = planner.outcome();
  expect_each_once(outcome);
  EXPECT_GT(outcome.failures, 0);
  for (const Trial& trial : trials_)
    EXPECT_EQ(!trial.failure.empty(), is_deadly({"", "", trial.point})) << to_string(trial.point);
}

TEST_F(Fleet, TextsThatAreNone) {
  for (const char* text :
       {"", "[]", "{}", R"({"kind": "points", "best": [], "challengers": [3]})",
        R"({"kind": "another", "best": [], "challengers": []})",
        R"({"kind": "points", "best": [{"key": "k", "class": "c", "point": "x"}]})"})
    EXPECT_FALSE(read_batch(text)) << text;
  for (const char* text : {"null", "{}", R"({"spent": [1, 2]})", R"({"spent": [1, 2, "3"]})",
                           R"({"spent": [1, 2, 3], "runBefore": [1], "points": []})",
                           R"({"spent": [1, 2, 3], "survey": 3, "points": []})",
                           R"({"spent": [1, 2, 3], "points": [{"before": [1], "after": []}]})"})
    EXPECT_FALSE(read_measurement(text)) << text;
  for (const char* text : {"3", R"({"adapter": "x", "spent": [0, 0, 0], "kernels": [{"kernel": 7,
                                "key": "k", "class": "c", "schedule": ""}]})"})
    EXPECT_FALSE(read_survey(text, {})) << text;
}

}  // namespace
}  // namespace gossamer::tune
