#include "gguf/reader.h"

#include "gguf/network.h"
#include "language/decoder.h"

namespace gossamer::gguf {
namespace {

constexpr language::PartNames part_names = {
    "token_embd",        "output_norm",       "output",
    "blk.%.attn_norm",   "blk.%.attn_q",      "blk.%.attn_k",
    "blk.%.attn_v",      "blk.%.attn_qkv",    "blk.%.attn_q_norm",
    "blk.%.attn_k_norm", "blk.%.attn_output", "blk.%.post_attention_norm",
    "blk.%.ffn_norm",    "blk.%.ffn_gate",    "blk.%.ffn_up",
    "blk.%.ffn_up",      "blk.%.ffn_down",    "blk.%.post_ffw_norm"};

class GgufWeights : public language::Weights {
 public:
  GgufWeights(const File& file, const std::string& location) : file_(file), location_(location) {}

  const std::vector<int64_t>* shape(std::string_view name) const override {
    const auto found = file_.tensors.find(name);
    return found == file_.tensors.end() ? nullptr : &found->second.shape;
  }
  Result<language::Stored> stored(std::string_view name) override {
    constexpr int32_t f32 = 0, f16 = 1;
    const Tensor& tensor = file_.tensors.at(name);
    return language::Stored{location_, tensor.offset, tensor.length,
                            tensor.type == f32   ? language::onnx_f32
                            : tensor.type == f16 ? language::onnx_f16
                                                 : language::onnx_bf16,
                            ops::block_format(int64_t{tensor.type})};
  }
  const language::PartNames& names() const override { return part_names; }
  std::string_view source() const override { return "the GGUF file"; }

 private:
  const File& file_;
  const std::string& location_;
};

}  // namespace

Result<std::string> to_onnx(const File& file, const std::string& location) {
  GS_ASSIGN(language::Network network, network_of(file));
  GgufWeights weights(file, location);
  network.tied = !weights.shape(weights.name(language::Part::output) + ".weight");
  return language::write_model(network, weights);
}

}  // namespace gossamer::gguf
