// Which stages share a launch, and the loops that they then are.
#include <gtest/gtest.h>

#include "autoschedule/default_schedule.h"
#include "autoschedule/row_schedule.h"
#include "autoschedule/test_stages.h"
#include "autoschedule/tiling.h"
#include "group/group_stages.h"

namespace gossamer::group {
namespace {

using autoschedule::ScheduledGroup;
using autoschedule::Tiling;
using autoschedule::wasm;
using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::Var;
using schedule::Point;
using stages::Group;
using stages::Stage;
using target::Capabilities;

const Capabilities cpu = target::capabilities_of(TargetKind::cpu);
const Capabilities webgpu = target::capabilities_of(TargetKind::webgpu);

Capabilities with_hardware() {
  Capabilities caps = webgpu;
  caps.hardware = true;
  return caps;
}

// sums[i] = sum over k of a[i, k]
Stage row_sum(const Buffer& a, const Buffer& sums) {
  const Var i = ir::var("i"), k = ir::var("k");
  return autoschedule::sum(sums, {i}, {k}, {a->shape[1]}, ir::load(a, {i, k}));
}

// Each row divided by its sum.
struct Rows {
  Buffer a, sums, c;
  Stage total, quotient;
  explicit Rows(Expr rows, Expr columns)
      : a(ir::buffer("A", DType::f32, {rows, columns})),
        sums(ir::buffer("S", DType::f32, {rows})),
        c(ir::buffer("C", DType::f32, {rows, columns})),
        total(row_sum(a, sums)) {
    const Var i = ir::var("i"), j = ir::var("j");
    quotient = autoschedule::map("quotient", c, {i, j}, ir::load(a, {i, j}) / ir::load(sums, {i}));
  }
  stages::Program program() const { return {total, quotient}; }
};

// "total + quotient; other" of the launches.
std::string grouped(const stages::Program& program, std::set<const ir::BufferNode*> kept,
                    const Capabilities& caps = wasm,
                    std::set<const ir::BufferNode*> constants = {}) {
  std::string text;
  for (const Launched& one : group_stages(program, {std::move(kept), std::move(constants)}, caps)) {
    const auto* group = std::get_if<Group>(&one);
    text += cat(text.empty() ? "" : "; ", group ? title_of(*group) : "step");
  }
  return text;
}

Group only_group(const stages::Program& program, const Buffer& output, const Capabilities& caps) {
  return std::get<Group>(group_stages(program, {{output.get()}, {}}, caps)[0]);
}

// The loops of the default schedules, which read back.
std::string loops(const Group& group, const Capabilities& caps) {
  const ScheduledGroup made = autoschedule::schedule_default(group, caps);
  const auto read = schedule::parse_schedules(group, caps, to_string(made.schedules));
  EXPECT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(ir::print(*lower(group, *read)), ir::print(made.kernel));
  const auto verified =
      ir::verify(made.kernel, static_cast<ir::Properties>(ir::Property::scheduled));
  EXPECT_TRUE(verified) << verified.error().to_string();
  return ir::print(made.kernel);
}

// Columns that a run tells are skipped past their end, not computed again, so that the squares lie
// where the quotients will.
// Two windows of the same images, summed: each by itself has vectors along the images' rows, which
// are not whole vectors, so that one launch of both would have none.
TEST(GroupStages, WindowsThatHaveVectorsStayApart) {
  for (const Expr& width : {ir::index(30), Expr(ir::var("w"))}) {
    const Buffer a = ir::buffer("A", DType::f32, {ir::index(64), width + ir::index(2)});
    const auto window = [&](const char* name, const Stage* other) {
      const Buffer w = ir::buffer("W", DType::f32, {ir::index(64), ir::index(3)});
      const Var c = ir::var("c"), x = ir::var("x"), k = ir::var("k");
      Stage stage =
          autoschedule::sum(ir::buffer(name, DType::f32, {ir::index(64), width}), {c, x}, {k},
                            {ir::index(3)}, ir::load(a, {c, Expr(x) + k}) * ir::load(w, {c, k}));
      stage.name = name;
      if (other) stage.result = stage.result + ir::load(other->output, {c, x});
      return stage;
    };
    const Stage one = window("one", nullptr), both = window("both", &one);
    EXPECT_EQ(grouped({one, both}, {both.output.get()}), "one; both");
    EXPECT_EQ(grouped({one, both}, {both.output.get()}, cpu), "one; both");
  }
}

// Sums over neighbouring channels and rows: launched alone, each has vectors of channels, also
// where the channels of a sum are half a block.
TEST(GroupStages, SumsOfBlockedChannelsStayApart) {
  const int lanes = cpu.vector_lanes;
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(64), ir::index(30)});
  const_cast<ir::BufferNode*>(a.get())->layout = {
      .axes = {{0, lanes, 0}, {1, 1, 0}, {0, 1, lanes}}};
  for (const int channels : {lanes, lanes / 2}) {
    const auto over_channels = [&](const char* name, const Stage* mean) {
      const Var g = ir::var("g"), c = ir::var("c"), x = ir::var("x");
      Expr term = ir::load(a, {g * ir::index(channels) + c, x});
      if (mean) term = term - ir::load(mean->output, {g});
      Stage stage = autoschedule::sum(ir::buffer(name, DType::f32, {ir::index(64 / channels)}), {g},
                                      {c, x}, {ir::index(channels), ir::index(30)}, term);
      stage.name = name;
      return stage;
    };
    const Stage mean = over_channels("mean", nullptr), spread = over_channels("spread", &mean);
    EXPECT_EQ(grouped({mean, spread}, {spread.output.get()}, cpu), "mean; spread");
    const Tiling tiling = autoschedule::default_tiling(spread, cpu);
    EXPECT_TRUE(tiling.partial);
    EXPECT_EQ(tiling.reduce_axis, 0);
    EXPECT_EQ(tiling.reduce_block, channels);
  }
}

