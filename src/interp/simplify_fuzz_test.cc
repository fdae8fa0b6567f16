// Random kernels must compute the same after simplify: loops of symbolic extent, conditions, Lets,
// vectors.
#include <gtest/gtest.h>

#include "interp/eval.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "ir/verify.h"

namespace gossamer::interp {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::index;
using ir::LoopKind;
using ir::Stmt;
using ir::Var;

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed * 2654435761u + 17) {}

  ir::Kernel kernel() {
    n_ = ir::var("n");
    m_ = ir::var("m");
    vars_ = {n_, m_};
    in_ = ir::buffer("A", DType::i32, {index(size)});
    out_ = ir::buffer("C", DType::i32, {index(size)});
    Var g = ir::var("g");
    Expr extent = below(2) ? Expr(n_) : index(1 + below(6));
    vars_.push_back(g);
    Stmt body = statement(4);
    return {
        "fuzz", {{in_, false}, {out_, true}}, {n_, m_}, ir::loop(g, extent, LoopKind::grid, body)};
  }

  int below(int limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(limit));
  }

 private:
  static constexpr int size = 64;

  Expr leaf() {
    if (below(3) == 0) return index(below(20) - 3);
    return vars_[static_cast<size_t>(below(static_cast<int>(vars_.size())))];
  }
  Expr number(int depth) {
    if (depth == 0) return leaf();
    Expr a = number(depth - 1);
    static constexpr int divisors[] = {1, 2, 3, 4, 8, 12, 16};
    Expr by = below(4) ? index(divisors[below(7)]) : Expr(below(2) ? n_ : m_);
    switch (below(9)) {
      case 0:
      case 1:
        return a + number(depth - 1);
      case 2:
        return a - number(depth - 1);
      case 3:
      case 4:
        return a * by;
      case 5:
        return ir::floordiv(a, by);
      case 6:
        return ir::floormod(a, by);
      case 7:
        return below(2) ? ir::min(a, number(depth - 1)) : ir::max(a, number(depth - 1));
      default:
        return ir::select(condition(), a, number(depth - 1));
    }
  }
  Expr condition() {
    static constexpr BinaryOp ops[] = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt,
                                       BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
    Expr c = ir::binary(ops[below(6)], number(1), number(1));
    if (below(3) == 0) c = c && condition();
    if (below(4) == 0) c = c || condition();
    return below(5) ? c : Expr(!c);
  }
  Stmt statement(int depth) {
    if (depth == 0 || below(6) == 0) return store();
    switch (below(6)) {
      case 0:
      case 1: {
        Var v = ir::var("i");
        Expr extent = below(3) ? index(below(5)) : below(2) ? Expr(below(2) ? n_ : m_) : number(1);
        extent = ir::min(extent, index(5));
        if (below(3) == 0) extent = below(2) ? Expr(n_) : Expr(m_);
        return scoped(
            v, [&](Stmt body) { return ir::loop(v, extent, LoopKind::serial, body); }, depth);
      }
      case 2: {
        Var v = ir::var("x");
        Expr value = below(4) ? number(2) : leaf();
        return scoped(v, [&](Stmt body) { return ir::let(v, value, body); }, depth);
      }
      case 3: {
        Expr c = condition();
        return ir::branch(c, statement(depth - 1), below(2) ? statement(depth - 1) : Stmt());
      }
      default:
        return ir::block({statement(depth - 1), statement(depth - 1)});
    }
  }
  template <class F>
  Stmt scoped(const Var& v, const F& make, int depth) {
    vars_.push_back(v);
    Stmt body = statement(depth - 1);
    vars_.pop_back();
    return make(body);
  }
  Stmt store() {
    const auto value = [&](Expr e) { return ir::cast(DType::i32, e); };
    if (below(3) == 0) {  // four lanes
      Expr lanes = ir::ramp(number(1), below(3), 4);
      auto splat = [](Expr e) { return ir::broadcast(e, 4); };
      Expr e = ir::floordiv(lanes + splat(number(1)), splat(index(1 + below(8)))) +
               ir::floormod(lanes, splat(index(1 + below(8)))) * splat(index(below(4)));
      if (below(2)) e = ir::select(lanes < splat(number(1)), e, splat(number(1)));
      Expr at = ir::floormod(ir::ramp(number(1), 1, 4), splat(index(size)));
      return ir::store(out_, {at}, ir::cast(ir::Type(DType::i32, 4), e));
    }
    Expr at = ir::floormod(number(2), index(size));
    Expr e = value(number(3));
    if (below(3) == 0) e = e + ir::load(in_, {ir::floormod(number(2), index(size))});
    return ir::store(out_, {at}, e);
  }

  uint64_t state_;
  Var n_, m_;
  std::vector<Expr> vars_;
  ir::Buffer in_, out_;
};

TEST(SimplifyFuzz, KernelsComputeTheSame) {
  size_t before = 0, after = 0;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    Generator generator(seed);
    const ir::Kernel kernel = generator.kernel();
    ir::Kernel simple = kernel;
    ir::Bounds bounds;
    for (const Var& v : kernel.scalars) bounds.set(v.get(), {0, 1 << 20});
    simple.body = ir::simplify(kernel.body, bounds);
    ASSERT_TRUE(ir::verify(kernel)) << seed << ir::verify(kernel).error().to_string();
    ASSERT_TRUE(ir::verify(simple))
        << seed << ir::verify(simple).error().to_string() << ir::print(kernel) << ir::print(simple);
    before += ir::print(kernel).size();
    after += ir::print(simple).size();
    for (int trial = 0; trial < 3; ++trial) {
      const int64_t scalars[] = {generator.below(6), generator.below(6)};
      Memory a, b;
      for (Memory* memory : {&a, &b}) {
        auto& in = (*memory)[kernel.params[0].buffer.get()];
        for (int i = 0; i < 64 * 4; ++i) in.push_back(static_cast<std::byte>(i * 7));
      }
      ASSERT_TRUE(run(kernel, a, scalars));
      ASSERT_TRUE(run(simple, b, scalars)) << ir::print(simple);
      ASSERT_EQ(a, b) << "seed " << seed << " n " << scalars[0] << " m " << scalars[1] << "\n"
                      << ir::print(kernel) << ir::print(simple);
    }
  }
  EXPECT_LT(after, before);
}

}  // namespace
}  // namespace gossamer::interp
