// Random schedules of small stages: whatever the primitives accept and lower() takes for a kernel
// computes what the stage says, and its trace makes it again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/pipeline.h"
#include "interp/eval.h"
#include "interp/stages.h"
#include "ir/build.h"
#include "ir/print.h"
#include "schedule/lower.h"
#include "schedule/trace.h"

namespace gossamer::differential {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Var;
using schedule::LoopId;
using schedule::Schedule;
using schedule::Tail;
using stages::Stage;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2654435761u + 17) {}
  int64_t below(int64_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(limit));
  }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }

 private:
  uint64_t state_;
};

// A stage of two axes and up to two reduction axes; the first axis may be a dimension.
struct Example {
  Stage stage;
  Var n;
  int64_t extent;  // of n

  explicit Example(Random& random) : n(ir::var("n")), extent(1 + random.below(9)) {
    const int64_t columns = 1 + random.below(12);
    const Expr rows = random.below(3) == 0 ? Expr(n) : index(extent);
    const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k"), w = ir::var("w");
    const int64_t deep = 1 + random.below(11), wide = 1 + random.below(3);
    const Buffer a = ir::buffer("A", DType::f32, {rows, index(deep + wide)});
    const Buffer b = ir::buffer("B", DType::f32, {index(deep), index(columns)});
    const Buffer c = ir::buffer("C", DType::f32, {rows, index(columns)});
    if (random.below(2) == 0)
      const_cast<ir::BufferNode*>(c.get())->layout.axes = {{0, 1, 0}, {1, 4, 0}, {1, 1, 4}};
    stage.name = "fuzz";
    stage.output = c;
    stage.axes = {i, j};
    stage.extents = c->shape;
    const int64_t form = random.below(5);
    if (form == 4) {
      running(ir::load(a, {i, index(1)}) + ir::load(b, {index(0), j}), random);
      return;
    }
    if (form == 0) {
      stage.result = ir::load(a, {i, index(0)}) + ir::load(b, {index(0), j});
      return;
    }
    stage.kind = stages::StageKind::reduce;
    stage.reduce_axes = {k};
    stage.reduce_extents = {index(deep)};
    if (form == 2) {
      stage.reduce_axes.push_back(w);
      stage.reduce_extents.push_back(index(wide));
    }
    const Expr x = form == 2 ? ir::load(a, {i, Expr(k) + Expr(w)}) : ir::load(a, {i, k});
    const Expr term = x * ir::load(b, {k, j});
    const Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    stages::Accumulators& accumulators = stage.accumulators;
    if (form < 3) {
      accumulators = {stages::sum_accumulator(left, right)};
      stage.values = {term};
      stage.result = Expr(left) * 2.0;
      return;
    }
    // The greatest term and the sum of all.
    const Var sum = ir::var("sum", DType::f32), more = ir::var("more", DType::f32);
    accumulators = {{left, right, ir::max(left, right), ir::lowest(DType::f32)},
                    {sum, more, Expr(sum) + Expr(more), ir::constant(DType::f32, 0)}};
    stage.values = {term, x};
    stage.result = Expr(left) + Expr(sum) * 16.0;
  }

  // Running sums along either axis, perhaps in segments that start from what is before them.
  void running(const Expr& term, Random& random) {
    stage.kind = stages::StageKind::scan;
    stage.along = static_cast<size_t>(random.below(2));
    stage.segment = random.below(2) * (1 + random.below(4));
    const Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
    stage.accumulators = {stages::sum_accumulator(left, right)};
    stage.values = {term};
    stage.result = Expr(left) * 2.0;
    if (stage.segment == 0) return;
    std::vector<Expr> shape = stage.extents, at{stage.axes.begin(), stage.axes.end()};
    const Expr segment = index(stage.segment);
    shape[stage.along] = ir::floordiv(shape[stage.along] + segment - index(1), segment);
    at[stage.along] = ir::floordiv(at[stage.along], segment);
    stage.starts = {ir::load(ir::buffer("D", DType::f32, shape), at)};
  }
};

// Some primitives with random arguments; those refused change nothing.
void play(Schedule& s, Random& random) {
  for (int64_t moves = random.below(14); moves > 0; --moves) {
    std::vector<LoopId> loops;
    for (const schedule::Walk& walk : s.nest().walks)
      loops.insert(loops.end(), walk.order.begin(), walk.order.end());
    const std::string before = schedule::to_string(s);
    bool done = false;
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2: {
        std::vector<int64_t> factors{1 + random.below(5)};
        if (random.below(3) == 0) factors.push_back(1 + random.below(4));
        const std::vector<std::string> names(factors.size() + 1, "part");
        const LoopId loop = random.of(loops);
        const Tail tail =
            s.nest().loop(loop).reduction ? Tail::guard : static_cast<Tail>(random.below(5));
        done = s.split(loop, factors, tail, names).has_value();
        break;
      }
      case 3: {
        const auto first = random.below(static_cast<int64_t>(s.order().size()));
        std::vector<LoopId> some(s.order().begin() + first, s.order().end());
        some.resize(std::min<size_t>(some.size(), static_cast<size_t>(1 + random.below(3))));
        done = s.fuse(some, "fused").has_value();
        break;
      }
      case 4:
      case 5: {
        std::vector<LoopId> some;
        for (LoopId loop : s.order()) {
          some.insert(some.begin() + random.below(static_cast<int64_t>(some.size()) + 1), loop);
        }
        if (random.below(2) == 0) {  // the reduction innermost
          std::ranges::sort(some, {}, [&](LoopId id) { return s.nest().loop(id).reduction; });
        }
        done = s.reorder(some).has_value();
        break;
      }
      case 6:
        done = s.unroll({random.of(loops)}).has_value();
        break;
      case 7:
        done = s.rfactor(random.of(loops)).has_value();
        break;
      case 8:
        done = s.accumulate(random.of(loops)).has_value();
        break;
      case 9:
        done = s.peel(random.of(loops)).has_value();
        break;
      default:
        break;
    }
    if (!done) EXPECT_EQ(schedule::to_string(s), before);
  }
}