TEST(Groups, SharesMemoryOfOpenRows) {
  const Var n = ir::var("n"), m = ir::var("m"), i = ir::var("i"), j = ir::var("j");
  const Rows rows(n, m);
  const Buffer squares = ir::buffer("Q", DType::f32, {n, m});
  const Expr a = ir::load(rows.a, {i, j});
  const stages::Program program{
      row_sum(rows.a, rows.sums),
      autoschedule::map("squares", squares, {i, j}, a * ir::load(rows.sums, {i})),
      autoschedule::map("last", rows.c, {i, j},
                        ir::load(squares, {i, j}) - ir::load(rows.sums, {i}))};
  const Group group = only_group(program, rows.c, cpu);
  EXPECT_EQ(title_of(group), "sum + squares + last");
  EXPECT_EQ(outputs_of(group).size(), 1U);
}

TEST(Groups, StagesOverTheSameRows) {
  const Rows rows(ir::index(6), ir::index(10));
  EXPECT_EQ(grouped(rows.program(), {rows.c.get()}), "sum + quotient");
  EXPECT_EQ(loops(only_group(rows.program(), rows.c, cpu), cpu),
            R"(kernel sum___quotient(A: f32[6, 10], write C: f32[6, 10]) {
  grid item in 0..6 {
    alloc row0: f32[1, 1]
    alloc acc: f32[1, 1] {
      acc[0, 0] = 0.0
      for k in 0..10 {
        acc[0, 0] = acc[0, 0] + A[item, k]
      }
      row0[0, 0] = acc[0, 0]
    }
    for j in 0..10 {
      C[item, j] = A[item, j] / row0[0, 0]
    }
  }
}
)");
}

