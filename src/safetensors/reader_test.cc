#include "safetensors/reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "onnx/reader.h"
#include "safetensors/config.h"

namespace gossamer::safetensors {
namespace {

// A file of zeros in F16, and its header.
class TestFile {
 public:
  void tensor(const std::string& name, const std::vector<int64_t>& shape) {
    uint64_t bytes = 2;
    std::string extents;
    for (const int64_t extent : shape) {
      bytes *= static_cast<uint64_t>(extent);
      extents += cat(extents.empty() ? "" : ",", extent);
    }
    header_ += cat(header_.empty() ? "" : ",", "\"", name, R"(":{"dtype":"F16","shape":[)", extents,
                   R"(],"data_offsets":[)", data_, ",", data_ + bytes, "]}");
    data_ += bytes;
  }
  std::string bytes() const {
    const std::string header = "{" + header_ + "}";
    const uint64_t length = header.size();
    std::string all(8, '\0');
    std::memcpy(all.data(), &length, sizeof(length));
    all += header;
    all.resize(all.size() + data_);
    return all;
  }

 private:
  std::string header_;
  uint64_t data_ = 0;
};

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

constexpr const char* small_config =
    R"({"model_type":"llama","hidden_size":32,"intermediate_size":64,"num_hidden_layers":1,
        "num_attention_heads":2,"num_key_value_heads":1,"max_position_embeddings":128,
        "rms_norm_eps":1e-6})";

TestFile small_model() {
  TestFile file;
  file.tensor("model.embed_tokens.weight", {10, 32});
  const std::string layer = "model.layers.0.";
  file.tensor(layer + "input_layernorm.weight", {32});
  file.tensor(layer + "self_attn.q_proj.weight", {32, 32});
  file.tensor(layer + "self_attn.k_proj.weight", {16, 32});
  file.tensor(layer + "self_attn.v_proj.weight", {16, 32});
  file.tensor(layer + "self_attn.o_proj.weight", {32, 32});
  file.tensor(layer + "post_attention_layernorm.weight", {32});
  file.tensor(layer + "mlp.gate_proj.weight", {64, 32});
  file.tensor(layer + "mlp.up_proj.weight", {64, 32});
  file.tensor(layer + "mlp.down_proj.weight", {32, 64});
  file.tensor("model.norm.weight", {32});
  file.tensor("lm_head.weight", {10, 32});
  return file;
}

Result<Translated> read(const std::string& bytes, Precision precision) {
  return translate(small_config, {{only_file, bytes_of(bytes), bytes.size()}}, precision);
}

#define EXPECT_SAYS(text, part) \
  if (const std::string said = text; !said.contains(part)) ADD_FAILURE() << said

std::string error_of(const std::string& config) {
  const auto network = network_of(config);
  return network ? "none" : network.error().to_string();
}

TEST(Safetensors, WeightsAreRangesOfConvertedOnes) {
  const std::string bytes = small_model().bytes();
  const auto made = read(bytes, Precision::q4);
  ASSERT_TRUE(made) << made.error().to_string();
  onnx::ReadOptions options;
  options.copy_limit = 0;
  const auto graph = onnx::read_model(bytes_of(made->model), options);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->files, std::vector<std::string>{made->made});
  size_t ranges = 0;
  for (const graph::Value& value : graph->values) {
    if (!value.constant || value.constant->file != 1) continue;
    const auto& one = made->conversions.at(ranges++);
    EXPECT_EQ(one.tensor, value.name);
    EXPECT_EQ(one.made_offset, value.constant->offset);
    EXPECT_EQ(one.made_length, value.constant->length);
    EXPECT_EQ(one.into, value.name.contains("norm") ? Form::f16 : Form::q4_0);
  }
  EXPECT_EQ(ranges, made->conversions.size());
  EXPECT_EQ(ranges, 12U);
}

