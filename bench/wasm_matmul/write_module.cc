// Writes a module with hand-scheduled matrix multiplications: write_module ROWS RELAXED FILE
// [REPEATS]. With REPEATS it also prints how long the emitter takes a kernel.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "codegen/wasm/emit.h"
#include "ir/build.h"

using namespace gossamer::ir;

namespace {

constexpr int64_t size = 512;

// C[m, n] = A[m, k] * B packed [n/8][k][8]: tiles of rows x 8, k unrolled by 4, a grid of (panels,
// row tiles).
Kernel matmul(int64_t rows) {
  const int64_t tiles = size / rows;
  const Buffer a = buffer("a", DType::f32, {index(size * size)});
  const Buffer b = buffer("b", DType::f32, {index(size * size)});
  const Buffer c = buffer("c", DType::f32, {index(size * size)});
  const Buffer acc = buffer("acc", DType::f32, {index(rows * 8)}, Scope::priv);
  const Var g = var("g"), k = var("k");
  const Expr panel = floordiv(g, tiles), row = floormod(g, tiles) * index(rows);
  auto lanes = [](Expr base) { return ramp(std::move(base), 1, 4); };
  std::vector<Stmt> init, step, finish;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t h = 0; h < 2; ++h) {
      const Expr slot = lanes(index(r * 8 + h * 4));
      init.push_back(store(acc, {slot}, zero(Type(DType::f32, 4))));
      const Expr to = (row + index(r)) * index(size) + panel * index(8) + index(4 * h);
      finish.push_back(store(c, {lanes(to)}, load(acc, {slot})));
    }
  }
  for (int64_t u = 0; u < 4; ++u) {
    const Expr at = k * index(4) + index(u);
    for (int64_t r = 0; r < rows; ++r) {
      const Expr left = broadcast(load(a, {(row + index(r)) * index(size) + at}), 4);
      for (int64_t h = 0; h < 2; ++h) {
        const Expr slot = lanes(index(r * 8 + h * 4));
        const Expr right = load(b, {lanes((panel * index(size) + at) * index(8) + index(4 * h))});
        step.push_back(store(acc, {slot}, fma(left, right, load(acc, {slot}))));
      }
    }
  }
  Stmt body =
      block({block(init), loop(k, index(size / 4), LoopKind::serial, block(step)), block(finish)});
  body = loop(g, index(size / 8 * tiles), LoopKind::grid, alloc(acc, body));
  return {"matmul", {{a, false}, {b, false}, {c, true}}, {}, body};
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  const Kernel kernels[] = {matmul(std::atoi(words[1]))};
  const gossamer::codegen::wasm::WasmOptions options{words[2][0] == '1', 1};
  const auto module = gossamer::codegen::wasm::emit_module(kernels, nullptr, options);
  std::FILE* file = std::fopen(words[3], "wb");
  if (!file || std::fwrite(module.data(), 1, module.size(), file) != module.size()) return 1;
  std::fclose(file);
  if (count > 4) {
    const int repeats = std::atoi(words[4]);
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < repeats; ++k)
      gossamer::codegen::wasm::emit_module(kernels, nullptr, options);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    std::printf("%s rows, %zu bytes: %.1f us a kernel\n", words[1], module.size(),
                time.count() / repeats);
  }
  return 0;
}