TEST(Groups, InvocationsShareARow) {
  const Rows rows(ir::index(6), ir::index(64));
  EXPECT_EQ(loops(only_group(rows.program(), rows.c, with_hardware()), with_hardware()),
            R"(kernel sum___quotient(A: f32[6, 64], write C: f32[6, 64]) {
  grid item in 0..2 {
    group invocation in 0..64 {
      alloc row0: f32[1, 1]
      let row: index = invocation // 16 {
        let thread: index = invocation % 16
        let i: index = item * 4 + row
        alloc acc.shared: f32[64] group
        alloc acc: f32[1, 4]
        vectorized lane in 0..4 {
          acc[0, lane] = 0.0
        }
        vectorized lane in 0..4 {
          acc[0, lane] = acc[0, lane] + A[i, thread * 4 + lane]
        }
        let parts0: f32x4 = acc[0, ramp(0, 1, 4)]
        let total0: f32 = lane(parts0, 0) + lane(parts0, 1)
        let total0_1: f32 = total0 + lane(parts0, 2)
        let total0_2: f32 = total0_1 + lane(parts0, 3)
        acc.shared[invocation] = total0_2
        barrier group
        if thread < 8 {
          let joined0: f32 = acc.shared[invocation] + acc.shared[invocation + 8]
          acc.shared[invocation] = joined0
        }
        barrier group
        if thread < 4 {
          let joined0_1: f32 = acc.shared[invocation] + acc.shared[invocation + 4]
          acc.shared[invocation] = joined0_1
        }
        barrier group
        if thread < 2 {
          let joined0_2: f32 = acc.shared[invocation] + acc.shared[invocation + 2]
          acc.shared[invocation] = joined0_2
        }
        barrier group
        if thread < 1 {
          let joined0_3: f32 = acc.shared[invocation] + acc.shared[invocation + 1]
          acc.shared[invocation] = joined0_3
        }
        barrier group
        row0[0, 0] = acc.shared[invocation - thread]
      }
      let row_1: index = invocation // 16
      let thread_1: index = invocation % 16
      let i_1: index = item * 4 + row_1
      if item * 4 + row_1 < 6 {
        vectorized lane_1 in 0..4 {
          C[i_1, thread_1 * 4 + lane_1] = A[i_1, thread_1 * 4 + lane_1] / row0[0, 0]
        }
      }
    }
  }
}
)");
}