// The header is enough, and nothing is converted where files are used as they are.
TEST(Safetensors, NeedsHeadersAlone) {
  const std::string bytes = small_model().bytes();
  const auto length = header_bytes(bytes_of(bytes).first(8), bytes.size());
  ASSERT_TRUE(length);
  const File file{only_file, bytes_of(bytes).first(*length), bytes.size()};
  for (const Precision precision : {Precision::fp16, Precision::fp32}) {
    const auto made = translate(small_config, {file}, precision);
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_TRUE(made->conversions.empty());
  }
}

TEST(Safetensors, DamagedHeadersAreErrors) {
  const std::string good = small_model().bytes();
  for (size_t length = 0; length < good.size(); length += 7) {
    const std::string cut = good.substr(0, length);
    EXPECT_FALSE(parse_header(bytes_of(cut), cut.size())) << length;
  }
  for (size_t at = 0; at < 400; ++at) {
    for (const char byte : {'\0', '9', '"', '}', '\xff'}) {
      std::string changed = good;
      changed[at] = byte;
      (void)read(changed, Precision::q4);  // an error or a model, as sanitizers see
    }
  }
}

TEST(Safetensors, ConfigurationsThatAreNotSupported) {
  const auto with = [](const std::string& more) {
    std::string config = small_config;
    return config.insert(config.size() - 1, "," + more);
  };
  EXPECT_EQ(error_of(small_config), "none");
  EXPECT_SAYS(error_of("[]"), "is not a JSON object");
  EXPECT_SAYS(error_of(with(R"("hidden_act":"relu")")), "the activation \"relu\"; silu");
  EXPECT_SAYS(error_of(with(R"("final_logit_softcapping":30)")), "\"final_logit_softcapping\"");
  EXPECT_SAYS(error_of(with(R"("rope_theta":-1)")), "\"rope_theta\" is not a positive number");
  EXPECT_SAYS(error_of(with(R"("rope_scaling":{"type":"longrope","short_factor":[1]})")),
              "\"rope_scaling.short_factor\" is not a list of 8 positive numbers");
  EXPECT_SAYS(error_of(with(R"("head_dim":7)")), "\"head_dim\"");
  EXPECT_SAYS(error_of(with(R"("partial_rotary_factor":2)")), "\"partial_rotary_factor\"");
}

template <class T>
std::vector<std::byte> raw(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

TEST(Convert, BlocksHaveTheScaleOfTheGreatest) {
  std::vector<float> numbers(32, 0);
  numbers[0] = -8;
  numbers[1] = 7;
  numbers[17] = 1;
  std::vector<std::byte> block(bytes_of(Form::q4_0, 32));
  ASSERT_TRUE(convert(Form::f32, raw(numbers), Form::q4_0, block));
  EXPECT_EQ(block[1], std::byte{0x3c});  // 1 in f16
  EXPECT_EQ(block[2], std::byte{0x80});
  EXPECT_EQ(block[3], std::byte{0x9f});
  EXPECT_EQ(block[4], std::byte{0x88});
}

TEST(Convert, NumbersThatDoNotFit) {
  std::vector<std::byte> made(128);
  const auto error = [&](float number, Form into) {
    const std::vector<float> numbers(32, number);
    const auto done = convert(Form::f32, raw(numbers), into, made);
    return done ? "none" : done.error().to_string();
  };
  EXPECT_EQ(error(-3e5F, Form::q4_0), "none");
  EXPECT_EQ(error(0, Form::q8_0), "none");
  EXPECT_SAYS(error(1e6F, Form::q4_0), "the number 1000000, too large for this form (take dtype");
  EXPECT_SAYS(error(1e5F, Form::f16), "too large");
  for (const Form into : {Form::q4_0, Form::q8_0, Form::f16})
    EXPECT_SAYS(error(std::numeric_limits<float>::quiet_NaN(), into), "not finite");
}

}  // namespace
}  // namespace gossamer::safetensors
