// The search for layouts on a machine that counts: where a conversion costs more than it saves, it
// finds layouts without; where chance or a bad candidate speaks, the rule's stay.
#include "tune/layout_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "onnx/model_writer.h"
#include "rewrite/winograd.h"
#include "tune/batch_text.h"
#include "tune/text.h"
#include "tune/tuner.h"
#include "tune/whole_search.h"

namespace gossamer::tune {
namespace {

using onnx::bytes_of;
using onnx::model;
using onnx::node;
using onnx::value;

// By the rule channels lie in vectors, and what leaves the model is copied: "unblock".
onnx::Message convolution() {
  const std::vector<float> ones(16 * 8 * 3 * 3, 1);
  return model({{value("x", {"1", "8", "18", "18"})},
                {node("Conv", {"x", "w"}, {"y"})},
                {value("y", {"1", "16", "16", "16"})},
                {onnx::tensor("w", 1, {16, 8, 3, 3}, ones)}});
}

int count_of(std::string_view word, std::string_view text) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

class CountingMachine : public Measurer {
 public:
  double conversion = 1;     // ms of one that a run makes; a run without any: 1
  double transforms = 0;     // ms of a convolution in another basis
  bool loads_others = true;  // than the rule's
  bool right_others = true;
  std::vector<double> lucky;  // times that come first, whatever runs
  // ms of a conversion among kernels, where runs tell otherwise.
  std::optional<double> kernels_conversion;
  int loads = 0, times = 0;

