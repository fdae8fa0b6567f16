// The work of a definition grows with its data no faster than the textbook's: sixteen times the
// elements are sixteen times the terms, and a logarithm more where it sorts.
#include <gtest/gtest.h>

#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ops/test_case.h"
#include "rewrite/legalize_stages.h"
#include "stages/program.h"
#include "stages/state_update.h"

namespace gossamer::differential {
namespace {

using stages::Stage;

// Terms of all stages as the target runs them; extents that a run reads are `size`.
double work_of(const stages::Program& program, int64_t size) {
  ir::VarMap known;
  for (const ir::Var& var : stages::variables_of(program)) known[var.get()] = ir::index(size);
  const auto count = [&](const std::vector<ir::Expr>& extents) {
    double points = 1;
    for (const ir::Expr& extent : extents) {
      const auto number = ir::as_int(ir::simplify(ir::substitute(extent, known)));
      EXPECT_TRUE(number) << "an extent is not known";
      points *= static_cast<double>(number.value_or(0));
    }
    return points;
  };
  double work = 0;
  std::vector<double> rounds{1};  // of the blocks around
  for (const stages::Entry& entry : program) {
    if (const Stage* stage = entry.stage()) {
      // A table a row is filled once, before the row's points.
      const std::vector<ir::Expr> rows(stage->extents.begin(),
                                       stage->extents.end() - (stage->table ? 1 : 0));
      work +=
          stage->table
              ? rounds.back() * (count(rows) * count(stage->reduce_extents) + count(stage->extents))
              : rounds.back() * count(rows) * count(stage->reduce_extents);
    } else if (const stages::Step& step = *entry.step(); step.kind == stages::StepKind::loop) {
      rounds.push_back(rounds.back() * count({step.rounds}));
    } else if (step.kind == stages::StepKind::branch) {
      rounds.push_back(rounds.back());
    } else if (step.kind == stages::StepKind::end) {
      rounds.pop_back();
    }
  }
  return work;
}

ops::Case suppressing(int64_t boxes, int64_t most) {
  return {.name = "boxes",
          .shapes = {{1, boxes, 4}, {1, 1, boxes}},
          .inputs = {{}, {}, ops::int64s({1}, {most}), ops::floats({1}, {0.5f})}};
}

struct Growing {
  const char* op;
  std::function<ops::Case(int64_t size)> at;
};

const std::vector<Growing>& growing() {
  static const std::vector<Growing> all{
      {"CumSum",
       [](int64_t n) {
         return ops::Case{.name = "line", .shapes = {{n}}, .inputs = {{}, ops::int64s({}, {0})}};
       }},
      {"DFT", [](int64_t n) { return ops::Case{.name = "complex", .shapes = {{1, n, 2}}}; }},
      {"DFT",
       [](int64_t n) {  // 4,001 is a prime, 64,001 also has large ones
         return ops::Case{.name = "large primes", .shapes = {{1, n + 1, 1}}};
       }},
      {"STFT",
       [](int64_t n) {
         return ops::Case{.name = "one frame",
                          .shapes = {{1, n, 1}, {}, {-1}, {}},
                          .inputs = {{}, ops::int64s({}, {1}), {}, ops::int64s({}, {n})}};
       }},
      {"NonZero", [](int64_t n) { return ops::Case{.name = "line", .shapes = {{n}}}; }},
      {"Compress", [](int64_t n) { return ops::Case{.name = "line", .shapes = {{n}, {n}}}; }},
      {"Unique", [](int64_t n) { return ops::Case{.name = "line", .shapes = {{n}}}; }},
      {"ScatterND",
       [](int64_t n) {
         return ops::Case{.name = "quarter", .shapes = {{n}, {n / 4, 1}, {n / 4}}};
       }},
      {"ScatterND",
       [](int64_t n) {
         return ops::Case{.name = "sums of slices",
                          .shapes = {{n, 3}, {n / 4, 1}, {n / 4, 3}},
                          .attributes = {{"reduction", "add"}}};
       }},
      {"NonMaxSuppression", [](int64_t n) { return suppressing(n, 100); }},
      {"TopK",
       [](int64_t n) {
         return ops::Case{.name = "few", .shapes = {{n}}, .inputs = {{}, ops::int64s({1}, {20})}};
       }},
      {"TopK",
       [](int64_t n) {
         return ops::Case{
             .name = "half", .shapes = {{n}}, .inputs = {{}, ops::int64s({1}, {n / 2})}};
       }},
  };
  return all;
}

stages::Program defined(const char* op, const ops::Case& test) {
  const ops::OpDef& def = *ops::builtin_catalog().find("", op);
  ops::DefinedCase made =
      ops::define_case(def, test, ops::case_inputs(def, test), ops::output_count_of(def, test));
  EXPECT_TRUE(made.status);
  return std::move(made.builder->program);
}

double work_on(TargetKind target, const Growing& one, int64_t size) {
  stages::Program program = defined(one.op, one.at(size));
  rewrite::legalize_stages(program, target::capabilities_of(target));
  return work_of(program, size);
}

TEST(Work, GrowsAsTheTextbooks) {
  for (const Growing& one : growing()) {
    for (TargetKind target :
         {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu, TargetKind::webgl}) {
      const double small = work_on(target, one, 4000), large = work_on(target, one, 64000);
      EXPECT_LT(large / small, 16 * 1.7)
          << one.op << " " << one.at(1).name << " on " << name_of(target);
    }
  }
}

// A loop of n rounds that stacks rows: the work of all rounds is that of the stack.
TEST(Work, RowsOfLoopsAreWrittenAlone) {
  const auto work = [](TargetKind target, int64_t rounds) {
    const ir::Var round = ir::var("round");
    const ir::Buffer row = ir::buffer("row", ir::DType::f32, {ir::index(16)});
    const ir::Buffer all = ir::buffer("all", ir::DType::f32, {ir::index(rounds), ir::index(16)});
    stages::Program program;
    program.push_back(stages::loop_step(round, ir::index(rounds)));
    program.push_back(stages::row_stage("rows.row", all, round, row));
    program.push_back(stages::end_step());
    rewrite::legalize_stages(program, target::capabilities_of(target));
    return work_of(program, rounds);
  };
  for (const TargetKind target : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu})
    EXPECT_LE(work(target, 10'000), 16 * 10'000.0) << name_of(target);
}

// A round has launches and a wait.
TEST(Work, SuppressionTakesBoxesInBlocks) {
  double rounds = 0;
  for (const stages::Entry& entry : defined("NonMaxSuppression", suppressing(8400, 8400))) {
    if (const stages::Step* step = entry.step(); step && step->kind == stages::StepKind::loop)
      rounds += static_cast<double>(ir::as_int(ir::simplify(step->rounds)).value_or(8400));
  }
  EXPECT_LE(rounds, 40);
}

}  // namespace
}  // namespace gossamer::differential
