// Which stages read tables of functions of a byte, and what is stored in bytes for that.
#include "rewrite/use_tables.h"

#include <gtest/gtest.h>

#include "ir/build.h"

namespace gossamer::rewrite {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::UnaryOp;

Expr rounded(const Expr& number) {
  return ir::cast(DType::u8, ir::unary(UnaryOp::round, number / 0.5) + 7.0);
}
Expr decoded(const Expr& byte) { return (ir::cast(DType::f32, byte) - 7.0) * 0.5; }

stages::Stage stage_of(const std::string& name, DType dtype, int64_t rows) {
  stages::Stage stage;
  stage.name = name;
  stage.axes = {ir::var("i"), ir::var("j")};
  stage.extents = {ir::index(rows), ir::index(128)};
  stage.output = ir::buffer(name, dtype, stage.extents);
  return stage;
}
Expr at(const Buffer& buffer, const stages::Stage& stage) {
  return ir::load(buffer, {stage.axes[0], stage.axes[1]});
}

// x is rounded, then y is a function of the rounded number.
struct Chain {
  explicit Chain(UnaryOp function, int64_t rows = 64) {
    x = ir::buffer("x", DType::f32, {ir::index(rows), ir::index(128)});
    stages::Stage quantized = stage_of("q", DType::f32, rows),
                  result = stage_of("y", DType::f32, rows);
    quantized.result = decoded(rounded(at(x, quantized)));
    const Expr number = at(quantized.output, result);
    result.result =
        ir::select(result.axes[1] < ir::index(100),
                   decoded(rounded(ir::unary(function, number))) * 3.0, ir::zero(DType::f32));
    q = quantized.output;
    program.emplace_back(quantized);
    program.emplace_back(result);
  }
  std::string rewritten(const std::unordered_set<const ir::BufferNode*>& more = {}) {
    std::unordered_set<const ir::BufferNode*> kept = more;
    kept.insert(program.back().output().get());
    use_tables(program, kept);
    std::string text;
    for (const stages::Entry& entry : program) text += stages::print(*entry.stage());
    return text;
  }

  Buffer x, q;
  stages::Program program;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(UseTables, LongFunctionsOfOneByteAreReadFromTables) {
  const std::string text = Chain(UnaryOp::exp).rewritten();
  EXPECT_TRUE(has(text, "compute q: q u8[64, 128]")) << text;
  EXPECT_TRUE(has(text, "= u8(round(x[i, j] / 0.5) + 7.0)")) << text;
  EXPECT_TRUE(has(text, "compute y.table: y.table f32[256]")) << text;
  EXPECT_TRUE(has(text, "exp((f32(u8(i32(code))) - 7.0) * 0.5)")) << text;
  EXPECT_TRUE(has(text, "= select(j < 100, y.table[index(i32(q[i, j]))], 0.0)")) << text;
}

TEST(UseTables, ShortFunctionsAndFewPointsAreComputed) {
  EXPECT_FALSE(has(Chain(UnaryOp::abs).rewritten(), "table"));
  EXPECT_FALSE(has(Chain(UnaryOp::exp, 4).rewritten(), "table"));
}

TEST(UseTables, WhatOthersReadKeepsItsType) {
  Chain chain(UnaryOp::exp);
  const std::string text = chain.rewritten({chain.q.get()});
  EXPECT_TRUE(has(text, "compute q: q f32[64, 128]")) << text;
  EXPECT_FALSE(has(text, "table")) << text;
}

TEST(UseTables, SeveralNumbersHaveNoTable) {
  Chain chain(UnaryOp::exp);
  stages::Stage& stage = *chain.program[1].stage();
  const Buffer other = ir::buffer("other", DType::u8, stage.extents);
  stage.result = stage.result * ir::cast(DType::f32, at(other, stage));
  const std::string text = chain.rewritten();
  EXPECT_TRUE(has(text, "compute q: q f32[64, 128]")) << text;
  EXPECT_FALSE(has(text, "table")) << text;
}

TEST(UseTables, SignedBytesCountFromTheLeast) {
  Chain chain(UnaryOp::exp);
  stages::Stage& stage = *chain.program[1].stage();
  const Buffer bytes = ir::buffer("bytes", DType::i8, stage.extents);
  const Expr number = ir::cast(DType::f32, at(bytes, stage));
  stage.result = rounded(ir::unary(UnaryOp::exp, number) / number);
  stage.output = ir::buffer("y", DType::u8, stage.extents);
  const std::string text = chain.rewritten();
  EXPECT_TRUE(has(text, "compute y.table: y.table u8[256]")) << text;
  EXPECT_TRUE(has(text, "i8(i32(code) + -128i32)")) << text;
  EXPECT_TRUE(has(text, "y.table[index(i32(bytes[i, j]) + 128i32)]")) << text;
}

}  // namespace
}  // namespace gossamer::rewrite
