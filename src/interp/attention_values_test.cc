// ONNX Runtime's attention against plain loops: lengths of samples, masks, windows, softcap and
// sinks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "interp/case_values.h"

namespace gossamer::interp {
namespace {

using ops::floats;
using ops::int32s;
using ops::TensorData;
using V = std::vector<float>;

V numbers(size_t count, double phase) {
  V values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i))));
  return values;
}

// One query over keys [count][width]; `score` changes a product (mask, softcap), `sink` is one more
// exponent.
V attended(const float* query, const std::vector<const float*>& keys,
           const std::vector<const float*>& values, size_t width,
           const std::function<double(size_t, double)>& score, const double* sink = nullptr) {
  std::vector<double> scores;
  for (size_t t = 0; t < keys.size(); ++t) {
    double sum = 0;
    for (size_t d = 0; d < width; ++d) sum += double{query[d]} * double{keys[t][d]};
    scores.push_back(score(t, sum / std::sqrt(static_cast<double>(width))));
  }
  double most = *std::ranges::max_element(scores);
  if (sink) most = std::max(most, *sink);
  double total = sink ? std::exp(*sink - most) : 0;
  std::vector<double> row(width, 0);
  for (size_t t = 0; t < keys.size(); ++t) {
    const double weight = std::exp(scores[t] - most);
    total += weight;
    for (size_t d = 0; d < width; ++d) row[d] += weight * double{values[t][d]};
  }
  V result;
  for (const double sum : row) result.push_back(static_cast<float>(sum / total));
  return result;
}

struct Grouped {
  size_t batch, sequence, heads, groups, width, past;  // room for so many elements in the past
  std::vector<int32_t> last;                           // of each sample: its elements less one
  std::vector<int64_t> last_shape;
  int window = -1;
  double softcap = 0;
  bool biased = false;
  V sinks = {};
};

// The rows that are no padding, of the operator and of the loops.
void compare(const Grouped& g) {
  const size_t room =
      std::max<size_t>(g.past, static_cast<size_t>(*std::ranges::max_element(g.last)) + 1);
  const V q = numbers(g.batch * g.sequence * g.heads * g.width, 0.3),
          k = numbers(g.batch * g.sequence * g.groups * g.width, 1.1),
          v = numbers(g.batch * g.sequence * g.groups * g.width, 2.9),
          past_k = numbers(g.batch * g.groups * g.past * g.width, 4.1),
          past_v = numbers(g.batch * g.groups * g.past * g.width, 5.3),
          bias = numbers(g.sequence * room, 0.7);
  const auto shape = [](std::initializer_list<size_t> extents) {
    return std::vector<int64_t>(extents.begin(), extents.end());
  };
  std::vector<TensorData> inputs = {floats(shape({g.batch, g.sequence, g.heads * g.width}), q),
                                    floats(shape({g.batch, g.sequence, g.groups * g.width}), k),
                                    floats(shape({g.batch, g.sequence, g.groups * g.width}), v)};
  const int32_t total = *std::ranges::max_element(g.last) + 1;
  inputs.resize(12);
  if (g.past > 0) {
    inputs[3] = floats(shape({g.batch, g.groups, g.past, g.width}), past_k);
    inputs[4] = floats(shape({g.batch, g.groups, g.past, g.width}), past_v);
  }
  inputs[5] = int32s(g.last_shape, g.last);
  inputs[6] = int32s({1}, {total});
  if (g.biased) inputs[10] = floats(shape({1, 1, g.sequence, room}), bias);
  if (!g.sinks.empty()) inputs[11] = floats(shape({g.heads}), g.sinks);
  const std::vector<double> made = values_of("com.microsoft", "GroupQueryAttention",
                                             {{"num_heads", static_cast<int64_t>(g.heads)},
                                              {"kv_num_heads", static_cast<int64_t>(g.groups)},
                                              {"local_window_size", g.window},
                                              {"softcap", g.softcap}},
                                             std::move(inputs));
  ASSERT_EQ(made.size(), q.size());
  const bool prompt = static_cast<size_t>(total) == g.sequence;
  for (size_t b = 0; b < g.batch; ++b) {
    const auto length = static_cast<size_t>(g.last[b]) + 1;
    const size_t before = prompt ? 0 : length - g.sequence;
    for (size_t h = 0; h < g.heads; ++h) {
      const size_t group = h / (g.heads / g.groups);
      const auto at = [&](const V& past, const V& fresh, size_t t) {
        return t < before ? &past[((b * g.groups + group) * g.past + t) * g.width]
                          : &fresh[((b * g.sequence + t - before) * g.groups + group) * g.width];
      };
      for (size_t s = 0; s < g.sequence && before + s < length; ++s) {
        const size_t here = before + s;
        const size_t first = g.window > 0 && here + 1 > static_cast<size_t>(g.window)
                                 ? here + 1 - static_cast<size_t>(g.window)
                                 : 0;
        std::vector<const float*> keys, values;
        for (size_t t = first; t <= here; ++t) {
          keys.push_back(at(past_k, k, t));
          values.push_back(at(past_v, v, t));
        }
        const double sink = g.sinks.empty() ? 0 : double{g.sinks[h]};
        const size_t row = ((b * g.sequence + s) * g.heads + h) * g.width;
        const V wanted = attended(
            &q[row], keys, values, g.width,
            [&](size_t t, double score) {
              if (g.softcap > 0) score = g.softcap * std::tanh(score / g.softcap);
              return score + (g.biased ? double{bias[s * room + first + t]} : 0);
            },
            g.sinks.empty() ? nullptr : &sink);
        for (size_t d = 0; d < g.width; ++d)
          ASSERT_NEAR(made[row + d], wanted[d], 1e-5)
              << "sample " << b << ", head " << h << ", query " << s;
      }
    }
  }
}

