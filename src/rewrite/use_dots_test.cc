// Which sums of products become sums of Dots, and what their factors are made of.
#include "rewrite/use_dots.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using target::Capabilities;

// y[i, j] = sum over k of (x[i, k] - zero) * w[k, j] in `sum`, where a stage of its own makes the
// first factor.
struct Product {
  explicit Product(int64_t length, int64_t columns = 16, DType sum = DType::f32,
                   DType element = DType::u8, int64_t rows = 8) {
    const auto size = [](int64_t extent) {
      return extent > 0 ? ir::index(extent) : Expr(ir::var("n"));
    };
    x = ir::buffer("x", element, {size(rows), size(length)});
    w = ir::buffer("w", DType::i8, {size(length), size(columns)});
    stages::Stage center;
    center.name = "x.centered";
    center.extents = x->shape;
    center.axes = {ir::var("i0"), ir::var("i1")};
    center.output = ir::buffer("c", sum, x->shape);
    center.result = ir::cast(sum, ir::load(x, {center.axes[0], center.axes[1]})) - 3.0;
    stages::Stage product;
    product.kind = stages::StageKind::reduce;
    product.name = "product";
    product.axes = {ir::var("i"), ir::var("j")};
    product.extents = {size(rows), size(columns)};
    product.output = ir::buffer("y", sum, product.extents);
    const ir::Var k = ir::var("k"), left = ir::var("acc", sum), right = ir::var("term", sum);
    product.reduce_axes = {k};
    product.reduce_extents = {size(length)};
    product.accumulators = {stages::sum_accumulator(left, right)};
    product.values = {ir::load(center.output, {product.axes[0], k}) *
                      ir::cast(sum, ir::load(w, {k, product.axes[1]}))};
    product.result = left;
    program.emplace_back(center);
    program.emplace_back(product);
  }

  // The stages' texts after the rewrite.
  std::string rewritten(std::unordered_set<const ir::BufferNode*> kept = {}, bool bytes = false,
                        TargetKind target = TargetKind::wasm) {
    kept.insert(program.back().output().get());
    Capabilities capabilities = target::capabilities_of(target);
    if (target == TargetKind::wasm) capabilities.byte_dots = bytes;
    use_dots(program, {w.get()}, {}, kept, capabilities);
    std::string text;
    for (const stages::Entry& entry : program) text += stages::print(*entry.stage());
    return text;
  }