TEST(Groups, WhatCutsThem) {
  const Rows rows(ir::index(6), ir::index(10));
  // One written buffer a kernel, and textures that cannot be read back.
  EXPECT_EQ(grouped(rows.program(), {rows.c.get()}, target::capabilities_of(TargetKind::webgl)),
            "sum; quotient");
  // A sum of constants runs once, at load.
  stages::Program at_load = rows.program();
  const Buffer b = ir::buffer("B", DType::f32, {ir::index(6), ir::index(10)});
  const Var i = ir::var("i"), j = ir::var("j");
  at_load[1] =
      autoschedule::map("quotient", rows.c, {i, j}, ir::load(b, {i, j}) / ir::load(rows.sums, {i}));
  EXPECT_EQ(grouped(at_load, {rows.c.get()}, wasm, {rows.a.get()}), "sum; quotient");
  // Another row's sum.
  stages::Program shifted = rows.program();
  shifted[1] =
      autoschedule::map("quotient", rows.c, {i, j},
                        ir::load(rows.a, {i, j}) / ir::load(rows.sums, {ir::index(5) - Expr(i)}));
  EXPECT_EQ(grouped(shifted, {rows.c.get()}), "sum; quotient");
  // Somebody between them reads the sums.
  stages::Program between = rows.program();
  const Buffer d = ir::buffer("D", DType::f32, {ir::index(3)});
  between.insert(between.begin() + 1,
                 autoschedule::map("other", d, {i}, ir::load(rows.sums, {Expr(i) + ir::index(3)})));
  EXPECT_EQ(grouped(between, {rows.c.get(), d.get()}), "sum; other; quotient");
  // A product is worth more as one.
  const Stage product = autoschedule::product();
  const Var m = ir::var("m"), n = ir::var("n");
  const Buffer scaled = ir::buffer("E", DType::f32, {ir::index(6), ir::index(8), ir::index(2)});
  const Var p = ir::var("p");
  EXPECT_EQ(grouped({product, autoschedule::map("scaled", scaled, {m, n, p},
                                                ir::load(product.output, {m, n}) * 2.0)},
                    {scaled.get()}),
            "sum; scaled");
  // Few and long rows would leave most of a machine idle.
  const Rows few(ir::index(2), ir::index(100'000));
  EXPECT_EQ(grouped(few.program(), {few.c.get()}), "sum; quotient");
  // A number of rows that a run tells may be one.
  const Rows open(ir::var("n"), ir::index(100'000)), narrow(ir::var("n"), ir::index(1000));
  EXPECT_EQ(grouped(open.program(), {open.c.get()}), "sum; quotient");
  EXPECT_EQ(grouped(narrow.program(), {narrow.c.get()}), "sum + quotient");
  // Of columns that a run tells there are about as many as an estimate says.
  const Rows wide(ir::index(2), Expr(ir::var("n")) * ir::index(1000)),
      short_rows(ir::index(2), ir::var("n"));
  EXPECT_EQ(grouped(wide.program(), {wide.c.get()}), "sum; quotient");
  EXPECT_EQ(grouped(short_rows.program(), {short_rows.c.get()}), "sum + quotient");
  // 2 x 40,000 rounds are more than an invocation may have on GPUs; vectors have a quarter of them.
  const Rows odd(ir::index(512), ir::index(40'001)), even(ir::index(512), ir::index(40'000));
  EXPECT_EQ(grouped(odd.program(), {odd.c.get()}), "sum + quotient");
  EXPECT_EQ(grouped(odd.program(), {odd.c.get()}, webgpu), "sum; quotient");
  EXPECT_EQ(grouped(even.program(), {even.c.get()}, webgpu), "sum + quotient");
}

// 32 invocations of a GPU that walk 30,000 points each take longer than the launches they save.
// A sum for each square of 2 x 2 points that read it: no vector fits, but alone both stages have
// vectors.
TEST(Groups, SquaresOfPointsAreAlone) {
  const auto launches = [](const Capabilities& caps) {
    const Buffer a = ir::buffer("A", DType::f32, {ir::index(8), ir::index(8), ir::index(5)});
    const Buffer sums = ir::buffer("S", DType::f32, {ir::index(8), ir::index(8)});
    const Buffer b = ir::buffer("B", DType::f32, {ir::index(16), ir::index(16)});
    const Buffer c = ir::buffer("C", DType::f32, {ir::index(16), ir::index(16)});
    const Var y = ir::var("y"), x = ir::var("x"), k = ir::var("k");
    const Stage total =
        autoschedule::sum(sums, {y, x}, {k}, {ir::index(5)}, ir::load(a, {y, x, k}));
    const Expr nearest = ir::load(sums, {ir::floordiv(y, 2), ir::floordiv(x, 2)});
    const Stage scaled = autoschedule::map("scaled", c, {y, x}, ir::load(b, {y, x}) * nearest);
    return grouped({total, scaled}, {c.get()}, caps);
  };
  EXPECT_EQ(launches(cpu), "sum; scaled");
  EXPECT_EQ(launches(wasm), "sum; scaled");
  EXPECT_EQ(launches(webgpu), "sum + scaled");
}

TEST(Groups, RowsOfFewInvocationsAreCutOnHardware) {
  const auto columns_of = [](int64_t channels, int64_t points) {
    const Buffer a = ir::buffer("A", DType::f32, {ir::index(points), ir::index(channels)}),
                 sums = ir::buffer("S", DType::f32, {ir::index(channels)}),
                 c = ir::buffer("C", DType::f32, {ir::index(points), ir::index(channels)});
    const Var i = ir::var("i"), k = ir::var("k"), p = ir::var("p"), q = ir::var("q");
    const stages::Program program{
        autoschedule::sum(sums, {i}, {k}, {ir::index(points)}, ir::load(a, {k, i})),
        autoschedule::map("quotient", c, {p, q}, ir::load(a, {p, q}) / ir::load(sums, {q}))};
    const Capabilities hardware = with_hardware();
    std::string text;
    for (const Launched& one : group_stages(program, {{c.get()}, {}}, webgpu, &hardware))
      text += title_of(std::get<Group>(one)) + ";";
    EXPECT_EQ(grouped(program, {c.get()}, webgpu), "sum + quotient");
    EXPECT_EQ(grouped(program, {c.get()}, hardware) + ";",
              text == "sum + quotient;" ? text : "sum; quotient;");
    return text;
  };
  EXPECT_EQ(columns_of(128, 30'000), "sum;quotient;");
  EXPECT_EQ(columns_of(128, 65), "sum;quotient;");
  EXPECT_EQ(columns_of(128, 64), "sum + quotient;");
  EXPECT_EQ(columns_of(65536, 500), "sum + quotient;");
  // Invocations share rows that lie along memory.
  const Rows shared(ir::index(128), ir::index(40'000)), few(ir::index(96), ir::index(40'000));
  EXPECT_EQ(grouped(shared.program(), {shared.c.get()}, with_hardware()), "sum + quotient");
  EXPECT_EQ(grouped(few.program(), {few.c.get()}, with_hardware()), "sum; quotient");
}

// Products with one row are reductions of rows like others, unless a factor is decoded.
TEST(Groups, DecodedProductsAreAlone) {
  const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k");
  // One product, and another one that is multiplied by its results.
  const auto launches = [&](const Stage& gate) {
    Stage up = gate;
    up.output = ir::buffer("D", DType::f32, gate.extents);
    up.result = up.result * ir::load(gate.output, {up.axes[0], up.axes[1]});
    return grouped({gate, up}, {up.output.get()}, with_hardware());
  };
  const Stage decoded = autoschedule::decoded_product(ir::index(1), ir::index(2048), ir::index(64));
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(1), ir::index(2048)});
  const Buffer b = ir::buffer("B", DType::f32, {ir::index(64), ir::index(2048)});
  EXPECT_EQ(launches(autoschedule::sum(decoded.output, {i, j}, {k}, {ir::index(2048)},
                                       ir::load(a, {i, k}) * ir::load(b, {j, k}))),
            "sum + sum");
  EXPECT_EQ(launches(decoded), "sum; sum");
}

TEST(Groups, MapsOverTheSamePoints) {
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(8)}),
               b = ir::buffer("B", DType::f32, {ir::index(8)}),
               c = ir::buffer("C", DType::f32, {ir::index(8)}),
               d = ir::buffer("D", DType::f32, {ir::index(8)});
  const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k");
  const stages::Program program{
      autoschedule::map("first", b, {i}, ir::load(a, {i}) * 2.0),
      autoschedule::map("second", c, {j}, ir::load(b, {j}) + ir::load(a, {j})),
      autoschedule::map("side", d, {k}, ir::load(a, {k}) - 1.0)};
  EXPECT_EQ(grouped(program, {b.get(), c.get(), d.get()}), "first + second + side");
  EXPECT_EQ(
      loops(std::get<Group>(group_stages(program, {{b.get(), c.get(), d.get()}, {}}, wasm)[0]),
            wasm),
      R"(kernel first___second___side(A: f32[8], write B: f32[8], write C: f32[8], write D: f32[8]) {
  grid item in 0..1 {
    for k.tile in 0..2 {
      vectorized lane in 0..4 {
        let value0: f32 = A[k.tile * 4 + lane] * 2.0
        let value1: f32 = value0 + A[k.tile * 4 + lane]
        let value2: f32 = A[k.tile * 4 + lane] - 1.0
        B[k.tile * 4 + lane] = value0
        C[k.tile * 4 + lane] = value1
        D[k.tile * 4 + lane] = value2
      }
    }
  }
}
)");
  // Points read elsewhere are written by others.
  const stages::Program mirrored{
      program[0], autoschedule::map("second", c, {j}, ir::load(b, {ir::index(7) - Expr(j)}))};
  EXPECT_EQ(grouped(mirrored, {b.get(), c.get()}), "first; second");
}

TEST(Groups, ColumnsLieInTheLastOutput) {
  const Buffer a = ir::buffer("A", DType::f32, {ir::index(6), ir::index(8)}),
               e = ir::buffer("E", DType::f32, {ir::index(6), ir::index(8)}),
               s = ir::buffer("S", DType::f32, {ir::index(6)}),
               c = ir::buffer("C", DType::f32, {ir::index(6), ir::index(8)});
  const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k"), l = ir::var("l");
  const Buffer first = ir::buffer("F", DType::f32, {ir::index(6)});
  const stages::Program program{
      row_sum(a, first),
      autoschedule::map("more", e, {k, l}, ir::load(a, {k, l}) + ir::load(first, {k})),
      row_sum(e, s),
      autoschedule::map("quotient", c, {i, j}, ir::load(e, {i, j}) / ir::load(s, {i}))};
  const Group group = only_group(program, c, wasm);
  EXPECT_EQ(title_of(group), "sum + more + sum + quotient");
  EXPECT_EQ(outputs_of(group).size(), 1u);
  EXPECT_EQ(group.members[1].stage.output.get(), c.get());
  // Where others read them, too, they have memory of their own.
  const auto both = group_stages(program, {{c.get(), e.get()}, {}}, wasm);
  EXPECT_EQ(outputs_of(std::get<Group>(both[0])).size(), 2u);
}

// A sum computes what it reads in its own steps, and the rest of a row before its last ones.
TEST(Groups, MapsAreComputedInTheStepsOfASum) {
  const auto made = [](const Expr& columns) {
    const Buffer a = ir::buffer("A", DType::f32, {ir::index(6), columns}),
                 e = ir::buffer("E", DType::f32, {ir::index(6), columns}),
                 s = ir::buffer("S", DType::f32, {ir::index(6)}),
                 c = ir::buffer("C", DType::f32, {ir::index(6), columns});
    const Var i = ir::var("i"), j = ir::var("j"), k = ir::var("k"), l = ir::var("l");
    const Buffer first = ir::buffer("F", DType::f32, {ir::index(6)});
    const stages::Program program{
        row_sum(a, first),
        autoschedule::map("more", e, {k, l}, ir::load(a, {k, l}) + ir::load(first, {k})),
        row_sum(e, s),
        autoschedule::map("quotient", c, {i, j}, ir::load(e, {i, j}) / ir::load(s, {i}))};
    return loops(only_group(program, c, wasm), wasm);
  };
  const auto count = [](std::string_view text, std::string_view part) {
    int found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const std::string whole = made(ir::index(8)), open = made(ir::var("n"));
  EXPECT_EQ(count(whole, "let element"), 1) << whole;
  EXPECT_EQ(count(whole, " + row0["), 1) << whole;
  EXPECT_EQ(count(open, "let element"), 1) << open;
  EXPECT_EQ(count(open, " + row0["), 2) << open;
}

TEST(Groups, LongChainsLieInWhatIsDoneWith) {
  std::vector<Buffer> rows{ir::buffer("A", DType::f32, {ir::index(6), ir::index(8)})};
  stages::Program program;
  const auto next = [&](const Buffer& beside) {
    const Buffer sums = ir::buffer("S", DType::f32, {ir::index(6)});
    const Buffer made = ir::buffer("R", DType::f32, {ir::index(6), ir::index(8)});
    const Var i = ir::var("i"), j = ir::var("j");
    program.emplace_back(row_sum(rows.back(), sums));
    program.emplace_back(autoschedule::map(
        "next", made, {i, j},
        ir::load(rows.back(), {i, j}) / ir::load(sums, {i}) + ir::load(beside, {i, j})));
    rows.push_back(made);
  };
  for (int round = 0; round < 6; ++round) next(rows.back());
  EXPECT_EQ(outputs_of(only_group(program, rows.back(), cpu)).size(), 1u);
  // The second is read once more at the end: what comes between lies beside it.
  next(rows[2]);
  const Group group = only_group(program, rows.back(), cpu);
  EXPECT_EQ(group.members.size(), 14u);
  EXPECT_EQ(outputs_of(group).size(), 2u);
  EXPECT_NE(group.members[3].stage.output.get(), group.members[5].stage.output.get());
  EXPECT_EQ(group.members[5].stage.output.get(), group.members[11].stage.output.get());
}

TEST(Groups, LaunchesMustBeOne) {
  const Rows rows(ir::index(6), ir::index(64));
  const Group group = only_group(rows.program(), rows.c, with_hardware());
  Point point = autoschedule::default_point(group, with_hardware());
  for (const auto& [loop, factor] : {std::pair("thread", "8"), {"row", "8"}})
    set_argument(point, places_of(point, loop)[1], factor);
  const auto kernel = autoschedule::schedule_at(group, with_hardware(), point);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().to_string(),
            "schedule of \"sum\": its launch is not that of \"quotient\"");
}

}  // namespace
}  // namespace gossamer::group