TEST(AttentionValues, GroupQueryPromptOfSamplesOfSeveralLengths) {
  compare({2, 4, 4, 2, 8, 0, {3, 1}, {2}});
  compare({3, 5, 2, 1, 4, 0, {4, 0, 2}, {3, 1}});
}

TEST(AttentionValues, GroupQueryAfterPastsOfSeveralLengths) {
  compare({2, 1, 4, 2, 8, 6, {5, 2}, {2}});
  compare({2, 2, 4, 4, 4, 9, {7, 3}, {1, 2}});
  compare({3, 1, 6, 2, 4, 7, {7, 7, 0}, {3, 1, 1}});
}

TEST(AttentionValues, GroupQueryWindowSoftcapBiasAndSinks) {
  compare({.batch = 2,
           .sequence = 1,
           .heads = 2,
           .groups = 1,
           .width = 8,
           .past = 7,
           .last = {6, 4},
           .last_shape = {2},
           .window = 3});
  compare({.batch = 1,
           .sequence = 4,
           .heads = 2,
           .groups = 2,
           .width = 4,
           .past = 0,
           .last = {3},
           .last_shape = {1},
           .softcap = 0.5});
  compare({.batch = 2,
           .sequence = 2,
           .heads = 4,
           .groups = 2,
           .width = 4,
           .past = 5,
           .last = {4, 2},
           .last_shape = {2},
           .biased = true});
  compare({.batch = 2,
           .sequence = 1,
           .heads = 2,
           .groups = 1,
           .width = 4,
           .past = 4,
           .last = {3, 1},
           .last_shape = {2},
           .sinks = {0.5F, -1}});
}

// The forms of a mask: lengths, a mask of keys, lengths and more numbers.
TEST(AttentionValues, MultiHeadMasks) {
  constexpr size_t batch = 2, sequence = 3, heads = 2, width = 4, row = heads * width;
  const V q = numbers(batch * sequence * row, 0.2), k = numbers(batch * sequence * row, 1.3),
          v = numbers(batch * sequence * row, 2.2);
  const auto cube = [&](const V& of) { return floats({batch, sequence, row}, of); };
  const std::vector<size_t> lengths = {3, 1};
  V wanted;
  for (size_t at = 0; at < batch * sequence; ++at) {
    const size_t b = at / sequence;
    for (size_t h = 0; h < heads; ++h) {
      std::vector<const float*> keys, values;
      for (size_t t = 0; t < lengths[b]; ++t) {
        keys.push_back(&k[(b * sequence + t) * row + h * width]);
        values.push_back(&v[(b * sequence + t) * row + h * width]);
      }
      const V one = attended(&q[at * row + h * width], keys, values, width,
                             [](size_t, double score) { return score; });
      wanted.insert(wanted.end(), one.begin(), one.end());
    }
  }
  for (const TensorData& mask : {int32s({2}, {3, 1}), int32s({2, 3}, {1, 1, 1, 1, 0, 0}),
                                 int32s({8}, {3, 1, 0, 3, 6, 0, 3, 4})}) {
    const std::vector<double> made =
        values_of("com.microsoft", "MultiHeadAttention", {{"num_heads", int64_t{heads}}},
                  {cube(q), cube(k), cube(v), {}, mask});
    ASSERT_EQ(made.size(), wanted.size());
    for (size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], wanted[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace gossamer::interp
