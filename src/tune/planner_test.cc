// A search on several devices, whose batches travel as text.
#include "tune/planner.h"

#include "tune/batch_text.h"
#include "tune/formula_machine.h"

namespace gossamer::tune {
namespace {

using onnx::bytes_of;

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
  const auto is_deadly = [](const Placed& one) { return factor_of(one.point, "row") == 4; };
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
