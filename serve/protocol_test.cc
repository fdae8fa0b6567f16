#include "serve/protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "serve/metrics.h"

namespace gossamer::serve {
namespace {

using ir::DType;
using runtime::HostTensor;

Signature signature() {
  return {"m",
          "gossamer_cpu",
          {{"x", DType::f32, {-1, 2}, {"N", ""}}, {"s", DType::string, {-1}, {"M"}}},
          {{"y", DType::f32, {-1, 2}, {}}, {"b", DType::u64, {1}, {}}}};
}

constexpr std::string_view request = R"({"inputs": [
  {"name": "s", "datatype": "BYTES", "shape": [1], "data": ["a"]},
  {"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [[1, 2.5], [null, -0.0]]}]})";

TEST(Protocol, ReadsInputsInTheModelsOrder) {
  const auto parsed = parse_infer(signature(), request);
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  ASSERT_EQ(parsed->feeds.size(), 2u);
  EXPECT_EQ(parsed->feeds[0].shape, (std::vector<int64_t>{2, 2}));
  std::array<float, 4> values;
  ASSERT_EQ(parsed->feeds[0].bytes.size(), sizeof values);
  std::memcpy(values.data(), parsed->feeds[0].bytes.data(), sizeof values);
  EXPECT_EQ(values[1], 2.5F);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_TRUE(std::signbit(values[3]));
  EXPECT_EQ(parsed->feeds[1].strings, std::vector<std::string>{"a"});
  EXPECT_EQ(parsed->outputs.size(), 2u);
}

TEST(Protocol, WritesTheShortestDigits) {
  const auto parsed = parse_infer(signature(), request);
  ASSERT_TRUE(parsed);
  const std::array<float, 2> floats{0.1F, -INFINITY};
  const uint64_t greatest = ~uint64_t{0};
  HostTensor y{DType::f32, {1, 2}, {}}, b{DType::u64, {1}, {}};
  const auto bytes = std::as_bytes(std::span(floats));
  y.bytes.assign(bytes.begin(), bytes.end());
  const auto raw = std::as_bytes(std::span(&greatest, 1));
  b.bytes.assign(raw.begin(), raw.end());
  const InferResponse response = write_infer(signature(), *parsed, {y, b});
  EXPECT_NE(response.body.find("[0.1,-1e999]"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("[18446744073709551615]"), std::string::npos) << response.body;
  EXPECT_FALSE(response.json_bytes);
}

// Whatever the bytes, there is an answer: a request or an error. Seeded, so a failure repeats.
TEST(Protocol, AnyBytesAreReadOrRefused) {
  std::mt19937 random(7);
  const Signature model = signature();
  int read = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string body(request);
    const int changes = static_cast<int>(random() % 4);
    for (int change = 0; change < changes; ++change) {
      const size_t at = random() % body.size();
      if (random() % 3 == 0)
        body.erase(at, 1 + random() % 8);
      else if (random() % 2 == 0)
        body[at] = static_cast<char>(random());
      else
        body.insert(at, 1, "0[]{},\"-9e"[random() % 10]);
      if (body.empty()) break;
    }
    const bool cut = random() % 2 == 0 && !body.empty();
    const auto parsed =
        cut ? parse_infer(model, body, random() % (2 * body.size())) : parse_infer(model, body);
    read += parsed.has_value();
    if (!parsed) EXPECT_FALSE(parsed.error().message.empty());
  }
  EXPECT_GT(read, 1000);
  EXPECT_LT(read, 19'000);
}

TEST(Metrics, HistogramsCountUp) {
  Metrics metrics;
  metrics.ran("a\"b", 3, 0.002);
  metrics.ran("a\"b", 200, 20);
  const std::string text = metrics.text({{"g", "Help.", "", 1.5}});
  for (const char* line :
       {"gossamer_run_requests_bucket{model=\"a\\\"b\",le=\"2\"} 0\n",
        "gossamer_run_requests_bucket{model=\"a\\\"b\",le=\"4\"} 1\n",
        "gossamer_run_requests_bucket{model=\"a\\\"b\",le=\"+Inf\"} 2\n",
        "gossamer_run_requests_sum{model=\"a\\\"b\"} 203\n",
        "gossamer_run_seconds_bucket{model=\"a\\\"b\",le=\"10\"} 1\n", "# TYPE g gauge\ng 1.5\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace gossamer::serve