  Task<Result<int>> load(package::Files files) override {
    ++loads;
    std::string manifest;
    for (const package::File& file : files)
      if (file.name == "manifest.json")
        manifest.assign(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
    const Model made{count_of("\"unblock\"", manifest), count_of("\"conv.tiles\"", manifest),
                     count_of(R"("schedule":")", manifest)};
    if (!models_.empty() && made.conversions != models_[0].conversions && !loads_others)
      return fail("it does not load");
    models_.push_back(made);
    return static_cast<int>(models_.size()) - 1;
  }
  void free(int) override {}
  Task<Result<Timing>> profile(int model, int, const std::vector<int>&) override {
    Timing timing{"a machine that counts", ms_of(model), {}};
    for (int kernel = 0; kernel < at(model).kernels; ++kernel)
      timing.kernels.push_back({kernel, sum_of(model) / at(model).kernels, 0.5});
    return timing;
  }
  Task<Result<double>> time(int model, int) override {
    const auto turn = static_cast<size_t>(times++);
    return turn < lucky.size() ? lucky[turn] : ms_of(model);
  }
  Task<Result<>> check(int model) override {
    if (at(model).conversions != models_[0].conversions && !right_others)
      return fail("wrong numbers");
    return {};
  }

 private:
  struct Model {
    int conversions = 0, transforms = 0, kernels = 0;
  };
  const Model& at(int model) const { return models_[static_cast<size_t>(model)]; }
  double sum_of(int model) const {
    return kernels_conversion ? 1 + *kernels_conversion * at(model).conversions : ms_of(model);
  }
  double ms_of(int model) const {
    return 1 + conversion * at(model).conversions + transforms * at(model).transforms;
  }

  std::vector<Model> models_;
};

struct Searched {
  Result<Outcome> outcome;
  std::string lines;
  std::vector<LayoutTrial> trials;
};

// Of layouts alone, or of algorithms, too.
enum class Of : uint8_t { layouts, algorithms };

Searched search(CountingMachine& machine, const std::string& earlier = "", int trials = 40,
                Of of = Of::layouts) {
  Searched run{Outcome(), {}, {}};
  const Recorded recorded = read_records(earlier, "earlier");
  EXPECT_TRUE(recorded.left_out.empty());
  Options options;
  options.compile.target = "wasm";
  options.compile.winograd = of == Of::algorithms;
  options.compile.records = &recorded.records;
  options.known = recorded.trials;
  options.known_layouts = recorded.layout_trials;
  options.trials = trials;
  options.on_layout_trial = [&](const LayoutTrial& trial, const std::string& name) {
    run.lines += line_of(trial, name) + "\n";
    run.trials.push_back(trial);
  };
  options.on_better_layout = [&](const PlacedLayout& layout, const LayoutTrial& trial,
                                 const std::string& name) {
    run.lines += line_of(layout, trial, name) + "\n";
  };
  run.outcome = tune(bytes_of(convolution()), machine, options).now();
  return run;
}

// How many copies that change a layout the compiler makes with these records.
int conversions(const std::string& lines) {
  const Recorded recorded = read_records(lines, "found");
  const onnx::Message message = convolution();
  compiler::Options options;
  options.target = "wasm";
  options.records = &recorded.records;
  const auto files = compiler::compile(bytes_of(message), options);
  if (!files) return -1;
  return count_of("\"unblock\"", {reinterpret_cast<const char*>((*files)[0].bytes.data()),
                                  (*files)[0].bytes.size()});
}

TEST(LayoutSearch, FindsWhereAConversionCostsMoreThanItSaves) {
  ASSERT_EQ(conversions(""), 1);
  CountingMachine machine;
  const Searched run = search(machine);
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  ASSERT_EQ(run.outcome->layouts.size(), 1u);
  const TunedLayout& found = run.outcome->layouts[0];
  EXPECT_EQ(found.before, records::layout_along(1));
  EXPECT_EQ(found.name, "conv");
  EXPECT_NE(found.after, found.before);
  EXPECT_DOUBLE_EQ(run.outcome->run_ms_before, 2);
  EXPECT_DOUBLE_EQ(run.outcome->run_ms_after, 1);
  EXPECT_FALSE(run.outcome->layouts_given_up);
  EXPECT_EQ(conversions(run.lines), 0) << run.lines;
}

TEST(LayoutSearch, LeavesTheRuleAloneWhereItIsRight) {
  CountingMachine machine;
  machine.conversion = -0.5;
  const Searched run = search(machine);
  ASSERT_TRUE(run.outcome);
  EXPECT_GT(run.outcome->layout_trials, 0);
  EXPECT_TRUE(run.outcome->layouts.empty());
  EXPECT_EQ(conversions(run.lines), 1) << run.lines;
}

TEST(LayoutSearch, WhatWinsOnceByChanceIsNotTaken) {
  CountingMachine machine;
  machine.conversion = 0;
  machine.lucky = {2, 1, 2, 1, 2, 1, 2, 1};  // the first candidate, four turns
  const Searched run = search(machine);
  ASSERT_TRUE(run.outcome);
  EXPECT_TRUE(run.outcome->layouts.empty());
  EXPECT_EQ(run.lines.find("\"layout\":\"axis=3\",\"ms\""), std::string::npos);
}

TEST(LayoutSearch, RunsThatHideSlowerKernelsDoNotWin) {
  CountingMachine machine;
  machine.kernels_conversion = -0.5;  // kernels without any take twice as long
  const Searched run = search(machine);
  ASSERT_TRUE(run.outcome);
  EXPECT_TRUE(run.outcome->layouts.empty());
  EXPECT_EQ(run.lines.find("\"layout\":\"axis=3\",\"ms\""), std::string::npos);
  EXPECT_TRUE(std::ranges::any_of(run.trials, [](const auto& one) { return one.ratio == 2; }));
}

TEST(LayoutSearch, SlowerKernelsAreToldFromElsewhere) {
  Measurement made;
  made.kernels_ratio = 1.5;
  const auto read = read_measurement(to_json(made, 3), {});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->measurement.kernels_ratio, 1.5);
}

TEST(LayoutSearch, GoesOnPastBadCandidates) {
  for (const bool loads : {false, true}) {
    CountingMachine machine;
    machine.loads_others = loads;
    machine.right_others = !loads;
    const Searched run = search(machine);
    ASSERT_TRUE(run.outcome);
    EXPECT_GT(run.outcome->layout_failures, 0);
    EXPECT_TRUE(run.outcome->layouts.empty());
    EXPECT_FALSE(run.outcome->kernels.empty());
    EXPECT_TRUE(std::ranges::any_of(run.trials, [&](const LayoutTrial& trial) {
      return trial.failure == (loads ? "wrong numbers" : "it does not load");
    }));
  }
}

TEST(LayoutSearch, GoesOnWhereAnotherSearchEnded) {
  CountingMachine machine;
  const Searched first = search(machine);
  CountingMachine later;
  const Searched second = search(later, first.lines);
  ASSERT_TRUE(second.outcome);
  EXPECT_EQ(second.outcome->layouts.size(), 1u);
  std::set<std::string> seen;
  for (const auto* run : {&first, &second})
    for (const LayoutTrial& trial : run->trials)
      EXPECT_TRUE(seen.insert(line_of({trial.layouts, "", 0, 1, 0, ""}, "")).second);
  EXPECT_EQ(conversions(first.lines + second.lines), 0);
}

// Of one convolution: the algorithms that the rule did not choose, then layouts.
TEST(LayoutSearch, TriesAlgorithms) {
  CountingMachine machine;
  machine.transforms = -0.25;
  const Searched run = search(machine, "", 40, Of::algorithms);
  ASSERT_TRUE(run.outcome) << run.outcome.error().to_string();
  ASSERT_FALSE(run.outcome->layouts.empty());
  const TunedLayout& found = run.outcome->layouts[0];
  EXPECT_EQ(found.before, records::by_tiles_of(records::direct));
  EXPECT_EQ(found.after.of, records::StageChoice::Of::algorithm);
  EXPECT_NE(run.lines.find("\"algorithm\":\"winograd="), std::string::npos) << run.lines;
  // And takes none that is slower.
  CountingMachine other;
  other.transforms = 0.25;
  other.conversion = 0;
  const Searched slower = search(other, "", 40, Of::algorithms);
  ASSERT_TRUE(slower.outcome);
  EXPECT_GT(slower.outcome->layout_trials, 1);
  EXPECT_TRUE(slower.outcome->layouts.empty()) << slower.lines;
}

// A search that is over has no time for layouts, and one may do without.
TEST(LayoutSearch, HasItsShare) {
  CountingMachine machine;
  const Searched run = search(machine, "", 3);
  ASSERT_TRUE(run.outcome);
  EXPECT_EQ(run.outcome->layout_trials, 0);
  EXPECT_TRUE(run.lines.empty());
}

// The last comparison is of whole runs, with the model as the compiler makes it.
TEST(LayoutSearch, GoesBackWhereWholeRunsAreSlowerAtTheEnd) {
  CountingMachine machine;
  // Of the first two candidates' turns; then a conversion saves time.
  machine.conversion = -0.5;
  machine.kernels_conversion = 0;
  machine.lucky.assign(16, 1);
  for (size_t at = 0; at < machine.lucky.size(); at += 2) machine.lucky[at] = 2;
  const Searched run = search(machine, "", 4);
  ASSERT_TRUE(run.outcome);
  EXPECT_EQ(run.outcome->layouts.size(), 1u);
  EXPECT_TRUE(run.outcome->layouts_given_up);
  EXPECT_EQ(conversions(run.lines), 1) << run.lines;
}

// Two convolutions side by side: a conversion each. The first one computes more.
onnx::Message two_convolutions() {
  const std::vector<float> ones(32 * 8 * 3 * 3, 1);
  return model({{value("x", {"1", "8", "18", "18"})},
                {node("Conv", {"x", "w"}, {"y"}), node("Conv", {"x", "v"}, {"z"})},
                {value("y", {"1", "32", "16", "16"}), value("z", {"1", "16", "16", "16"})},
                {onnx::tensor("w", 1, {32, 8, 3, 3}, ones),
                 onnx::tensor("v", 1, {16, 8, 3, 3}, std::vector<float>(16 * 8 * 3 * 3, 1))}});
}

// Three devices at one search, with what goes between them as text.
class LayoutFleet : public testing::Test {
 protected:
  LayoutFleet() {
    options_.compile.target = "wasm";
    options_.compile.winograd = false;
    options_.trials = 60;
    options_.on_layout_trial = [&](const LayoutTrial& trial, const std::string& name) {
      lines_ += line_of(trial, name) + "\n";
      trials_.push_back(trial);
    };
    options_.on_better_layout = [&](const PlacedLayout& layout, const LayoutTrial& trial,
                                    const std::string& name) {
      lines_ += line_of(layout, trial, name) + "\n";
    };
  }

