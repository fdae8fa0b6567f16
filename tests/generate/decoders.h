// Small language models for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gossamer/compile.hpp"
#include "onnx/model_writer.h"

namespace gossamer::generate_test {

using Ids = std::vector<int64_t>;

inline constexpr int64_t words = 60, width = 16, context = 40;
const inline Ids prompt{5, 7, 13};

// Of numbers(): a decoder has the same weights whichever tests ran before.
inline uint32_t number_seed = 1;

inline std::vector<float> numbers(int64_t count, float scale) {
  uint32_t& seed = number_seed;
  std::vector<float> made;
  for (int64_t at = 0; at < count; ++at) {
    seed = seed * 1664525 + 1013904223;
    made.push_back((static_cast<float>(seed >> 8) / 0x1p24f - 0.5f) * scale);
  }
  return made;
}

// One layer of attention with a cache, between an embedding and a head. `slides`: the cache has 12
// tokens at most, of which attention sees 5.
inline onnx::Message decoder(bool slides = false) {
  number_seed = 1;
  const auto rotations = [](auto&& of) {
    std::vector<float> values;
    for (int64_t at = 0; at < context * width / 4; ++at)
      values.push_back(of(static_cast<float>(at / (width / 4)) /
                          std::pow(100.0f, static_cast<float>(at % (width / 4)))));
    return values;
  };
  const std::vector<std::string> cache{"b", "1", slides ? "12" : "p", "8"},
      longer{"b", "1", slides ? "12" : "t", "8"};

  onnx::Message made = onnx::model(
      {{onnx::value("input_ids", {"b", "s"}, 7), onnx::value("attention_mask", {"b", "t"}, 7),
        onnx::value("past.key", cache), onnx::value("past.value", cache)},
       {onnx::node("ReduceSum", {"attention_mask", "one"}, {"count"}),
        onnx::node("Sub", {"count", "one"}, {"last64"}),
        onnx::node("Cast", {"last64"}, {"last"}, {onnx::attribute("to", int64_t{6})}),
        onnx::node("Shape", {"attention_mask"}, {"shape"}),
        onnx::node("Gather", {"shape", "axis"}, {"total64"}),
        onnx::node("Cast", {"total64"}, {"total"}, {onnx::attribute("to", int64_t{6})}),
        onnx::node("Gather", {"words", "input_ids"}, {"x"}),
        onnx::node("MatMul", {"x", "wq"}, {"q"}), onnx::node("MatMul", {"x", "wk"}, {"k"}),
        onnx::node("MatMul", {"x", "wv"}, {"v"}),
        onnx::node(
            "GroupQueryAttention",
            {"q", "k", "v", "past.key", "past.value", "last", "total", "cosines", "sines"},
            {"attended", "present.key", "present.value"},
            {onnx::attribute("num_heads", int64_t{2}), onnx::attribute("kv_num_heads", int64_t{1}),
             onnx::attribute("do_rotary", int64_t{1}),
             onnx::attribute("local_window_size", int64_t{slides ? 5 : -1}),
             onnx::attribute("sliding_window_cache", int64_t{slides})},
            "attention", "com.microsoft"),
        onnx::node("Add", {"x", "attended"}, {"sum"}),
        onnx::node("MatMul", {"sum", "head"}, {"logits"})},
       {onnx::value("logits", {"b", "s", "60"}), onnx::value("present.key", longer),
        onnx::value("present.value", longer)},
       {onnx::int64s("one", {1}, {1}), onnx::int64s("axis", {}, {1}),
        onnx::floats("words", {words, width}, numbers(words * width, 2)),
        onnx::floats("wq", {width, width}, numbers(width * width, 2)),
        onnx::floats("wk", {width, 8}, numbers(width * 8, 2)),
        onnx::floats("wv", {width, 8}, numbers(width * 8, 4)),
        onnx::floats("head", {width, words}, numbers(width * words, 2)),
        onnx::floats("cosines", {context, width / 4},
                     rotations([](float x) { return std::cos(x); })),
        onnx::floats("sines", {context, width / 4},
                     rotations([](float x) { return std::sin(x); }))}});
  return made.add(8, onnx::opset(1, "com.microsoft"));
}

// The same with ONNX's own attention, whose keys are all those that the past has: rows that were
// not taken back are seen. `masked`: it sees what an input [b, 1, s, t] of floats says.
inline onnx::Message plain_decoder(bool masked = false) {
  number_seed = 1;
  const std::vector<std::string> cache{"b", "1", "p", "8"}, longer{"b", "1", "t", "8"};
  std::vector<onnx::Message> inputs{onnx::value("input_ids", {"b", "s"}, 7),
                                    onnx::value("past.key", cache),
                                    onnx::value("past.value", cache)};
  if (masked) inputs.push_back(onnx::value("attention_mask", {"b", "1", "s", "t"}));
  return onnx::model(
      {std::move(inputs),
       {onnx::node("Gather", {"words", "input_ids"}, {"x"}),
        onnx::node("MatMul", {"x", "wq"}, {"q"}), onnx::node("MatMul", {"x", "wk"}, {"k"}),
        onnx::node("MatMul", {"x", "wv"}, {"v"}),
        onnx::node("Attention",
                   {"q", "k", "v", masked ? "attention_mask" : "", "past.key", "past.value"},
                   {"attended", "present.key", "present.value"},
                   {onnx::attribute("q_num_heads", int64_t{2}),
                    onnx::attribute("kv_num_heads", int64_t{1}),
                    onnx::attribute("is_causal", int64_t{!masked})}),
        onnx::node("Add", {"x", "attended"}, {"sum"}),
        onnx::node("MatMul", {"sum", "head"}, {"logits"})},
       {onnx::value("logits", {"b", "s", "60"}), onnx::value("present.key", longer),
        onnx::value("present.value", longer)},
       {onnx::floats("words", {words, width}, numbers(words * width, 2)),
        onnx::floats("wq", {width, width}, numbers(width * width, 2)),
        onnx::floats("wk", {width, 8}, numbers(width * 8, 2)),
        onnx::floats("wv", {width, 8}, numbers(width * 8, 8)),
        onnx::floats("head", {width, words}, numbers(width * words, 2))}},
      24);
}

inline const onnx::Message& model_file() {
  static const onnx::Message made = decoder();
  return made;
}

inline CompileOptions options_for(const std::string& target, bool speculate = false) {
  CompileOptions options;
  options.target = target;
  options.state = options.generate = true;
  options.speculate = speculate;
  if (target == "webgpu" || target == "webgl") options.side = "cpu";
  return options;
}

// Compiled once for all tests.
inline const std::expected<Package, Error>& package_for(const std::string& target,
                                                        bool speculate = false) {
  static std::map<std::pair<std::string, bool>, std::expected<Package, Error>> made;
  auto found = made.find({target, speculate});
  if (found == made.end()) {
    auto package = compile(onnx::bytes_of(model_file()), options_for(target, speculate));
    found = made.emplace(std::pair(target, speculate), std::move(package)).first;
  }
  return found->second;
}

// On each target that this machine has, by its name: the decoder with its caches.
class DecoderTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto& package = package_for(GetParam());
    ASSERT_TRUE(package) << package.error().to_string();
    auto loaded = load(*package, {.threads = 1, .state = {.by_name = true, .rows = context}});
    if (!loaded) GTEST_SKIP() << loaded.error().to_string();
    model.emplace(*std::move(loaded));
  }
  std::optional<Model> model;
};

// What a text should be: greedy tokens by run(), whose logits are read each time.
inline Ids text_by_runs(Model& model, size_t tokens) {
  model.state().reset();
  Ids said, next = prompt;
  while (said.size() < tokens) {
    const Ids mask(prompt.size() + said.size(), 1);
    const auto outputs = model.run(
        {{"input_ids", Tensor::of<int64_t>({1, static_cast<int64_t>(next.size())}, next)},
         {"attention_mask", Tensor::of<int64_t>({1, static_cast<int64_t>(mask.size())}, mask)}});
    EXPECT_TRUE(outputs) << outputs.error().to_string();
    if (!outputs) break;
    const auto logits = outputs->at("logits").data<float>().value();
    next = {std::ranges::max_element(logits) - logits.begin()};
    said.push_back(next[0]);
  }
  return said;
}

}  // namespace gossamer::generate_test