// What a kernel needs at least.
void complete(Schedule& s, Random& random) {
  const Stage& stage = s.stage();
  if (stage.kind == stages::StageKind::scan && stage.segment > 0)
    (void)s.split(s.axis(stage.along), {stage.segment}, Tail::guard, {"segment", "point"});
  const auto in_reduction = [&](LoopId id) {
    return s.nest().loop(id).reduction || s.nest().loop(id).carried;
  };
  if (stage.kind != stages::StageKind::compute && !s.nest().accumulates)
    (void)s.accumulate(*std::ranges::find_if(s.order(), in_reduction));
  for (LoopId id : s.order()) {
    if (s.nest().loop(id).partial) (void)s.vectorize(id);
  }
  if (random.below(2) == 0) (void)s.vectorize(s.order().back());
  LoopId grid = s.order()[0];
  if (s.nest().outside().empty() || random.below(4) == 0) grid = *s.unit("item");
  if (random.below(3) == 0) {
    if (const auto parts = s.split(grid, {4}, Tail::guard, {"item", "invocation"})) {
      grid = (*parts)[0];
      (void)s.bind((*parts)[1], ir::LoopKind::group);
    }
  }
  (void)s.bind(grid, ir::LoopKind::grid);
}

// Small whole numbers, so that sums come out the same in any order.
std::vector<double> numbers(int64_t count, int64_t step) {
  std::vector<double> result;
  for (int64_t k = 0; k < count; ++k) result.push_back(static_cast<double>(k * step % 7) - 3);
  return result;
}

TEST(ScheduleFuzz, KernelsComputeWhatTheStageSays) {
  const int count = std::getenv("GOSSAMER_FUZZ") ? std::atoi(std::getenv("GOSSAMER_FUZZ")) : 1000;
  int lowered = 0, peeled = 0, partial = 0, running = 0, failures = 0;
  for (int seed = 1; seed <= count && failures < 3; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const auto target = random.below(2) == 0 ? TargetKind::wasm : TargetKind::webgpu;
    const Example example(random);
    Schedule s(example.stage, target::capabilities_of(target), "random");
    play(s, random);
    if (random.below(3) == 0) {
      for (const LoopId loop : std::vector(s.order())) (void)s.peel(loop);
      play(s, random);
    }
    complete(s, random);
    const auto kernel = schedule::lower(s);
    if (!kernel) continue;
    ++lowered;
    const std::string text = schedule::to_string(s);
    peeled += text.find("peel(") != std::string::npos ? 1 : 0;
    partial += text.find("rfactor(") != std::string::npos ? 1 : 0;
    running += example.stage.kind == stages::StageKind::scan ? 1 : 0;
    const auto fail = [&](const std::string& why) {
      ADD_FAILURE() << "seed " << seed << ": " << why << "\n"
                    << text << "\n"
                    << stages::print(example.stage) << ir::print(*kernel);
      ++failures;
    };
    const auto again = schedule::parse_schedule(example.stage, s.capabilities(), text);
    if (!again) {
      fail(again.error().to_string());
      continue;
    }
    if (ir::print(*schedule::lower(*again)) != ir::print(*kernel)) fail("its trace makes another");

    interp::Values values;
    interp::Memory memory;
    const bool dynamic = !kernel->scalars.empty();
    const std::vector<int64_t> scalars(kernel->scalars.size(), example.extent);
    for (const ir::Kernel::Param& param : kernel->params) {
      if (param.written) continue;
      const std::vector<int64_t> extents = interp::extents_of(*param.buffer, *kernel, scalars);
      const std::vector<double> data =
          numbers(extents[0] * extents[1], param.buffer->name == "A" ? 5 : 3);
      memory[param.buffer.get()] = interp::pack(*param.buffer, extents, data);
      values[param.buffer.get()] =
          ops::floats(extents, std::vector<float>(data.begin(), data.end()));
    }
    const interp::Variables variables{
        {example.n.get(), ir::Scalar::of_int(DType::index, example.extent)}};
    ASSERT_TRUE(interp::run_stage(example.stage, values, variables));
    const auto ran = interp::run(*kernel, memory, scalars);
    if (!ran) {
      fail(ran.error().to_string());
      continue;
    }
    const ir::BufferNode* output = kernel->params.back().buffer.get();
    const ops::TensorData& wanted = values[output];
    const std::vector<double> got = interp::unpack(*output, wanted.shape, memory[output]);
    for (size_t k = 0; k < got.size(); ++k) {
      const double want = interp::element(wanted, static_cast<int64_t>(k)).as_double();
      if (got[k] == want) continue;
      fail(cat("element ", k, " is ", got[k], ", not ", want, dynamic ? " (dynamic)" : ""));
      break;
    }
    // The passes establish on it what they promise.
    if (auto passed = compiler::run_pipeline(*kernel, target); !passed)
      fail(passed.error().to_string());
  }
  EXPECT_GT(lowered, count / 4);
  EXPECT_GT(peeled, 0);
  EXPECT_GT(partial, 0);
  EXPECT_GT(running, 0);
  std::printf("%d of %d random schedules are kernels, %d peel, %d rfactor and %d scan\n", lowered,
              count, peeled, partial, running);
}

}  // namespace
}  // namespace gossamer::differential
