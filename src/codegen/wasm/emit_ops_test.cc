// Every operation of the IR that reaches the generator, on every type and on scalars and vectors,
// against the arithmetic that the interpreter uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "codegen/wasm/emit.h"
#include "codegen/wasm/run_module.h"
#include "ir/build.h"
#include "ir/scalar.h"

namespace gossamer::codegen::wasm {
namespace {

using namespace ir;

constexpr int count = 48;  // elements of a test buffer
const DType all_types[] = {DType::f32, DType::f64, DType::i8,  DType::i16, DType::i32,
                           DType::i64, DType::u8,  DType::u16, DType::u32, DType::u64};

// Edge cases first, each against each in pairs, then ordinary numbers.
std::vector<Scalar> samples(DType dtype, int seed) {
  std::vector<double> interesting = {0, 1, -1, 2, 3, -7, 5, 100, -128, 127};
  if (is_float(dtype)) {
    for (double v : {0.5, -0.5, 1.5, 2.5, -2.5, 1e10, -3e9, 3e38, 1e-20, -0.0})
      interesting.push_back(v);
    interesting.push_back(std::numeric_limits<double>::infinity());
    interesting.push_back(-std::numeric_limits<double>::infinity());
    interesting.push_back(std::numeric_limits<double>::quiet_NaN());
  }
  std::vector<Scalar> result;
  uint64_t state = static_cast<uint64_t>(seed) * 7919 + 1;
  for (int k = 0; k < count; ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t pick = (state >> 33) % interesting.size();
    if (dtype == DType::boolean) {
      result.push_back(Scalar::of_int(dtype, static_cast<int64_t>((state >> 40) & 1)));
    } else if (!is_float(dtype) && k % 8 == 3) {
      result.push_back(
          Scalar::of_int(dtype, *as_int(k % 16 == 3 ? lowest(dtype) : highest(dtype))));
    } else if (k % 3 == 2) {
      const double number = static_cast<double>(static_cast<int64_t>(state) >> 44) / 16.0;
      result.push_back(is_float(dtype) ? Scalar::of_float(dtype, number)
                                       : Scalar::of_int(dtype, static_cast<int64_t>(state >> 12)));
    } else {
      result.push_back(is_float(dtype)
                           ? Scalar::of_float(dtype, interesting[pick])
                           : Scalar::of_int(dtype, static_cast<int64_t>(interesting[pick])));
    }
  }
  return result;
}

Memory bytes_of(const std::vector<Scalar>& values) {
  Memory memory(values.size() * static_cast<size_t>(byte_size(values[0].dtype)));
  for (size_t k = 0; k < values.size(); ++k) {
    write_scalar(values[k], memory.data() + k * static_cast<size_t>(byte_size(values[0].dtype)));
  }
  return memory;
}

// One kernel an operation, all of a test in one module.
class Batch {
 public:
  using Make = std::function<Expr(std::vector<Expr>)>;
  using Oracle = std::function<Scalar(std::vector<Scalar>)>;

  // out[i] = make(in0[i], in1[i], ...) with vectors of `lanes`.
  void add(std::string name, std::vector<DType> inputs, DType output, int lanes, const Make& make,
           const Oracle& oracle) {
    Case test{std::move(name), output, {}, {}};
    Job job{"k" + std::to_string(kernels_.size()), {}, {}, count / lanes};
    Kernel kernel;
    const Var g = var("g");
    const Expr at = ramp(g * index(lanes), 1, lanes);
    std::vector<Expr> operands;
    std::vector<std::vector<Scalar>> values;
    for (DType dtype : inputs) {
      const Buffer in = buffer("in", dtype, {index(count)});
      kernel.params.push_back({in, false});
      operands.push_back(load(in, {at}));
      values.push_back(samples(dtype, static_cast<int>(values.size() * 13 + kernels_.size())));
      job.buffers.push_back(bytes_of(values.back()));
    }
    const Buffer out = buffer("out", output, {index(count)});
    kernel.params.push_back({out, true});
    kernel.body = loop(g, index(count / lanes), LoopKind::grid, store(out, {at}, make(operands)));
    for (int k = 0; k < count; ++k) {
      std::vector<Scalar> arguments;
      for (auto& list : values) arguments.push_back(list[static_cast<size_t>(k)]);
      test.expected.push_back(oracle(arguments));
      test.inputs.push_back(std::move(arguments));
    }
    job.buffers.push_back(bytes_of(test.expected));
    std::fill(job.buffers.back().begin(), job.buffers.back().end(), std::byte{0});
    kernels_.push_back(std::move(kernel));
    jobs_.push_back(std::move(job));
    cases_.push_back(std::move(test));
  }

