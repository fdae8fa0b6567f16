// Small stages, and the loops that a trace makes of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/default_schedule.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/lower.h"
#include "schedule/trace.h"

namespace gossamer::autoschedule {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::Var;
using stages::Stage;
using stages::StageKind;

// C[i, j] = A[i, j] * 2
inline Stage twice(Expr rows, Expr columns, ir::Layout layout = {}) {
  const Buffer a = ir::buffer("A", DType::f32, {rows, columns});
  const Buffer c = ir::buffer("C", DType::f32, {rows, columns});
  const_cast<ir::BufferNode*>(c.get())->layout = std::move(layout);
  Stage stage;
  stage.name = "twice";
  stage.output = c;
  const Var i = ir::var("i"), j = ir::var("j");
  stage.axes = {i, j};
  stage.extents = c->shape;
  stage.result = ir::load(a, {i, j}) * 2.0;
  return stage;
}
inline Stage twice() { return twice(index(3), index(10)); }

inline Stage sum(Buffer output, std::vector<Var> axes, std::vector<Var> reduced,
                 std::vector<Expr> reduce_extents, Expr term) {
  Stage stage;
  stage.kind = StageKind::reduce;
  stage.name = "sum";
  stage.output = std::move(output);
  stage.axes = std::move(axes);
  stage.extents = stage.output->shape;
  stage.reduce_axes = std::move(reduced);
  stage.reduce_extents = std::move(reduce_extents);
  const Var left = ir::var("left", DType::f32), right = ir::var("right", DType::f32);
  stage.accumulators = {stages::sum_accumulator(left, right)};
  stage.values = {std::move(term)};
  stage.result = left;
  return stage;
}

inline Stage map(const char* name, const Buffer& output, std::vector<Var> axes, Expr value) {
  Stage stage;
  stage.name = name;
  stage.output = output;
  stage.axes = std::move(axes);
  stage.extents = output->shape;
  stage.result = std::move(value);
  return stage;
}

// C[i, j] = sum over k of A[i, k] * B[k, j]
inline Stage product(Expr m, Expr k, Expr n) {
  const Buffer a = ir::buffer("A", DType::f32, {m, k}), b = ir::buffer("B", DType::f32, {k, n});
  const Var i = ir::var("i"), j = ir::var("j"), r = ir::var("k");
  return sum(ir::buffer("C", DType::f32, {m, n}), {i, j}, {r}, {k},
             ir::load(a, {i, r}) * ir::load(b, {r, j}));
}
inline Stage product() { return product(index(6), index(10), index(8)); }

// C[i, j] = sum over k of A[i, k] * B[j, k] * S[j, k // 32], where B holds bytes; or of B[k, j].
inline Stage decoded_product(Expr m, Expr k, Expr n, bool transposed = true) {
  const Buffer a = ir::buffer("A", DType::f32, {m, k});
  const Buffer b =
      transposed ? ir::buffer("B", DType::u8, {n, k}) : ir::buffer("B", DType::u8, {k, n});
  const Buffer s = ir::buffer("S", DType::f32, {n, ir::floordiv(k, 32)});
  const Var i = ir::var("i"), j = ir::var("j"), r = ir::var("k");
  const Expr byte = transposed ? ir::load(b, {j, r}) : ir::load(b, {r, j});
  return sum(ir::buffer("C", DType::f32, {m, n}), {i, j}, {r}, {k},
             ir::load(a, {i, r}) *
                 (ir::cast(DType::f32, byte) * ir::load(s, {j, ir::floordiv(Expr(r), 32)})));
}

// C[] = sum over k of A[k]
inline Stage total(int64_t extent) {
  const Buffer a = ir::buffer("A", DType::f32, {index(extent)});
  const Var k = ir::var("k");
  return sum(ir::buffer("C", DType::f32, {}), {}, {k}, {index(extent)}, ir::load(a, {k}));
}

inline const target::Capabilities wasm = target::capabilities_of(TargetKind::wasm);

inline std::string default_text(const Stage& stage, const target::Capabilities& caps) {
  return to_string(default_point(single_group(stage), caps));
}

// The loops that the steps make of a stage: the kernel's body, or the error.
inline std::string loops(const Stage& stage, const std::string& steps,
                         const target::Capabilities& caps = wasm) {
  const auto schedule = schedule::parse_schedule(stage, caps, "by hand: " + steps);
  if (!schedule) return schedule.error().to_string();
  const auto kernel = lower(*schedule);
  if (!kernel) return kernel.error().to_string();
  const auto verified = ir::verify(*kernel, static_cast<ir::Properties>(ir::Property::scheduled));
  EXPECT_TRUE(verified) << verified.error().to_string();
  const std::string text = ir::print(*kernel);
  const size_t first = text.find('\n');
  return text.substr(first, text.rfind('}') - first);
}

// Columns in blocks of four; in textures, a texel each.
inline const ir::Layout blocked{.axes = {{0, 1, 0}, {1, 4, 0}, {1, 1, 4}}};
inline const ir::Layout texels{
    .axes = {{0, 1, 0}, {1, 4, 0}, {1, 1, 4}}, .memory = ir::Memory::texture, .width = 4};

}  // namespace gossamer::autoschedule
