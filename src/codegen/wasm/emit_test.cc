#include "codegen/wasm/emit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codegen/wasm/run_module.h"
#include "ir/build.h"

namespace gossamer::codegen::wasm {
namespace {

using namespace ir;

Expr at(const Buffer& buffer, Expr element, int lanes = 1) {
  return load(buffer, {ramp(std::move(element), 1, lanes)});
}
Stmt put(const Buffer& buffer, Expr element, Expr value) {
  const int lanes = value->type.lanes;
  return store(buffer, {ramp(std::move(element), 1, lanes)}, std::move(value));
}

std::vector<float> ramp_of(size_t count, float scale) {
  std::vector<float> values(count);
  for (size_t k = 0; k < count; ++k)
    values[k] = scale * static_cast<float>((k * 37 + 11) % 101) - 1.0f;
  return values;
}

// C[M, N] = A[M, K] * B packed [N/8][K][8], tiles of mr x 8; the grid runs over (N/8, M/mr).
Kernel contraction(int64_t m, int64_t n, int64_t k, int64_t mr) {
  const Buffer a = buffer("a", DType::f32, {index(m * k)}),
               b = buffer("b", DType::f32, {index(n * k)}),
               c = buffer("c", DType::f32, {index(m * n)});
  const Buffer acc = buffer("acc", DType::f32, {index(mr * 8)}, Scope::priv);
  const Var g = var("g"), kk = var("kk");
  const Expr panel = floordiv(g, m / mr), row = floormod(g, m / mr) * index(mr);
  std::vector<Stmt> init, step, finish;
  for (int64_t r = 0; r < mr; ++r) {
    for (int64_t h = 0; h < 2; ++h) {
      const Expr slot = index(r * 8 + h * 4);
      init.push_back(put(acc, slot, zero(Type(DType::f32, 4))));
      const Expr left = broadcast(at(a, (row + index(r)) * index(k) + kk), 4);
      const Expr right = at(b, panel * index(8 * k) + kk * index(8) + index(4 * h), 4);
      step.push_back(put(acc, slot, fma(left, right, at(acc, slot, 4))));
      finish.push_back(
          put(c, (row + index(r)) * index(n) + panel * index(8) + index(4 * h), at(acc, slot, 4)));
    }
  }
  Stmt body =
      block({block(init), loop(kk, index(k), LoopKind::serial, block(step)), block(finish)});
  body = loop(g, index(n / 8 * (m / mr)), LoopKind::grid, alloc(acc, body));
  return {"contraction", {{a, false}, {b, false}, {c, true}}, {}, body};
}

TEST(EmitModule, ContractionTile) {
  const int64_t m = 12, n = 16, k = 10;
  const Kernel kernels[] = {contraction(m, n, k, 6), contraction(m, n, k, 4)};
  const auto a = ramp_of(m * k, 0.03f), b = ramp_of(n * k, 0.02f);
  for (bool relaxed : {false, true}) {
    std::vector<Job> jobs;
    for (int which = 0; which < 2; ++which) {
      jobs.push_back({"k" + std::to_string(which),
                      {memory_of(a), memory_of(b), Memory(m * n * 4)},
                      {},
                      n / 8 * (m / (which ? 4 : 6))});
    }
    run_jobs(emit_module(kernels, nullptr, {relaxed, 1}), jobs);
    for (const Job& job : jobs) {
      const auto c = values_of<float>(job.buffers[2]);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t q = 0; q < k; ++q)
            sum += double(a[i * k + q]) * b[(j / 8) * k * 8 + q * 8 + j % 8];
          EXPECT_NEAR(c[i * n + j], sum, 1e-4) << job.entry << " " << i << " " << j;
        }
      }
    }
  }
}

// The emitted code is a shape that V8 runs at full speed: pointers advance, nothing else is
// computed in the loop.
TEST(EmitModule, InnerLoopHasNoIndexArithmetic) {
  const Kernel kernels[] = {contraction(512, 512, 512, 6)};
  const auto module = emit_module(kernels, nullptr, {true, 1});
  size_t multiplies = 0;
  for (std::byte b : module) multiplies += b == std::byte{0x6c};  // i32.mul
  EXPECT_LE(multiplies, 6u);
  EXPECT_LT(module.size(), 700u);
}

}  // namespace
}  // namespace gossamer::codegen::wasm