  void run(bool relaxed, double tolerance = 0) {
    run_jobs(emit_module(kernels_, nullptr, {relaxed, 1}), jobs_);
    for (size_t c = 0; c < cases_.size(); ++c) {
      const Case& test = cases_[c];
      const Memory& got = jobs_[c].buffers.back();
      int shown = 0;
      for (size_t k = 0; k < test.expected.size() && shown < 3; ++k) {
        const Scalar result =
            read_scalar(test.output, got.data() + k * static_cast<size_t>(byte_size(test.output)));
        const Scalar wanted = test.expected[k];
        bool same = is_float(test.output)
                        ? (result.f == wanted.f || (std::isnan(result.f) && std::isnan(wanted.f)))
                        : result.i == wanted.i;
        if (!same && tolerance > 0)
          same = std::abs(result.f - wanted.f) <= tolerance * std::abs(wanted.f);
        if (same) continue;
        ++shown;
        std::string inputs;
        for (const Scalar& in : test.inputs[k]) inputs += " " + std::to_string(in.as_double());
        ADD_FAILURE() << test.name << "[" << k << "](" << inputs << " ) is " << result.as_double()
                      << ", not " << wanted.as_double();
      }
    }
  }

 private:
  struct Case {
    std::string name;
    DType output;
    std::vector<Scalar> expected;
    std::vector<std::vector<Scalar>> inputs;
  };
  std::vector<Kernel> kernels_;
  std::vector<Job> jobs_;
  std::vector<Case> cases_;
};

std::string name_for(std::string_view op, DType dtype, int lanes) {
  return std::string(op) + " " + std::string(name_of(dtype)) + "x" + std::to_string(lanes);
}

const int lane_counts[] = {1, 2, 3, 4, 8};

TEST(EmitOps, Binary) {
  using enum BinaryOp;
  Batch batch;
  for (int lanes : lane_counts) {
    for (DType dtype : all_types) {
      for (BinaryOp op : {add, sub, mul, div, rem, floordiv, floormod, min,     max, eq,
                          ne,  lt,  le,  gt,  ge,  bit_and,  bit_or,   bit_xor, shl, shr}) {
        const bool no_float = is_bitwise(op) || op == rem || op == floordiv || op == floormod;
        if (is_float(dtype) && no_float) continue;
        const DType output = is_comparison(op) ? DType::boolean : dtype;
        batch.add(
            name_for(name_of(op), dtype, lanes), {dtype, dtype}, output, lanes,
            [&](std::vector<Expr> in) { return binary(op, in[0], in[1]); },
            [&](std::vector<Scalar> in) { return apply(op, in[0], in[1]); });
      }
    }
    for (BinaryOp op : {logical_and, logical_or, logical_xor, eq, ne}) {
      batch.add(
          name_for(name_of(op), DType::boolean, lanes), {DType::boolean, DType::boolean},
          DType::boolean, lanes, [&](std::vector<Expr> in) { return binary(op, in[0], in[1]); },
          [&](std::vector<Scalar> in) { return apply(op, in[0], in[1]); });
    }
  }
  batch.run(false);
}

// A constant on the right selects other instructions.
TEST(EmitOps, BinaryWithConstant) {
  using enum BinaryOp;
  Batch batch;
  for (int lanes : {1, 4}) {
    for (int64_t constant : {0, 1, 2, 3, 8, 40, -1, -3}) {
      for (DType dtype : all_types) {
        for (BinaryOp op : {add, mul, div, rem, floordiv, floormod, min, max, lt, ge, shl, shr}) {
          const bool no_float = is_bitwise(op) || op == rem || op == floordiv || op == floormod;
          if (is_float(dtype) && no_float) continue;
          const DType output = is_comparison(op) ? DType::boolean : dtype;
          const Scalar right = Scalar::of_int(dtype, constant);
          batch.add(
              name_for(name_of(op), dtype, lanes) + " by " + std::to_string(constant), {dtype},
              output, lanes,
              [&](std::vector<Expr> in) {
                return binary(op, in[0], constant_int(in[0]->type, constant));
              },
              [=](std::vector<Scalar> in) { return apply(op, in[0], right); });
        }
      }
    }
  }
  batch.run(false);
}

TEST(EmitOps, Unary) {
  using enum UnaryOp;
  Batch batch;
  for (int lanes : lane_counts) {
    for (DType dtype : all_types) {
      for (UnaryOp op :
           {neg, bit_not, UnaryOp::abs, floor, ceil, round, trunc, sqrt, is_nan, is_inf}) {
        if (is_float(dtype) ? op == bit_not : op == sqrt) continue;
        const DType output = gives_boolean(op) ? DType::boolean : dtype;
        batch.add(
            name_for(name_of(op), dtype, lanes), {dtype}, output, lanes,
            [&](std::vector<Expr> in) { return unary(op, in[0]); },
            [&](std::vector<Scalar> in) { return apply(op, in[0]); });
      }
    }
    batch.add(
        name_for("not", DType::boolean, lanes), {DType::boolean}, DType::boolean, lanes,
        [&](std::vector<Expr> in) { return unary(logical_not, in[0]); },
        [&](std::vector<Scalar> in) { return apply(logical_not, in[0]); });
  }
  batch.run(false);
}

TEST(EmitOps, Cast) {
  Batch batch;
  for (int lanes : lane_counts) {
    std::vector<DType> types(std::begin(all_types), std::end(all_types));
    types.push_back(DType::boolean);
    for (DType from : types) {
      for (DType to : types) {
        batch.add(
            name_for(std::string(name_of(from)) + " to", to, lanes), {from}, to, lanes,
            [&](std::vector<Expr> in) { return cast(in[0]->type.with_dtype(to), in[0]); },
            [=](std::vector<Scalar> in) { return convert(to, in[0]); });
        if (from == to || byte_size(from) != byte_size(to) || from == DType::boolean ||
            to == DType::boolean)
          continue;
        batch.add(
            name_for(std::string(name_of(from)) + " as", to, lanes), {from}, to, lanes,
            [&](std::vector<Expr> in) { return bitcast(in[0]->type.with_dtype(to), in[0]); },
            [=](std::vector<Scalar> in) { return *reinterpret(to, in[0]); });
      }
    }
  }
  batch.run(false);
}

TEST(EmitOps, SelectAndFma) {
  for (bool relaxed : {false, true}) {
    Batch batch;
    for (int lanes : lane_counts) {
      for (DType dtype : all_types) {
        batch.add(
            name_for("select", dtype, lanes), {DType::boolean, dtype, dtype}, dtype, lanes,
            [&](std::vector<Expr> in) { return select(in[0], in[1] + in[2], in[2]); },
            [=](std::vector<Scalar> in) {
              return in[0].i ? apply(BinaryOp::add, in[1], in[2]) : in[2];
            });
        if (is_float(dtype)) continue;  // rounded once or twice: below
        batch.add(
            name_for("fma", dtype, lanes), {dtype, dtype, dtype}, dtype, lanes,
            [&](std::vector<Expr> in) { return fma(in[0], in[1], in[2]); },
            [=](std::vector<Scalar> in) { return apply_fma(in[0], in[1], in[2]); });
      }
      for (const int64_t terms : {2, 4})
        for (DType a : {DType::i32, DType::u32})
          for (DType b : {DType::i32, DType::u32})
            batch.add(
                name_for(cat("dot", terms, " of ", name_of(a)), b, lanes), {a, b, DType::i32},
                DType::i32, lanes,
                [=](std::vector<Expr> in) { return dot(in[0], in[1], in[2], terms); },
                [=](std::vector<Scalar> in) { return apply_dot(in[0], in[1], in[2], terms); });
      batch.add(
          name_for("select", DType::boolean, lanes),
          {DType::boolean, DType::boolean, DType::boolean}, DType::boolean, lanes,
          [&](std::vector<Expr> in) { return select(in[0], in[1], in[2]); },
          [=](std::vector<Scalar> in) { return in[0].i ? in[1] : in[2]; });
    }
    batch.run(relaxed);
  }
}

// Node.js 20 computes it wrong, so the browsers' tests run it.
TEST(EmitOps, DotsOfBytesByRelaxedSimd) {
  const Buffer bytes = buffer("a", DType::u32, {index(4)}),
               words = buffer("b", DType::i32, {index(4)}),
               out = buffer("out", DType::i32, {index(4)});
  const Var g = var("g");
  const Expr all = ramp(g * index(4), 1, 4);
  Kernel kernel;
  kernel.params = {{bytes, false}, {words, false}, {out, true}};
  const Expr sum = dot(load(bytes, {all}), load(words, {all}), zero(Type(DType::i32, 4)), 4);
  kernel.body = loop(g, index(1), LoopKind::grid, store(out, {all}, sum));
  const auto has_dot = [&](bool dots) {
    constexpr std::array opcode{std::byte{0xfd}, std::byte{0x93}, std::byte{0x02}};
    const auto module = emit_module({&kernel, 1}, nullptr, {true, 1, {}, dots});
    return !std::ranges::search(module, opcode).empty();
  };
  EXPECT_TRUE(has_dot(true));
  EXPECT_FALSE(has_dot(false));
}

TEST(EmitOps, MultiplyAdd) {
  for (bool relaxed : {false, true}) {
    Batch batch;
    for (int lanes : lane_counts) {
      for (DType dtype : {DType::f32, DType::f64}) {
        auto square = [](Expr a) { return a * a; };
        auto squared = [](Scalar a) { return apply(BinaryOp::mul, a, a); };
        // Positive terms, so that nothing cancels.
        batch.add(
            name_for("a*b+c", dtype, lanes), {dtype, dtype}, dtype, lanes,
            [&](std::vector<Expr> in) { return square(in[0]) + square(in[1]); },
            [=](std::vector<Scalar> in) {
              return apply(BinaryOp::add, squared(in[0]), squared(in[1]));
            });
        batch.add(
            name_for("c-a*b", dtype, lanes), {dtype, dtype}, dtype, lanes,
            [&](std::vector<Expr> in) { return -unary(UnaryOp::abs, in[1]) - square(in[0]); },
            [=](std::vector<Scalar> in) {
              const Scalar negative = apply(UnaryOp::neg, apply(UnaryOp::abs, in[1]));
              return apply(BinaryOp::sub, negative, squared(in[0]));
            });
      }
    }
    batch.run(relaxed, 1e-6);
  }
}

}  // namespace
}  // namespace gossamer::codegen::wasm
