#include "gguf/reader.h"

#include <gtest/gtest.h>

#include <random>

#include "gguf/test_file.h"
#include "gguf/texts.h"
#include "onnx/reader.h"

namespace gossamer::gguf {
namespace {

Result<std::string> read(const std::string& bytes) {
  GS_ASSIGN(File file, parse(bytes_of(bytes), bytes.size()));
  GS_TRY(parts_of(file, "model.gguf"));
  return to_onnx({{"model.gguf", std::move(file)}});
}

std::string error_of(const std::string& bytes) {
  const auto model = read(bytes);
  return model ? "none" : model.error().to_string();
}

#define EXPECT_SAYS(text, part) \
  if (const std::string said = text; !said.contains(part)) ADD_FAILURE() << said

TEST(Reader, MakesTheGraphOfADecoder) {
  const std::string bytes = small_model().bytes();
  const auto file = parse(bytes_of(bytes), bytes.size());
  ASSERT_TRUE(file) << file.error().to_string();
  const auto model = to_onnx({{"model.gguf", *file}});
  ASSERT_TRUE(model) << model.error().to_string();
  onnx::ReadOptions options;
  options.copy_limit = 0;
  const auto graph = onnx::read_model(bytes_of(*model), options);
  ASSERT_TRUE(graph) << graph.error().to_string();
  const auto names = [&](const std::vector<graph::ValueId>& ids) {
    std::vector<std::string> list;
    for (const graph::ValueId id : ids) list.push_back(graph->values[id].name);
    return list;
  };
  EXPECT_EQ(names(graph->inputs),
            (std::vector<std::string>{"input_ids", "attention_mask", "past_key_values.0.key",
                                      "past_key_values.0.value"}));
  EXPECT_EQ(names(graph->outputs),
            (std::vector<std::string>{"logits", "present.0.key", "present.0.value"}));
  EXPECT_EQ(graph->files, std::vector<std::string>{"model.gguf"});
  size_t ranges = 0;
  for (const graph::Value& value : graph->values) {
    if (!value.constant || value.constant->file != 1) continue;
    ++ranges;
    const Tensor& tensor = file->tensors.at(value.name);
    EXPECT_EQ(value.constant->offset, tensor.offset) << value.name;
    EXPECT_EQ(value.constant->length, tensor.length) << value.name;
  }
  EXPECT_EQ(ranges, file->tensors.size());
}

// Of a file whose tensors are elsewhere the header is enough.
TEST(Reader, NeedsTheHeaderAlone) {
  const std::string bytes = small_model().bytes();
  const auto file = parse(bytes_of(bytes), bytes.size());
  ASSERT_TRUE(file);
  const std::string header = bytes.substr(0, file->data);
  const auto held = parse(bytes_of(header), bytes.size());
  ASSERT_TRUE(held) << held.error().to_string();
  EXPECT_EQ(*to_onnx({{"m", *held}}), *to_onnx({{"m", *file}}));
}

// Neither a file that is cut anywhere nor one with other bytes may end the process.
TEST(Reader, RefusesFilesThatAreCut) {
  const std::string bytes = small_model().bytes();
  const auto file = parse(bytes_of(bytes), bytes.size());
  ASSERT_TRUE(file) << file.error().to_string();
  for (size_t length = 0; length < bytes.size(); length += length < file->data ? 1 : 97) {
    const auto cut = read(bytes.substr(0, length));
    ASSERT_FALSE(cut) << length;
    EXPECT_FALSE(cut.error().hint.empty()) << cut.error().to_string();
  }
}

TEST(Reader, SurvivesOtherBytes) {
  const std::string bytes = small_model().bytes();
  const auto file = parse(bytes_of(bytes), bytes.size());
  ASSERT_TRUE(file);
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string changed = bytes;
    for (int i = 0; i < 1 + round % 3; ++i)
      changed[4 + random() % (file->data - 4)] = static_cast<char>(random() % 5 ? random() : 0xff);
    const auto graph = read(changed);
    refused += !graph;
    if (const auto parsed = parse(bytes_of(changed), changed.size())) (void)texts_of(*parsed);
  }
  EXPECT_GT(refused, 1000);
}

TEST(Reader, SaysWhatIsWrong) {
  EXPECT_SAYS(error_of(small_model().bytes(1)), "version 1; 2 and 3 are supported");
  EXPECT_SAYS(error_of(small_model().bytes(0x03000000)), "big-endian");
  EXPECT_SAYS(error_of(small_model("gpt-oss").bytes()),
              "architecture \"gpt-oss\", which is not supported (use a model of llama, qwen2, "
              "qwen3, gemma3 and phi3");
  EXPECT_SAYS(error_of(TestFile().bytes()), "does not say which architecture");
  TestFile type = small_model();
  type.tensor("other", {32}, 23, 32);
  EXPECT_SAYS(error_of(type.bytes()), "has the type IQ4_XS, which is not supported");
  TestFile twice = small_model();
  twice.tensor("output_norm.weight", {32}, 0, 128);
  EXPECT_SAYS(error_of(twice.bytes()), "tensor \"output_norm.weight\": is in the file twice");
  TestFile parts = small_model();
  parts.value("split.count", Kind::u16, uint16_t{3});
  EXPECT_SAYS(error_of(parts.bytes()),
              "one of 3 parts of a model, and its name does not say which");
  TestFile experts = small_model();
  experts.value("llama.expert_count", Kind::u32, 8U);
  EXPECT_SAYS(error_of(experts.bytes()), "has experts");
  TestFile scaled = small_model();
  scaled.value("llama.rope.scaling.type", "strange");
  EXPECT_SAYS(error_of(scaled.bytes()), "in the way \"strange\"");
  TestFile long_rows = small_model();
  long_rows.tensor("rope_freqs.weight", {9}, 0, 36);
  EXPECT_SAYS(
      error_of(long_rows.bytes()),
      "tensor \"rope_freqs.weight\": has the shape [9], the values of the file ask for [8]");
  EXPECT_SAYS(error_of(small_model("qwen3").bytes().replace(0, 4, "GGML")), "is not a GGUF file");
  EXPECT_SAYS(error_of(small_model("phi3").bytes()), "none");
}

TEST(Texts, ArePartsOfJson) {
  const std::string bytes = small_model().bytes();
  const auto file = parse(bytes_of(bytes), bytes.size());
  ASSERT_TRUE(file);
  const auto texts = texts_of(*file);
  ASSERT_TRUE(texts) << texts.error().to_string();
  ASSERT_EQ(texts->size(), 4U);
  EXPECT_SAYS((*texts)[0].second, R"("max_position_embeddings":128)");
  EXPECT_EQ((*texts)[2].first, "tokenizer.json");
  EXPECT_SAYS((*texts)[2].second,
              R"("vocab":{"<unk>":0,"a":1,"b":2,"ab":3,"\"\u000a":4,"�":5},"merges":[["a","b"]])");
}

}  // namespace
}  // namespace gossamer::gguf
