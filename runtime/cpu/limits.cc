#include "runtime/cpu/limits.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/clock.h"

namespace gossamer::runtime {
namespace {

constexpr int64_t copied = int64_t{1} << 24;  // bytes: more than caches near the arithmetic hold
constexpr int64_t piece = int64_t{1} << 16;
constexpr int items = 256, rounds = 1024;
// A result comes some four cycles after two a cycle begin; more do not fit 16 registers.
constexpr int chains = 12;

// `items` times as many multiply-adds as one call makes, in vectors of Lanes floats. Always
// inlined, so that it has the instructions of who calls it.
template <int Lanes>
[[gnu::always_inline]] inline void multiply_add(int64_t begin, int64_t end, const void* context) {
  using Vector [[gnu::vector_size(Lanes * sizeof(float))]] = float;
  auto* const results = static_cast<float*>(const_cast<void*>(context));
  for (int64_t item = begin; item < end; ++item) {
    const Vector factor = Vector{} + results[item];  // 0, but who compiles this does not know
    Vector sums[chains];
    for (int chain = 0; chain < chains; ++chain)
      sums[chain] = factor * static_cast<float>(chain);  // they differ, so that all are computed
    for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
      for (int chain = 0; chain < chains; ++chain)
        sums[chain] = __builtin_elementwise_fma(sums[chain], factor, factor);
    }
    Vector sum = sums[0];
    for (int chain = 1; chain < chains; ++chain) sum += sums[chain];
    for (int lane = 0; lane < Lanes; ++lane) results[item] += sum[lane];
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void with_avx512(int64_t begin, int64_t end, const void* context) {
  multiply_add<16>(begin, end, context);
}
[[gnu::target("avx2,fma")]] void with_avx2(int64_t begin, int64_t end, const void* context) {
  multiply_add<8>(begin, end, context);
}
#endif

// Where multiply-adds are no instruction, as many products and sums, which do not wait for each
// other either.
[[maybe_unused]] void with_products(int64_t begin, int64_t end, const void* context) {
  using Vector [[gnu::vector_size(16)]] = float;
  auto* const results = static_cast<float*>(const_cast<void*>(context));
  for (int64_t item = begin; item < end; ++item) {
    const Vector factor = Vector{} + results[item];
    Vector sums[chains];
    for (int chain = 0; chain < chains; ++chain) sums[chain] = factor * static_cast<float>(chain);
    for (int round = 0; round < 2 * rounds; ++round) {
#pragma GCC unroll 12
      for (int chain = 0; chain < chains; ++chain)
        sums[chain] = chain % 2 ? sums[chain] * factor : sums[chain] + factor;
    }
    for (int chain = 0; chain < chains; ++chain) results[item] += sums[chain][0];
  }
}

struct Loop {
  ThreadPool::Work work;
  int lanes;
};

// All that this processor has; wider is not always faster.
std::vector<Loop> loops() {
#if defined(__x86_64__)
  std::vector<Loop> all{{with_products, 4}};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back({with_avx2, 8});
  if (__builtin_cpu_supports("avx512f")) all.push_back({with_avx512, 16});
  return all;
#else
  return {{[](int64_t begin, int64_t end, const void* context) {
             multiply_add<4>(begin, end, context);
           },
           4}};
#endif
}

struct Copy {
  const std::byte* from;
  std::byte* to;
};

void copy(int64_t begin, int64_t end, const void* context) {
  const auto* const both = static_cast<const Copy*>(context);
  std::memcpy(both->to + begin * piece, both->from + begin * piece,
              static_cast<size_t>((end - begin) * piece));
}

double fastest_ms(ThreadPool& pool, int64_t range, ThreadPool::Work work, const void* context) {
  double best = 1e9;
  for (int turn = 0; turn < 8; ++turn) {
    const Clock::time_point begin = Clock::now();
    pool.run(range, work, context);
    best = std::min(best, milliseconds_since(begin));
  }
  return std::max(best, 1e-6);
}

}  // namespace

Limits measure_limits(ThreadPool& pool) {
  Limits limits;
  const std::vector<std::byte> from(copied);
  std::vector<std::byte> to(copied);
  const Copy both{from.data(), to.data()};
  limits.copy_rate = 2.0 * copied / fastest_ms(pool, copied / piece, copy, &both) / 1e6;
  std::vector<float> results(items);
  for (const Loop& loop : loops()) {
    const double operations = 2.0 * items * rounds * chains * loop.lanes;
    const double ms = fastest_ms(pool, items, loop.work, results.data());
    limits.arithmetic_rate = std::max(limits.arithmetic_rate, operations / ms / 1e6);
  }
  return limits;
}

}  // namespace gossamer::runtime