  void begin() {
    for (size_t at = 0; at < 3; ++at) {
      machines_.push_back(std::make_unique<CountingMachine>());
      compiler::Options there = options_.compile;
      there.records = nullptr;
      benches_.push_back(
          std::make_unique<Bench>(bytes_of(model_), *machines_.back(), there, never_));
      auto surveyed = benches_.back()->begin().now();
      ASSERT_TRUE(surveyed) << surveyed.error().to_string();
      if (search_) continue;
      auto seen = survey_without_times(bytes_of(model_), options_.compile);
      ASSERT_TRUE(seen);
      auto read = read_survey(to_json(*surveyed), *std::move(seen));
      ASSERT_TRUE(read) << read.error().to_string();
      search_ = std::make_unique<WholeSearch>(*std::move(read), options_);
    }
  }
  void answer(size_t bench, const Batch& batch) {
    const auto sent = read_batch(to_json(batch));
    ASSERT_TRUE(sent) << sent.error().to_string();
    const auto made = benches_[bench]->measure(*sent).now();
    ASSERT_TRUE(made) << made.error().to_string();
    std::vector<compiler::KernelReport> kernels;
    if (batch.kind == Batch::Kind::survey) {
      auto laid_out = kernels_in(batch.layouts, bytes_of(model_), options_.compile);
      ASSERT_TRUE(laid_out);
      kernels = *std::move(laid_out);
    }
    for (int time = 0; time < 2; ++time) {  // what was lost may answer after all
      auto read = read_measurement(to_json(*made, sent->number), kernels);
      ASSERT_TRUE(read) << read.error().to_string();
      ASSERT_TRUE(search_->take(read->number, std::move(read->measurement)));
    }
  }
  // The latest one first; each fifth is lost, and another device has it at another time.
  void run(const std::function<bool(const Batch&)>& is_deadly = {}) {
    std::vector<Batch> waiting;
    for (size_t turn = 0; !search_->is_over(); ++turn) {
      while (waiting.size() < benches_.size()) {
        auto batch = search_->next();
        ASSERT_TRUE(batch) << batch.error().to_string();
        if (!*batch) break;
        waiting.push_back(**std::move(batch));
      }
      ASSERT_FALSE(waiting.empty());
      if (waiting.back().kind == Batch::Kind::layouts) most_ = std::max(most_, waiting.size());
      if (turn % 5 == 4) {
        std::ranges::rotate(waiting, waiting.begin() + 1);
        continue;
      }
      const Batch batch = std::move(waiting.back());
      waiting.pop_back();
      if (is_deadly && is_deadly(batch)) {
        ASSERT_TRUE(search_->lose(batch.number, "three devices ended with it"));
      } else {
        answer(turn % benches_.size(), batch);
      }
    }
  }
  void expect_each_once() const {
    std::set<std::string> seen;
    for (const LayoutTrial& trial : trials_)
      EXPECT_TRUE(seen.insert(line_of({trial.layouts, "", 0, 1, 0, ""}, "")).second);
  }

