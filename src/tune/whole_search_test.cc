// When batches and comparisons of whole models begin and end.
#include "tune/whole_search.h"

#include <functional>

#include "tune/formula_machine.h"

namespace gossamer::tune {
namespace {

using onnx::bytes_of;
using onnx::model;
using onnx::node;
using onnx::value;

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

// The survey ends with its share of the time; then one batch is measured and compared.
TEST(WholeSearch, TheSurveyTakesItsTime) {
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
TEST(WholeSearch, ABatchBeginsIfItEndsInTime) {
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
TEST(WholeSearch, WhatDoesNotHoldGoesBack) {
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
TEST(WholeSearch, ComparisonsEndSoonAfterTheSecondsDo) {
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

}  // namespace
}  // namespace gossamer::tune
