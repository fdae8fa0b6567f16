// Random loop programs, against the interpreter: what is hoisted, shared, turned into pointers or
// kept in locals must not show. Every failure names its seed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/wasm/emit.h"
#include "codegen/wasm/run_module.h"
#include "interp/eval.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/simplify.h"

namespace gossamer::codegen::wasm {
namespace {

using namespace ir;

constexpr int64_t input_size = 256, chunk = 64, grid_size = 5;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  ir::Kernel kernel() {
    floats_ = buffer("floats", DType::f32, {ir::index(input_size)});
    ints_ = buffer("ints", DType::i32, {ir::index(input_size)});
    out_ = buffer("out", DType::f32, {ir::index(chunk * grid_size)});
    n_ = var("n");
    tile_ = buffer("tile", DType::f32, {ir::index(8)}, ir::Scope::priv);
    cells_ = buffer("cells", DType::f32, {ir::index(16)}, ir::Scope::priv);
    const ir::Var g = var("g");
    grid_ = g;
    indices_ = {Expr(n_), Expr(g)};
    numbers_ = {};
    std::vector<Stmt> start;
    for (int k = 0; k < 2; ++k)
      start.push_back(
          store(tile_, {ramp(ir::index(4 * k), 1, 4)}, load_of(floats_, input_size, 4)));
    const ir::Var c = var("c");
    start.push_back(loop(c, ir::index(16), ir::LoopKind::serial,
                         store(cells_, {Expr(c)}, cast(DType::f32, Expr(c)))));
    start.push_back(block_of(3));
    start.push_back(store(out_, {Expr(g) * ir::index(chunk)}, load(tile_, {ir::index(3)})));
    Stmt body = alloc(tile_, alloc(cells_, block(std::move(start))));
    return {"random",
            {{floats_, false}, {ints_, false}, {out_, true}},
            {n_},
            loop(g, ir::index(grid_size), ir::LoopKind::grid, body)};
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  template <class T>
  const T& any(const std::vector<T>& list) {
    return list[random_() % list.size()];
  }

  Expr index_expr(int depth) {
    if (depth == 0 || pick(4) == 0) return pick(3) == 0 ? ir::index(pick(9) - 3) : any(indices_);
    const Expr a = index_expr(depth - 1);
    switch (pick(7)) {
      case 0:
      case 1:
        return a + index_expr(depth - 1);
      case 2:
        return a - index_expr(depth - 1);
      case 3:
        return a * ir::index(pick(7) - 1);
      case 4:
        return floordiv(a, 1 + pick(5));
      case 5:
        return floormod(a, 1 + pick(9));
      default:
        return pick(2) ? min(a, index_expr(depth - 1)) : a * any(indices_);
    }
  }

  // In bounds, often plainly affine.
  Expr inside(int64_t extent, int lanes) {
    if (pick(2) == 0) {
      Expr sum = ir::index(pick(4));
      for (const Expr& v : indices_) {
        if (pick(2)) sum = sum + v * ir::index(pick(3));
      }
      // All variables are below 8, and there are few.
      return extent >= input_size ? sum : floormod(sum, extent - lanes + 1);
    }
    return floormod(index_expr(2), extent - lanes + 1);
  }

  Expr load_of(const ir::Buffer& from, int64_t extent, int lanes) {
    return load(from, {ramp(inside(extent, lanes), 1, lanes)});
  }

  Expr number(int depth) {
    if (depth == 0 || pick(5) == 0) {
      switch (pick(6)) {
        case 0:
          return constant(DType::f32, pick(9) - 4);
        case 1:
          return load(tile_, {ir::index(pick(8))});
        case 2:
          return load(cells_, {inside(16, 1)});
        case 3:
          if (!numbers_.empty()) return any(numbers_);
          [[fallthrough]];
        case 4:
          return cast(DType::f32, load_of(ints_, input_size, 1));
        default:
          return load_of(floats_, input_size, 1);
      }
    }
    const Expr a = number(depth - 1);
    switch (pick(6)) {
      case 0:
        return a + number(depth - 1);
      case 1:
        return a - number(depth - 1);
      case 2:
        return a * constant(DType::f32, 0.5);
      case 3:
        return max(a, number(depth - 1));
      case 4: {
        const Expr where = index_expr(2);
        const Expr in = (where >= ir::index(0)) && (where < ir::index(input_size));
        return select(in, load(floats_, {where}), a);
      }
      default:
        return select(index_expr(1) < index_expr(1), a, number(depth - 1));
    }
  }

  Expr vector(int depth) {
    const ir::Type type(DType::f32, 4);
    if (depth == 0) {
      switch (pick(4)) {
        case 0:
          return broadcast(load_of(floats_, input_size, 1), 4);
        case 1:
          return load_of(cells_, 16, 4);
        case 2:
          return load(tile_, {ramp(ir::index(4 * pick(2)), 1, 4)});
        default:
          return load_of(floats_, input_size, 4);
      }
    }
    const Expr a = vector(depth - 1);
    switch (pick(4)) {
      case 0:
        return a + vector(depth - 1);
      case 1:
        return max(a, vector(depth - 1));
      case 2:
        return select(broadcast(index_expr(1) < index_expr(1), 4), a, vector(depth - 1));
      default:
        return a * constant(type, 0.25) - broadcast(number(1), 4);
    }
  }

  Stmt block_of(int depth) {
    std::vector<Stmt> stmts;
    const int count = 1 + pick(3);
    for (int k = 0; k < count; ++k) stmts.push_back(stmt(depth));
    return block(std::move(stmts));
  }

  Stmt stmt(int depth) {
    if (depth > 0 && pick(3) != 0) {
      switch (pick(5)) {
        case 0: {
          const ir::Var v = var("i");
          const Expr extent = pick(3) == 0   ? Expr(n_)
                              : pick(3) == 0 ? floormod(index_expr(1), 4)
                                             : ir::index(1 + pick(4));
          indices_.push_back(v);
          Stmt result = loop(v, extent, ir::LoopKind::serial, block_of(depth - 1));
          indices_.pop_back();
          return result;
        }
        case 1:
          return branch(index_expr(2) < index_expr(1), block_of(depth - 1),
                        pick(2) ? block_of(depth - 1) : Stmt());
        case 2: {
          const ir::Var v = var("x", DType::f32);
          const Expr value = number(2);
          numbers_.push_back(v);
          Stmt result = let(v, value, block_of(depth - 1));
          numbers_.pop_back();
          return result;
        }
        case 3: {
          const ir::Var v = var("at");
          const Expr value = floormod(index_expr(2), 8);
          indices_.push_back(v);
          Stmt result = let(v, value, block_of(depth - 1));
          indices_.pop_back();
          return result;
        }
        default:
          return block_of(depth - 1);
      }
    }
    const Expr mine = Expr(grid_) * ir::index(chunk);
    switch (pick(6)) {
      case 0:
        return store(tile_, {ir::index(pick(8))}, number(2));
      case 1:
        return store(tile_, {ramp(ir::index(4 * pick(2)), 1, 4)}, vector(2));
      case 2:
        return store(cells_, {inside(16, 1)}, number(2));
      case 3:
        return store(cells_, {ramp(inside(16, 4), 1, 4)}, vector(1));
      case 4:
        return store(out_, {ramp(mine + floormod(index_expr(2), chunk - 3), 1, 4)}, vector(2));
      default:
        return store(out_, {mine + floormod(index_expr(2), chunk)}, number(3));
    }
  }

  std::mt19937 random_;
  ir::Buffer floats_, ints_, out_, tile_, cells_;
  ir::Var n_, grid_;
  std::vector<Expr> indices_, numbers_;
};

TEST(EmitFuzz, RandomPrograms) {
  const int count = std::getenv("GOSSAMER_FUZZ") ? std::atoi(std::getenv("GOSSAMER_FUZZ")) : 300;
  const uint32_t first = std::getenv("GOSSAMER_SEED")
                             ? static_cast<uint32_t>(std::atoi(std::getenv("GOSSAMER_SEED")))
                             : 1;
  std::vector<float> floats(input_size);
  std::vector<int32_t> ints(input_size);
  for (size_t k = 0; k < input_size; ++k) {
    floats[k] = static_cast<float>((k * 37 + 11) % 101) * 0.125f - 4.0f;
    ints[k] = static_cast<int32_t>((k * 53 + 7) % 97) - 48;
  }
  std::vector<ir::Kernel> kernels;
  std::vector<Job> jobs;
  std::vector<Memory> expected;
  std::vector<uint32_t> seeds;
  for (int k = 0; k < count; ++k) {
    const uint32_t seed = first + static_cast<uint32_t>(k);
    const ir::Kernel kernel = Generator(seed).kernel();
    const int32_t n = static_cast<int32_t>(seed % 5);
    interp::Memory memory;
    memory[kernel.params[0].buffer.get()] = memory_of(floats);
    memory[kernel.params[1].buffer.get()] = memory_of(ints);
    memory[kernel.params[2].buffer.get()] = Memory(grid_size * chunk * 4);
    const int64_t scalars[] = {n};
    auto ran = interp::run(kernel, memory, scalars);
    ASSERT_TRUE(ran) << "seed " << seed << ": " << ran.error().to_string();
    expected.push_back(memory[kernel.params[2].buffer.get()]);
    jobs.push_back({"k" + std::to_string(kernels.size()),
                    {memory_of(floats), memory_of(ints), Memory(grid_size * chunk * 4)},
                    {n},
                    grid_size});
    kernels.push_back(kernel);
    seeds.push_back(seed);
  }
  run_jobs(emit_module(kernels, nullptr, {false, 1}), jobs);
  int failures = 0;
  for (size_t k = 0; k < jobs.size() && failures < 3; ++k) {
    const auto got = values_of<float>(jobs[k].buffers[2]), wanted = values_of<float>(expected[k]);
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
      ADD_FAILURE() << "seed " << seeds[k] << " [" << i << "] is " << got[i] << ", not "
                    << wanted[i] << "\n"
                    << print(kernels[k]);
      ++failures;
      break;
    }
  }
}

}  // namespace
}  // namespace gossamer::codegen::wasm