  Buffer x, w;
  stages::Program program;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(UseDots, FactorsAreStoredInHalvesAndReadInWords) {
  const std::string text = Product(64).rewritten();
  EXPECT_TRUE(has(text, "c i16[8, 64]")) << text;
  EXPECT_TRUE(has(text, "w.words i32[32, 16]")) << text;
  EXPECT_TRUE(has(text, "dot2(bitcast<i32>(c[i, ramp(k * 2, 1, 2)]), w.words[k, j], 0i32)"))
      << text;
  EXPECT_TRUE(has(text, "f32(acc)")) << text;
}

TEST(UseDots, OddLengthsEndInAZero) {
  const std::string text = Product(67).rewritten();
  EXPECT_TRUE(has(text, "c.halves i16[8, 68]")) << text;
  EXPECT_TRUE(has(text, "w.words i32[34, 16]")) << text;
  EXPECT_TRUE(has(text, "select(")) << text;
}

TEST(UseDots, WhatOthersReadKeepsItsType) {
  Product product(64);
  const std::string text = product.rewritten({product.program[0].output().get()});
  EXPECT_TRUE(has(text, "c f32[8, 64]")) << text;
  EXPECT_TRUE(has(text, "c.halves i16[8, 64]")) << text;
}

TEST(UseDots, OtherSumsStayAsTheyAre) {
  // Elements of 32 bits, too few columns, one term, and sums that 32 bits may not hold.
  for (const std::string& text :
       {Product(64, 16, DType::i32, DType::i32).rewritten(), Product(64, 2).rewritten(),
        Product(1).rewritten(), Product(1 << 20).rewritten(), Product(0).rewritten()})
    EXPECT_FALSE(has(text, "dot2")) << text;
}

TEST(UseDots, SumsInIntegersMayHaveAnyLength) {
  EXPECT_TRUE(has(Product(1 << 20, 16, DType::i32).rewritten(), "dot2"));
  EXPECT_TRUE(has(Product(0, 16, DType::i32).rewritten(), "dot2"));
}

// y[i, o] = sum over k of c[i, o // outputs * length + k] * w[o, k].
Product in_groups(int64_t length, int64_t outputs) {
  Product product(2 * length);
  stages::Stage& stage = *product.program[1].stage();
  const ir::Var k = stage.reduce_axes[0], o = stage.axes[1];
  product.w = ir::buffer("w", DType::i8, {ir::index(2 * outputs), ir::index(length)});
  stage.extents[1] = ir::index(2 * outputs);
  stage.output = ir::buffer("y", DType::f32, stage.extents);
  stage.reduce_extents = {ir::index(length)};
  stage.values = {ir::load(product.program[0].output(),
                           {stage.axes[0], k + ir::floordiv(o, outputs) * ir::index(length)}) *
                  ir::cast(DType::f32, ir::load(product.w, {o, k}))};
  return product;
}

TEST(UseDots, GroupsOfChannelsBeginAtWholeWords) {
  const std::string halves = in_groups(6, 8).rewritten();
  EXPECT_TRUE(has(halves, "c[i, ramp(j // 8 * 6 + k * 2, 1, 2)]")) << halves;
  EXPECT_TRUE(has(halves, "w.words[j, k]")) << halves;
  const std::string bytes = in_groups(12, 8).rewritten({}, true);
  EXPECT_TRUE(has(bytes, "c[i, ramp(j // 8 * 12 + k * 4, 1, 4)]")) << bytes;
  EXPECT_TRUE(has(in_groups(6, 8).rewritten({}, true), "dot2")) << "bytes would need whole words";
  const std::string on_webgpu = in_groups(16, 16).rewritten({}, true, TargetKind::webgpu);
  EXPECT_TRUE(has(on_webgpu, "c[i, k * 4 + j // 16 * 16 + 1]")) << on_webgpu;
  // Odd numbers of channels, and few columns that share what is read.
  EXPECT_FALSE(has(in_groups(5, 8).rewritten(), "dot"));
  EXPECT_FALSE(has(in_groups(8, 2).rewritten(), "dot"));
}

TEST(UseDots, BytesAreStoredAboveZero) {
  const std::string text = Product(64).rewritten({}, true);
  EXPECT_TRUE(has(text, "c u8[8, 64]")) << text;
  EXPECT_TRUE(has(text, "= x[i0, i1]")) << text;  // less the zero point, plus as much
  EXPECT_TRUE(has(text, "w.words i32[16, 16]")) << text;
  EXPECT_TRUE(has(text, "dot4(bitcast<u32>(c[i, ramp(k * 4, 1, 4)]), w.words[k, j], 0i32)"))
      << text;
  EXPECT_TRUE(has(text, "= acc * 3i32")) << text;
  EXPECT_TRUE(has(text, "f32(acc - w.sums[j])")) << text;
}

TEST(UseDots, SignedBytesAreStoredAboveZero) {
  const std::string text = Product(64, 16, DType::i32, DType::i8).rewritten({}, true);
  EXPECT_TRUE(has(text, "c u8[8, 64]")) << text;
  EXPECT_TRUE(has(text, "= u8(i32(x[i0, i1]) + 128i32)")) << text;
  EXPECT_TRUE(has(text, "= acc * 131i32")) << text;
}

TEST(UseDots, ZeroPointsOfARunAreTakenOffAfterTheSum) {
  Product product(64);
  stages::Stage& center = *product.program[0].stage();
  const Buffer zero = ir::buffer("zero", DType::u8, {});
  const Expr byte = ir::load(product.x, {center.axes[0], center.axes[1]});
  center.result =
      ir::cast(DType::f32, ir::cast(DType::i32, byte) - ir::cast(DType::i32, ir::load(zero, {})));
  const std::string text = product.rewritten({}, true);
  EXPECT_TRUE(has(text, "c u8[8, 64]")) << text;
  EXPECT_TRUE(has(text, "= x[i0, i1]")) << text;
  EXPECT_TRUE(has(text, "f32(acc - i32(zero[]) * w.sums[j])")) << text;
}

TEST(UseDots, RowsOfBytesEndInZeros) {
  const std::string text = Product(66).rewritten({}, true);
  EXPECT_TRUE(has(text, "c.bytes u8[8, 68]")) << text;
  EXPECT_TRUE(has(text, "w.words i32[17, 16]")) << text;
}

TEST(UseDots, WordsOfSignedBytesAreMadeInTheProductWhereMemoryIsOfWords) {
  const auto on_webgpu = [](Product product) {
    return product.rewritten({}, true, TargetKind::webgpu);
  };
  const std::string text = on_webgpu(Product(64, 32));
  EXPECT_TRUE(has(text, "c u8[8, 64]")) << text;
  EXPECT_TRUE(has(text, "(i32(c[i, k * 4 + 1]) + -128i32 & 255i32) << 8i32")) << text;
  EXPECT_TRUE(has(text, ", w.words[k, j], 0i32)")) << text;
  EXPECT_TRUE(has(text, "f32(acc - w.sums[j])")) << text;
  EXPECT_TRUE(has(text, "= acc * -125i32")) << text;  // 3 of the zero point less 128
  EXPECT_FALSE(has(on_webgpu(Product(64, 8)), "dot4"));
}

// As of weights with a zero point for each column.
TEST(UseDots, ZeroPointsOfConstantColumnsHaveTheirOwnRange) {
  for (const int64_t most : {0, 5}) {
    Product product(64);
    stages::Stage& stage = *product.program[1].stage();
    const Buffer zeros = ir::buffer("zeros", DType::i8, {ir::index(16)});
    const auto* factors = ir::as<ir::Binary>(stage.values[0]);
    const Expr zero = ir::load(zeros, {stage.axes[1]});
    stage.values[0] = factors->a * (factors->b - ir::cast(DType::f32, zero));
    Capabilities capabilities = target::capabilities_of(TargetKind::wasm);
    std::unordered_set<const ir::BufferNode*> kept{stage.output.get()};
    use_dots(product.program, {product.w.get(), zeros.get()}, {{zeros.get(), {0, most}}}, kept,
             capabilities);
    std::string text;
    for (const stages::Entry& entry : product.program) text += stages::print(*entry.stage());
    EXPECT_EQ(has(text, "dot4"), most == 0) << text;
  }
}

TEST(UseDots, ColumnsOfMoreThanEightBitsAreHalves) {
  Product product(64);
  stages::Stage& stage = *product.program[1].stage();
  const auto* factors = ir::as<ir::Binary>(stage.values[0]);
  stage.values[0] = factors->a * (factors->b - 3.0);
  EXPECT_TRUE(has(product.rewritten({}, true), "dot2"));
}

}  // namespace
}  // namespace gossamer::rewrite