  const onnx::Message model_ = two_convolutions();
  const std::function<bool()> never_;
  Options options_;
  std::string lines_;
  std::vector<LayoutTrial> trials_;
  std::vector<std::unique_ptr<CountingMachine>> machines_;
  std::vector<std::unique_ptr<Bench>> benches_;
  std::unique_ptr<WholeSearch> search_;
  size_t most_ = 0;  // batches of layouts at the same time
};

TEST_F(LayoutFleet, FindsWhatOneDeviceFinds) {
  begin();
  ASSERT_TRUE(search_);
  run();
  const Outcome outcome = search_->outcome();
  EXPECT_EQ(most_, 3u);
  EXPECT_EQ(outcome.layouts.size(), 2u);
  EXPECT_DOUBLE_EQ(outcome.run_ms_before, 3);
  EXPECT_DOUBLE_EQ(outcome.run_ms_after, 1);
  EXPECT_EQ(outcome.layout_failures, 0);
  EXPECT_EQ(outcome.layout_trials, static_cast<int>(trials_.size()));
  EXPECT_GT(outcome.trials, 0);
  EXPECT_FALSE(outcome.kernels.empty());
  expect_each_once();
  ASSERT_FALSE(trials_.empty());
  const auto least = std::ranges::min_element(trials_, {}, &LayoutTrial::ratio);
  EXPECT_NEAR(least->ratio, 1.0 / 3, 1e-9);
}

TEST_F(LayoutFleet, WhatTwoFindAtTheSameTimeIsTriedTogether) {
  options_.trials = 12;  // three candidates: each convolution alone, and both
  begin();
  ASSERT_TRUE(search_);
  while (!search_->is_over()) {
    std::vector<Batch> round;
    while (round.size() < 2) {
      auto batch = search_->next();
      ASSERT_TRUE(batch) << batch.error().to_string();
      if (!*batch) break;
      round.push_back(**std::move(batch));
    }
    ASSERT_FALSE(round.empty());
    for (size_t at = 0; at < round.size(); ++at) answer(at, round[at]);
  }
  ASSERT_EQ(trials_.size(), 3u);
  EXPECT_EQ(trials_.back().layouts.size(), 2u);
  EXPECT_EQ(search_->outcome().layouts.size(), 2u);
}

TEST_F(LayoutFleet, GoesOnWhereAnotherSearchEnded) {
  begin();
  ASSERT_TRUE(search_);
  run();
  const size_t first = trials_.size();
  const Recorded recorded = read_records(lines_, "earlier");
  options_.compile.records = &recorded.records;
  options_.known_layouts = recorded.layout_trials;
  search_.reset();
  benches_.clear();
  machines_.clear();
  begin();
  ASSERT_TRUE(search_);
  run();
  EXPECT_EQ(search_->outcome().layouts.size(), 2u);
  EXPECT_DOUBLE_EQ(search_->outcome().run_ms_after, 1);
  EXPECT_LT(trials_.size() - first, static_cast<size_t>(options_.trials) / 4);
  expect_each_once();
}

TEST_F(LayoutFleet, WhatEndsDevicesIsRecorded) {
  begin();
  ASSERT_TRUE(search_);
  const auto is_of_last_axis = [](const std::vector<PlacedLayout>& layouts) {
    return std::ranges::any_of(
        layouts, [](const PlacedLayout& one) { return one.choice == records::layout_along(3); });
  };
  run([&](const Batch& batch) {
    return batch.kind == Batch::Kind::layouts && is_of_last_axis(batch.others);
  });
  const Outcome outcome = search_->outcome();
  EXPECT_GT(outcome.layout_failures, 0);
  EXPECT_EQ(outcome.layouts.size(), 2u);
  for (const TunedLayout& one : outcome.layouts) EXPECT_NE(one.after, records::layout_along(3));
  for (const LayoutTrial& trial : trials_)
    EXPECT_EQ(!trial.failure.empty(), is_of_last_axis(trial.layouts));
}

TEST(LayoutSearch, LinesThatAreNoneAreLeftOut) {
  const Recorded read = read_records(
      "{\"key\":\"a\",\"class\":\"wasm\",\"layout\":\"axis=2\"}\n"
      "{\"key\":\"a\",\"class\":\"wasm\",\"layout\":\"sideways\"}\n"
      "{\"class\":\"wasm\",\"layout\":\"plain\"}\n"
      "{\"key\":\"a\",\"class\":\"wasm\",\"layout\":7}\n"
      "{\"class\":\"wasm\",\"layouts\":3,\"adapter\":\"x\"}\n"
      "{\"class\":\"wasm\",\"layouts\":[3],\"adapter\":\"x\"}\n"
      "{\"class\":\"wasm\",\"layouts\":[{\"key\":\"a\",\"layout\":\"plain\"}],\"adapter\":\"x\"}\n"
      "{\"class\":\"wasm\",\"layouts\":[],\"adapter\":\"x\",\"ratio\":0.5}\n",
      "here");
  EXPECT_EQ(read.left_out.size(), 6u);
  EXPECT_EQ(read.left_out.front().where, "here:2");
  EXPECT_EQ(read.layout_trials.size(), 1u);
}

TEST(LayoutSearch, BatchesSayTheirLayouts) {
  Batch batch;
  batch.kind = Batch::Kind::layouts;
  batch.layouts = {{"a", "wasm", records::layout_along(3)},
                   {"b", "wasm", records::layout_along(-1)},
                   {"c", "wasm", records::by_tiles_of(4)}};
  batch.others = {{"c", "wasm", records::layout_along(0)}};
  const auto read = read_batch(to_json(batch));
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->layouts.size(), 3u);
  EXPECT_EQ(read->layouts[0].choice, records::layout_along(3));
  EXPECT_EQ(read->layouts[1].key, "b");
  EXPECT_EQ(read->layouts[1].choice, records::layout_along(-1));
  EXPECT_EQ(read->layouts[2].choice, records::by_tiles_of(4));
  EXPECT_EQ(read->kind, Batch::Kind::layouts);
  ASSERT_EQ(read->others.size(), 1u);
  EXPECT_EQ(read->others[0].key, "c");
  EXPECT_FALSE(read_batch(
      R"({"kind": "layouts", "best": [], "challengers": [], "layouts": [{"key": "a"}]})"));
}

}  // namespace
}  // namespace gossamer::tune
