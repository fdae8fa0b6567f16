// Which way the default schedules walk.
#include "autoschedule/tiling.h"
#include "autoschedule/tiling_decoded.h"

#include "autoschedule/default_schedule.h"
#include "autoschedule/test_stages.h"
#include "autoschedule/tiling_parts.h"
#include "stages/access.h"

namespace gossamer::autoschedule {
namespace {

using schedule::List;
using schedule::Place;
using schedule::Point;
using target::Capabilities;

const Capabilities avx512 = for_registers(target::capabilities_of(TargetKind::cpu), 512, 32);

TEST(Tiling, SumsOfRowsRunAlongTheRows) {
  const Buffer a = ir::buffer("A", DType::f32, {index(32), index(64)});
  const Var i = ir::var("i"), k = ir::var("k");
  const auto row_sums = [&](Expr term) {
    return default_tiling(
        sum(ir::buffer("C", DType::f32, {index(32)}), {i}, {k}, {index(64)}, std::move(term)),
        wasm);
  };
  const Tiling rows = row_sums(ir::load(a, {i, k}));
  EXPECT_EQ(rows.vector_axis, -1);
  EXPECT_TRUE(rows.partial);
  const Buffer b = ir::buffer("B", DType::f32, {index(64), index(32)});
  EXPECT_EQ(row_sums(ir::load(b, {k, i})).vector_axis, 0);
}

TEST(Tiling, SumsWithoutRowsAreSeveralAtATime) {
  const auto columns = [](int64_t count) {
    return default_tiling(product(index(1), index(64), index(count)), wasm).vectors;
  };
  EXPECT_EQ(columns(4096), 8);
  EXPECT_EQ(columns(4 * 125), 5);  // whole tiles, without columns past the edge
  EXPECT_EQ(columns(64), 1);       // threads have tiles to share
  EXPECT_EQ(vectors_without_rows(product(index(2), index(64), index(4096)), 1, wasm), 1);
  EXPECT_EQ(vectors_without_rows(product(index(1), index(64), index(4096)), 1,
                                 target::capabilities_of(TargetKind::webgpu)),
            1);
}

// Vectors of all columns' terms, from which tiles of rows are computed one after the other, stay in
// a cache.
TEST(Tiling, LongReductionsHaveFewerVectors) {
  const auto vectors = [&](int64_t length) {
    Stage stage = product(ir::dimension("rows", 1000), index(length), index(256));
    const_cast<ir::BufferNode*>(stage.output.get())->layout = {
        .axes = {{0, 1, 0}, {1, 16, 0}, {1, 1, 16}}};
    return default_tiling(stage, avx512).vectors;
  };
  EXPECT_EQ(vectors(512), 4);
  EXPECT_EQ(vectors(5184), 2);
}

// A packed operand that no cache keeps is read once: tiles of rows are inside of those of columns.
TEST(Tiling, LargeOperandsAreWalkedByColumns) {
  const auto tiling = [&](int64_t length, bool packed, const Capabilities& caps) {
    const Stage stage = product(index(197), index(length), index(1024));
    for (const ir::Load* load : loads_of(stage.values)) {
      if (packed && stages::moves(*load, stage.axes[1]))
        const_cast<ir::BufferNode*>(load->buffer.get())->layout = {
            .axes = {{1, 16, 0}, {0, 1, 0}, {1, 1, 16}}};
    }
    return default_tiling(stage, caps);
  };
  EXPECT_TRUE(tiling(1024, true, avx512).rows_inside);
  EXPECT_FALSE(tiling(1024, false, avx512).rows_inside);
  EXPECT_FALSE(tiling(128, true, avx512).rows_inside);
  EXPECT_FALSE(tiling(1024, true, wasm).rows_inside);  // tiles have eight columns
  const Tiling inside = tiling(1024, true, avx512);
  const auto written =
      to_string(register_list(product(index(197), index(1024), index(1024)), inside, avx512));
  EXPECT_NE(written.find("reorder(i0.tile, k.., k0, row, vec, lane)"), std::string::npos)
      << written;
}

// Channels of two groups of a convolution read different elements: no vector has lanes of both.
TEST(Tiling, VectorsEndWhereGroupsDo) {
  const auto lanes = [&](int64_t width) {
    const Buffer in = ir::buffer("A", DType::f32, {index(96), index(30)});
    const Buffer weights = ir::buffer("W", DType::f32, {index(96), index(width)});
    const Buffer out = ir::buffer("C", DType::f32, {index(96), index(30)});
    const_cast<ir::BufferNode*>(out.get())->layout = {.axes = {{1, 1, 0}, {0, 16, 0}, {0, 1, 16}}};
    const Var o = ir::var("o"), x = ir::var("x"), k = ir::var("k");
    const Expr channel = ir::floordiv(o, width) * index(width) + k;
    return default_tiling(sum(out, {o, x}, {k}, {index(width)},
                              ir::load(in, {channel, x}) * ir::load(weights, {o, k})),
                          avx512)
        .lanes;
  };
  EXPECT_EQ(lanes(48), 16);
  EXPECT_EQ(lanes(24), 8);
  EXPECT_EQ(lanes(12), 4);
  EXPECT_EQ(lanes(6), 16);  // a gather
}

// Sums of many terms in f32 are added up in chunks, where a run tells how many there are or it is
// known.
TEST(Tiling, LongSumsHaveChunks) {
  const auto has_chunks = [](Expr rows) {
    const Buffer a = ir::buffer("A", DType::f32, {rows, index(6)});
    const Var i = ir::var("i"), k = ir::var("k");
    const Stage stage =
        sum(ir::buffer("C", DType::f32, {index(6)}), {i}, {k}, {rows}, ir::load(a, {k, i}));
    const auto kernel = schedule_default(single_group(stage), wasm).kernel;
    return ir::print(kernel).contains("for chunk");
  };
  EXPECT_TRUE(has_chunks(ir::dimension("rows", 10)));
  EXPECT_TRUE(has_chunks(index(100'000)));
  EXPECT_FALSE(has_chunks(index(10'000)));
  EXPECT_FALSE(has_chunks(ir::min(ir::dimension("rows", 10), index(64))));
}

// Likewise sums of products, also where a workgroup shares tiles of the factors.
TEST(Tiling, LongProductsHaveChunks) {
  const auto has_chunks = [](Expr length, const Capabilities& caps) {
    const Stage stage = product(index(512), std::move(length), index(512));
    const auto kernel = schedule_default(single_group(stage), caps).kernel;
    return ir::print(kernel).contains("for chunk");
  };
  const Expr open = ir::dimension("length", 1000);
  for (const Capabilities& caps : {wasm, target::capabilities_of(TargetKind::webgpu)}) {
    EXPECT_TRUE(has_chunks(open, caps));
    EXPECT_FALSE(has_chunks(index(1000), caps));
    EXPECT_FALSE(has_chunks(ir::min(open, index(1000)), caps));
  }
}

// The pieces that invocations take of a column, how many share it, and columns at a time.
TEST(Tiling, PiecesOfColumnsFillLoads) {
  Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const auto pieces = [&](int64_t length, int64_t columns, bool transposed = true) {
    const Point point{default_list(
        decoded_product(index(1), index(length), index(columns), transposed), hardware)};
    const std::vector<Place> parts = places_of(point, "part");
    if (parts.empty() || factor_of(point, "lane")) return std::string("none");
    const Place piece{parts[0].list, parts[0].call, parts[0].argument + 1};
    return cat(argument_at(point, parts[0]), " x ", argument_at(point, piece), ", ",
               *factor_of(point, "row"));
  };
  EXPECT_EQ(pieces(2048, 512), "64 x 32, 2");
  EXPECT_EQ(pieces(2048, 2048), "64 x 32, 4");
  EXPECT_EQ(pieces(2048, 128256), "64 x 32, 8");
  EXPECT_EQ(pieces(8192, 2048), "128 x 32, 4");
  EXPECT_EQ(pieces(14336, 4096), "112 x 32, 4");  // without a rest
  EXPECT_EQ(pieces(320, 2048), "20 x 16, 4");     // shorter pieces, so that invocations have one
  EXPECT_EQ(pieces(64, 2048), "none");
  EXPECT_EQ(pieces(2048, 2048, false), "none");  // pieces would be read with strides
}

// Where only the run knows the number of rows, few and many of them have kernels of their own,
// which exist.
TEST(Tiling, OpenRowsHavePointsForFewAndMany) {
  const Capabilities software = target::capabilities_of(TargetKind::webgpu);
  Capabilities hardware = software;
  hardware.hardware = true;
  const auto open = [](int64_t length, int64_t columns) {
    return decoded_product(ir::var("n"), index(length), index(columns));
  };
  for (const auto& [length, columns] : {std::pair(2048, 512), {8192, 2048}, {14336, 4096}}) {
    const Stage stage = open(length, columns);
    const auto few = list_for_few_rows(stage, hardware), many = list_for_many_rows(stage, hardware);
    ASSERT_TRUE(few && many);
    for (const List& list : {*few, *many}) {
      const Point point{list};
      const auto made = schedule_at(single_group(stage), hardware, point);
      EXPECT_TRUE(made) << to_string(point) << ": " << made.error().to_string();
    }
    const auto points = [](const List& list) {
      int64_t all = 1;
      for (const char* loop : {"row", "vec", ".thread"}) {
        for (const Place& place : schedule::places_of({list}, loop))
          all *= *schedule::number_of(argument_at({list}, place));
      }
      return all;
    };
    EXPECT_GT(points(*many), points(default_list(stage, hardware)));
  }
  EXPECT_FALSE(list_for_many_rows(open(2048, 2048), software));
  EXPECT_FALSE(list_for_many_rows(product(ir::var("n"), index(2048), index(2048)), hardware));
}

// The next tokens of several texts are one row of each of many samples: tiles have rows of several.
TEST(Tiling, RowsOfManySamplesShareTiles) {
  const Var samples = ir::var("samples"), rows = ir::var("rows");
  const Var b = ir::var("b"), i = ir::var("i"), j = ir::var("j"), k = ir::var("k");
  const auto stage = [&](const Expr& of_sample) {
    const Buffer a = ir::buffer("A", DType::f32, {samples, of_sample, index(512)}),
                 bytes = ir::buffer("B", DType::u8, {index(256), index(512)}),
                 scales = ir::buffer("S", DType::f32, {index(256), index(16)});
    return sum(ir::buffer("C", DType::f32, {samples, of_sample, index(256)}), {b, i, j}, {k},
               {index(512)},
               ir::load(a, {b, i, k}) * (ir::cast(DType::f32, ir::load(bytes, {j, k})) *
                                         ir::load(scales, {j, ir::floordiv(Expr(k), 32)})));
  };
  const Stage open = stage(rows);
  EXPECT_EQ(default_tiling(open, wasm).row_axis, 1);
  const auto list = list_for_samples(open, wasm);
  ASSERT_TRUE(list);
  const Point point{*list};
  EXPECT_GT(*factor_of(point, "row"), 1);
  EXPECT_NE(to_string(point).find("-> i0.tile, row"), std::string::npos);
  const auto made = schedule_at(single_group(open), wasm, point);
  EXPECT_TRUE(made) << to_string(point) << ": " << made.error().to_string();
  // Its tiles are so already; workgroups have kernels for few rows.
  EXPECT_FALSE(list_for_samples(stage(index(1)), wasm));
  EXPECT_FALSE(list_for_samples(open, target::capabilities_of(TargetKind::webgpu)));
  EXPECT_FALSE(list_for_samples(product(samples, index(512), index(256)), wasm));
}

// Columns whose number only the run knows share tiles as well, where their memory is padded.
TEST(Tiling, OpenColumnsShareTilesOfAGroup) {
  Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const Var n = ir::var("n");
  Stage scores = product(index(2048), index(64), n);
  EXPECT_FALSE(group_tile_list(scores, hardware));
  ir::BufferNode padded(*scores.output);
  padded.layout = blocked;
  scores.output = ir::Buffer(new ir::BufferNode(padded));
  const auto list = group_tile_list(scores, hardware);
  ASSERT_TRUE(list);
  EXPECT_TRUE(schedule_at(single_group(scores), hardware, {*list}));
}

}  // namespace
}  // namespace gossamer::autoschedule
