// Beside the catalog's cases: whole tiles, tiles past an edge, rows, parts, free dimensions.
#include "differential/differential.h"

namespace gossamer::differential {
namespace {

using ir::DType;
using ops::int64s;

// Larger than the catalog's cases: whole tiles, tiles past an edge, reductions with left-overs.
struct Sized {
  const char* op;
  Case test;
  const char* domain = "";
};
void PrintTo(const Sized& one, std::ostream* out) { *out << one.op << " " << one.test.name; }

std::string name_of_case(const testing::TestParamInfo<Sized>& info) {
  std::string name = cat(info.param.op, "_", info.param.test.name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

const OpDef& definition_of(const Sized& one) {
  return *ops::builtin_catalog().find(one.domain, one.op);
}

// Each case is a test of its own, so that shards of this program take about as long.
class DifferentialSizes : public testing::TestWithParam<Sized> {};
class WithADimension : public DifferentialSizes {};
class TilesInGroupMemory : public DifferentialSizes {};
class DecodedProducts : public DifferentialSizes {};
class RowsInOneLaunch : public DifferentialSizes {};
class PartsOfReductions : public DifferentialSizes {};

const std::vector<Sized>& sized() {
  static const std::vector<Sized> all{
      {"MatMul", {.name = "whole tiles", .shapes = {{16, 32}, {32, 64}}}},
      {"MatMul", {.name = "edges", .shapes = {{15, 37}, {37, 35}}}},
      {"MatMul", {.name = "one column", .shapes = {{33, 40}, {40, 1}}}},
      {"MatMul", {.name = "one row", .shapes = {{1, 40}, {40, 50}}}},
      {"MatMul", {.name = "batches", .shapes = {{3, 5, 18}, {3, 18, 17}}}},
      {"Conv", {.name = "channels", .shapes = {{1, 16, 5, 7}, {32, 16, 3, 3}, {32}}}},
      {"Conv",
       {.name = "odd",
        .shapes = {{2, 5, 6, 9}, {19, 5, 3, 2}},
        .attributes = {{"strides", std::vector<int64_t>{2, 1}},
                       {"pads", std::vector<int64_t>{1, 0, 2, 1}}}}},
      {"Conv",
       {.name = "depthwise",
        .shapes = {{1, 20, 6, 6}, {20, 1, 3, 3}},
        .attributes = {{"group", int64_t{20}}}}},
      {"MaxPool",
       {.name = "odd",
        .shapes = {{1, 19, 7, 9}},
        .attributes = {{"kernel_shape", std::vector<int64_t>{3, 2}}},
        .outputs = 1}},
      {"Softmax", {.name = "rows", .shapes = {{9, 37}}}},
      {"Softmax", {.name = "columns", .shapes = {{33, 18}}, .attributes = {{"axis", int64_t{0}}}}},
      {"ReduceSum", {.name = "all", .shapes = {{7, 53}}}},
      {"CumSum", {.name = "segments", .shapes = {{3, 301}}, .inputs = {{}, int64s({}, {1})}}},
      {"CumSum",
       {.name = "levels",
        .shapes = {{4999}},
        .attributes = {{"reverse", int64_t{1}}, {"exclusive", int64_t{1}}},
        .inputs = {{}, int64s({}, {0})}}},
      {"TopK", {.name = "runs", .shapes = {{3, 100}}, .inputs = {{}, int64s({1}, {60})}}},
      {"TopK",
       {.name = "columns",
        .shapes = {{75, 5}},
        .attributes = {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
        .inputs = {{}, int64s({1}, {75})}}},
      {"TopK", {.name = "digits", .shapes = {{2, 1027}}, .inputs = {{}, int64s({1}, {513})}}},
      {"TopK",
       {.name = "digits of columns",
        .shapes = {{1024, 2}},
        .attributes = {{"axis", int64_t{0}}, {"largest", int64_t{0}}},
        .inputs = {{}, int64s({1}, {1024})},
        .dtype = DType::i32,
        .low = -9,
        .high = 9}},
      {"TopK", {.name = "chunks", .shapes = {{2, 999}}, .inputs = {{}, int64s({1}, {3})}}},
      {"TopK",
       {.name = "equal data",
        .shapes = {{257}},
        .inputs = {{}, int64s({1}, {9})},
        .dtype = DType::i32,
        .low = 0,
        .high = 1}},
      {"Unique", {.name = "many", .shapes = {{130}}, .dtype = DType::i32, .low = -20, .high = 20}},
      {"Unique",
       {.name = "as they come",
        .shapes = {{60}},
        .attributes = {{"sorted", int64_t{0}}},
        .dtype = DType::i32,
        .low = -20,
        .high = 20}},
      {"NonZero",
       {.name = "segments", .shapes = {{3, 150}}, .dtype = DType::i32, .low = -1, .high = 1}},
      {"CumProd",
       {.name = "columns",
        .shapes = {{70, 36}},
        .inputs = {{}, int64s({}, {0})},
        .low = 0.9,
        .high = 1.1}},
      {"Transpose",
       {.name = "odd",
        .shapes = {{3, 17, 20}},
        .attributes = {{"perm", std::vector<int64_t>{2, 0, 1}}}}},
      {"LayerNormalization", {.name = "rows", .shapes = {{5, 48}, {48}, {48}}, .outputs = 1}},
      {"Add", {.name = "broadcast", .shapes = {{2, 17, 5, 4}, {17, 1, 1}}}},
      {"Concat",
       {.name = "three",
        .shapes = {{2, 5, 6}, {2, 18, 6}, {2, 9, 6}},
        .attributes = {{"axis", int64_t{1}}}}},
  };
  return all;
}

TEST_P(DifferentialSizes, TilesAndTheirEdges) {
  const Example example = example_of(definition_of(GetParam()), GetParam().test);
  ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
  for (TargetKind target : targets) {
    SCOPED_TRACE(name_of(target));
    compare_forms(target, example);
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, DifferentialSizes, testing::ValuesIn(sized()), name_of_case);

TEST_P(WithADimension, FirstAxisIsADimension) {
  const Example example = example_with_dim(definition_of(GetParam()), GetParam().test);
  ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
  for (TargetKind target : targets) {
    SCOPED_TRACE(name_of(target));
    compare_forms(target, example);
  }
}
std::vector<Sized> with_a_dimension() {
  std::vector<Sized> all = sized();
  std::erase_if(all, [](const Sized& one) {
    const std::string_view name = one.test.name;
    // B's batch would have to match. Sorts of a free axis are 26 merges each: "many" and "columns"
    // do.
    return name == "batches" || name == "equal data" || name == "as they come";
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Cases, WithADimension, testing::ValuesIn(with_a_dimension()),
                         name_of_case);

// Contractions whose operands' tiles lie in group memory: at, on and beside the edges of tiles.
std::vector<Sized> in_group_memory() {
  using Ints = std::vector<int64_t>;
  return {
      {"MatMul", {.name = "whole", .shapes = {{32, 32}, {32, 64}}}},
      {"MatMul", {.name = "edges", .shapes = {{33, 41}, {41, 36}}}},
      {"MatMul", {.name = "batches", .shapes = {{2, 17, 19}, {2, 19, 40}}}},
      {"MatMul", {.name = "wide", .shapes = {{16, 16}, {16, 68}}}},
      {"MatMulInteger",
       {.name = "integers", .shapes = {{18, 20}, {20, 32}, {}, {}}, .dtype = ir::DType::u8}},
      {"Gemm",
       {.name = "transposed",
        .shapes = {{35, 24}, {44, 24}, {44}},
        .attributes = {{"transB", int64_t{1}}}}},
      {"Conv",
       {.name = "taps",
        .shapes = {{1, 16, 4, 36}, {32, 16, 3, 3}, {32}},
        .attributes = {{"pads", Ints{1, 1, 1, 1}}}}},
      {"Conv",
       {.name = "strides and pads",
        .shapes = {{2, 20, 3, 40}, {36, 20, 3, 2}},
        .attributes = {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 2, 1}}}}},
      {"Conv", {.name = "points", .shapes = {{1, 32, 2, 32}, {64, 32, 1, 1}}}},
      {"MatMul", {.name = "eight parts", .shapes = {{20, 200}, {200, 72}}}},
      {"MatMul", {.name = "four parts", .shapes = {{129, 70}, {70, 292}}}},
      {"Conv",
       {.name = "parts and taps",
        .shapes = {{1, 35, 3, 7}, {36, 35, 3, 3}, {36}},
        .attributes = {{"pads", Ints{1, 1, 1, 1}}}}},
  };
}
TEST_P(TilesInGroupMemory, AtTheirEdges) {
  const Sized& one = GetParam();
  target::Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const Example example = example_of(definition_of(one), one.test);
  ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
  EXPECT_NE(compare(hardware, example, Form::as_defined).find("barrier"), std::string::npos);
  EXPECT_NE(compare(hardware, example, Form::as_a_model).find("barrier"), std::string::npos);
  if (std::string_view(one.test.name) == "batches") return;  // B's batch would have to match
  const Example dynamic = example_with_dim(definition_of(one), one.test);
  ASSERT_TRUE(dynamic.made.status) << dynamic.made.status.error().to_string();
  compare(hardware, dynamic, Form::as_a_model);
}
INSTANTIATE_TEST_SUITE_P(Cases, TilesInGroupMemory, testing::ValuesIn(in_group_memory()),
                         name_of_case);

// Reductions and maps over the same rows in one launch: rows that lie along memory and across it,
// lengths beside those of vectors and workgroups, several invocations a row.
std::vector<Sized> rows_in_one_launch() {
  const auto integer = [](const char* name, int64_t value) {
    return ops::Attributes{{name, value}};
  };
  return {
      {"Softmax", {.name = "short", .shapes = {{5, 7}}}},
      {"Softmax", {.name = "vectors", .shapes = {{67, 36}}}},
      {"Softmax", {.name = "left over", .shapes = {{3, 131}}}},
      {"Softmax", {.name = "long", .shapes = {{2, 1024}}}},
      {"Softmax", {.name = "longer", .shapes = {{2, 1030}}}},
      {"Softmax", {.name = "heads", .shapes = {{2, 3, 5, 64}}}},
      {"Softmax", {.name = "one", .shapes = {{260}}, .attributes = integer("axis", 0)}},
      {"Softmax",
       {.name = "channels", .shapes = {{2, 21, 4, 8}}, .attributes = integer("axis", 1)}},
      {"Softmax", {.name = "odd", .shapes = {{2, 9, 5, 7}}, .attributes = integer("axis", 1)}},
      {"LogSoftmax", {.name = "rows", .shapes = {{9, 200}}}},
      {"LayerNormalization", {.name = "outputs", .shapes = {{6, 96}, {96}, {96}}, .outputs = 3}},
      {"LayerNormalization",
       {.name = "two axes",
        .shapes = {{4, 6, 20}, {6, 20}, {6, 20}},
        .attributes = integer("axis", 1),
        .outputs = 1}},
      {"RMSNormalization", {.name = "rows", .shapes = {{7, 130}, {130}}}},
      {"GroupNormalization",
       {.name = "groups",
        .shapes = {{2, 12, 5, 7}, {12}, {12}},
        .attributes = integer("num_groups", 3)}},
      {"InstanceNormalization", {.name = "planes", .shapes = {{2, 5, 6, 10}, {5}, {5}}}},
      {"LpNormalization", {.name = "rows", .shapes = {{8, 70}}}},
      {"Hardmax", {.name = "rows", .shapes = {{4, 100}}}},
  };
}
TEST_P(RowsInOneLaunch, OfEveryLength) {
  const OpDef& def = definition_of(GetParam());
  const Example example = example_of(def, GetParam().test);
  ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
  const Example dynamic = example_with_dim(def, GetParam().test);
  for (TargetKind target : targets) {
    SCOPED_TRACE(name_of(target));
    const std::string kernels = compare(target::capabilities_of(target), example, Form::as_a_model);
    if (target != TargetKind::webgl)
      EXPECT_EQ(kernels.find("kernel "), kernels.rfind("kernel ")) << kernels;
    if (dynamic.made.status) compare(target, dynamic, Form::as_a_model);
  }
  target::Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const std::string kernels = compare(hardware, example, Form::as_a_model);
  EXPECT_EQ(kernels.find("kernel "), kernels.rfind("kernel ")) << kernels;
  if (dynamic.made.status) compare(hardware, dynamic, Form::as_a_model);
}
INSTANTIATE_TEST_SUITE_P(Cases, RowsInOneLaunch, testing::ValuesIn(rows_in_one_launch()),
                         name_of_case);

// Few points with long reductions, which invocations share.
std::vector<Sized> parts_of_reductions() {
  return {
      {"MatMul", {.name = "one row", .shapes = {{1, 256}, {256, 64}}}},
      {"MatMul", {.name = "edges", .shapes = {{1, 131}, {131, 36}}}},
      {"MatMul", {.name = "three rows", .shapes = {{3, 100}, {100, 44}}}},
      {"MatMul", {.name = "six rows", .shapes = {{6, 100}, {100, 12}}}},
      {"Conv", {.name = "one point", .shapes = {{1, 20, 3, 3}, {32, 20, 3, 3}, {32}}}},
      {"ReduceSum",
       {.name = "columns", .shapes = {{300, 24}, {1}}, .inputs = {{}, int64s({1}, {0})}}},
      {"ReduceMax",
       {.name = "middle", .shapes = {{2, 70, 20}, {1}}, .inputs = {{}, int64s({1}, {1})}}},
  };
}
TEST_P(PartsOfReductions, MeetInGroupMemory) {
  target::Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  const Example example = example_of(definition_of(GetParam()), GetParam().test);
  ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
  EXPECT_NE(compare(hardware, example, Form::as_defined).find("barrier"), std::string::npos);
  compare(hardware, example, Form::as_a_model);
}
INSTANTIATE_TEST_SUITE_P(Cases, PartsOfReductions, testing::ValuesIn(parts_of_reductions()),
                         name_of_case);

// Products with weights of a few bits, which are decoded where they are read: few rows and many,
// lengths and columns that do not fill pieces, tiles and blocks.
std::vector<Sized> decoded_products() {
  const auto product = [](int64_t k, int64_t n, int64_t bits, int64_t block) {
    return ops::Attributes{{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}};
  };
  const auto bytes = [](const char* name, std::vector<std::vector<int64_t>> shapes,
                        ops::Attributes attributes) {
    return Sized{"MatMulNBits",
                 {.name = name,
                  .shapes = std::move(shapes),
                  .attributes = std::move(attributes),
                  .low = 0,
                  .high = 255},
                 "com.microsoft"};
  };
  return {
      bytes("two rows", {{2, 256}, {32, 8, 16}, {32, 8}}, product(256, 32, 4, 32)),
      bytes("long rows", {{2, 1056}, {18, 33, 16}, {18, 33}}, product(1056, 18, 4, 32)),
      bytes("edges", {{3, 200}, {18, 7, 16}, {126}}, product(200, 18, 4, 32)),
      bytes("forty rows", {{40, 64}, {64, 2, 16}, {64, 2}}, product(64, 64, 4, 32)),
      bytes("odd rows", {{37, 72}, {40, 5, 8}, {200}}, product(72, 40, 4, 16)),
      bytes("two axes", {{2, 19, 128}, {48, 4, 16}, {48, 4}}, product(128, 48, 4, 32)),
      bytes("bytes", {{21, 64}, {32, 2, 32}, {32, 2}}, product(64, 32, 8, 32)),
      bytes("two bits", {{24, 64}, {32, 2, 8}, {32, 2}}, product(64, 32, 2, 32)),
  };
}
TEST_P(DecodedProducts, OfFewRowsAndMany) {
  const OpDef& def = definition_of(GetParam());
  const Example example = example_of(def, GetParam().test);
  ASSERT_TRUE(example.made.status) << example.made.status.error().to_string();
  const Example dynamic = example_with_dim(def, GetParam().test);
  ASSERT_TRUE(dynamic.made.status) << dynamic.made.status.error().to_string();
  const bool many = GetParam().test.shapes[0][0] >= 20;
  for (TargetKind target : targets) {
    SCOPED_TRACE(name_of(target));
    const target::Capabilities caps = target::capabilities_of(target);
    const std::string kernels = compare(caps, example, Form::as_a_model);
    // Weights lie in memory as bytes alone; on CPUs tiles of rows share what is decoded.
    EXPECT_EQ(kernels.find("weights"), std::string::npos) << kernels;
    if (many && target == TargetKind::wasm)
      EXPECT_NE(kernels.find("alloc factor"), std::string::npos) << kernels;
    compare(caps, dynamic, Form::as_a_model);
  }
  target::Capabilities hardware = target::capabilities_of(TargetKind::webgpu);
  hardware.hardware = true;
  compare(hardware, example, Form::as_a_model);
  compare(hardware, dynamic, Form::as_a_model);
}
INSTANTIATE_TEST_SUITE_P(Cases, DecodedProducts, testing::ValuesIn(decoded_products()),
                         name_of_case);

}  // namespace
}  // namespace gossamer::differential
