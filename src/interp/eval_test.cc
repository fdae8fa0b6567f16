#include "interp/eval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/parse.h"

namespace gossamer::interp {
namespace {

std::vector<double> iota(size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  return values;
}

struct Ran {
  std::vector<double> values;
  std::string error;
};

// Runs a kernel on 0, 1, 2, ... in every parameter that it does not write, and returns the last one
// it writes.
Ran ran(std::string_view text, std::vector<int64_t> scalars = {}, std::optional<Chunk> chunk = {}) {
  auto k = ir::parse_kernel(text);
  if (!k) return {{}, k.error().to_string()};
  Memory memory;
  const ir::BufferNode* out = nullptr;
  if (scalars.size() != k->scalars.size())
    return {{}, run(*k, memory, scalars).error().to_string()};
  for (const auto& param : k->params) {
    const auto extents = extents_of(*param.buffer, *k, scalars);
    const Place place(*param.buffer, extents);
    if (param.written) {
      out = param.buffer.get();
    } else {
      memory[param.buffer.get()] =
          pack(*param.buffer, extents, iota(static_cast<size_t>(place.logical_elements())));
    }
  }
  if (auto result = run(*k, memory, scalars, chunk); !result)
    return {{}, result.error().to_string()};
  return {unpack(*out, extents_of(*out, *k, scalars), memory[out]), ""};
}

using Values = std::vector<double>;

TEST(Eval, LoopsLetsAndScalars) {
  const char* text = R"(kernel k[n](A: f32[n], write C: f32[n]) {
  let last: index = n - 1
  grid g in 0..n {
    alloc sum: f32[1]
    sum[0] = 0.0
    for i in 0..g + 1 {
      sum[0] = sum[0] + A[min(i, last)]
    }
    if g % 2 == 0 {
      C[g] = sum[0]
    } else {
      C[g] = -sum[0]
    }
  }
})";
  EXPECT_EQ(ran(text, {5}).values, (Values{0, -1, 3, -6, 10}));
  const Values part = ran(text, {5}, Chunk{1, 3}).values;
  EXPECT_TRUE(std::isnan(part[0]) && std::isnan(part[3]));
  EXPECT_EQ(part[1], -1);
  EXPECT_EQ(part[2], 3);
  EXPECT_EQ(ran(text, {}).error, "k takes 1 scalars, not 0");
}

TEST(Eval, VectorsAndLayouts) {
  // A transposed packing by 4, read logically and flat.
  const char* logical = R"(kernel k(A: f32[4, 6] layout [1/4, 0, 1%4], write C: f32[4, 4]) {
  grid g in 0..4 {
    C[x4(g), ramp(0, 1, 4)] = A[x4(g), ramp(2, 1, 4)]
  }
})";
  EXPECT_EQ(ran(logical).values,
            (Values{2, 3, 4, 5, 8, 9, 10, 11, 14, 15, 16, 17, 20, 21, 22, 23}));
  const char* flat = R"(kernel k(A: f32[4, 6] layout [1/4, 0, 1%4], write C: f32[2, 4]) {
  C[ramp(0, 1, 4)] = A[ramp(4, 1, 4)]
  C[ramp(4, 1, 4)] = vec(A[16], A[17], lane(x4(1.5), 2), f32(bitcast<u32>(1.0)))
})";
  EXPECT_EQ(ran(flat).values, (Values{6, 7, 8, 9, 4, 5, 1.5, 1065353216}));
}

TEST(Eval, Textures) {
  const char* text =
      R"(kernel k(A: f32[3, 10] layout flat[0/4, 0%4] texture 4, write C: f32[16, 2] layout [0/4, 1, 0%4] texture 2 layers 2) {
  grid g in 0..4 {
    C[g % 2, g // 2, 0] = A[g, 0, 0]:f32x4
    C[g % 2, g // 2, 1] = A[g, 1, 0]:f32x4 * x4(2.0)
  }
})";
  const Ran r = ran(text);
  ASSERT_EQ(r.error, "");
  for (size_t i = 0; i < 14; ++i) {
    EXPECT_EQ(r.values[i * 2], static_cast<double>(i));
    EXPECT_EQ(r.values[i * 2 + 1], 2 * static_cast<double>(i + 16));
  }
}

TEST(Eval, GroupsAndBarriers) {
  // Each invocation reads what its neighbour wrote before the barrier.
  const char* text = R"(kernel k(A: f32[16], write C: f32[16]) {
  grid g in 0..2 {
    alloc tile: f32[8] group
    group t in 0..8 {
      alloc mine: f32[1]
      mine[0] = A[g * 8 + t]
      tile[t] = mine[0]
      barrier group
      for i in 0..t % 2 + 1 {
        mine[0] = mine[0] + tile[(t + 1) % 8] * 100.0
      }
      C[g * 8 + t] = mine[0]
    }
  }
})";
  EXPECT_EQ(ran(text).values, (Values{100, 401, 302, 803, 504, 1205, 706, 7, 908, 2009, 1110, 2411,
                                      1312, 2813, 1514, 1615}));
}

TEST(Eval, TypesRoundAfterEachOperation) {
  const char* text = R"(kernel k(write C: f64[6]) {
  C[0] = f64(0.1 + 0.2)
  C[1] = f64(2049.0f16 + 1.0f16)
  C[2] = f64(250u8 + 10u8)
  C[3] = f64(i8(300.0))
  C[4] = f64(1.0bf16 + 0.001953125bf16)
  C[5] = f64(-7i32 // 2i32 * 10i32 + -7i32 / 2i32)
})";
  EXPECT_EQ(ran(text).values, (Values{static_cast<double>(0.1f + 0.2f), 2048, 4, 127, 1, -43}));
}

TEST(Eval, StoredTypesConvert) {
  EXPECT_EQ(ran("kernel k(A: f32[4] stored i8, write C: f32[4] stored f16) "
                "{ grid g in 0..4 { C[g] = A[g] * 1000.1 } }")
                .values,
            (Values{0, 1000, 2000, 3000}));
}

TEST(Eval, OutOfBounds) {
  const Ran loads =
      ran("kernel k(A: f32[2], write C: f32[2]) { grid g in 0..2 { C[g] = select(g < 1, A[g + 1], "
          "A[g + "
          "1]) } }");
  EXPECT_EQ(loads.values[0], 1);
  EXPECT_TRUE(std::isnan(loads.values[1]));
  EXPECT_EQ(ran("kernel k(write C: f32[2, 2]) { C[1, 2] = 1.0 }").error,
            "kernel k: a store outside of 'C': [1, 2]");
  EXPECT_EQ(ran("kernel k(write C: f32[4]) { grid g in 0..1 { group t in 0..4 { if t < 2 { barrier "
                "group } } } }")
                .error,
            "kernel k: a barrier reached by 2 of 4 invocations");
}

TEST(Eval, WhileLoops) {
  EXPECT_EQ(ran(R"(kernel k(A: i32[4], write C: i32[4]) {
  grid g in 0..4 {
    alloc x: i32[2]
    x[0] = A[g] * 3i32 + 1i32
    x[1] = 0i32
    while x[0] != 1i32 {
      x[0] = select(rem(x[0], 2i32) == 0i32, x[0] / 2i32, x[0] * 3i32 + 1i32)
      x[1] = x[1] + 1i32
    }
    C[g] = x[1]
  }
})")
                .values,
            (Values{0, 2, 16, 6}));
}

}  // namespace
}  // namespace gossamer::interp
