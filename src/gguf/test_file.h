// Writes small GGUF files for tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "gguf/file.h"

namespace gossamer::gguf {

class TestFile {
 public:
  template <class T>
  static std::string raw(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  static std::string text(std::string_view value) {
    return raw(uint64_t{value.size()}) + std::string(value);
  }

  template <class T>
  void value(std::string_view key, Kind kind, T number) {
    add(key, kind, raw(number));
  }
  void value(std::string_view key, std::string_view string) {
    add(key, Kind::string, text(string));
  }
  void list(std::string_view key, const std::vector<std::string>& strings) {
    std::string bytes = raw(static_cast<uint32_t>(Kind::string)) + raw(uint64_t{strings.size()});
    for (const std::string& one : strings) bytes += text(one);
    add(key, Kind::array, bytes);
  }
  // `shape` as graphs have it. Its bytes are zeros.
  void tensor(std::string_view name, std::vector<uint64_t> shape, int32_t type, uint64_t bytes) {
    tensors_ += text(name) + raw(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) tensors_ += raw(shape[i]);
    tensors_ += raw(type) + raw(uint64_t{data_});
    data_ += (bytes + 31) / 32 * 32;
    ++tensor_count_;
  }
  std::string bytes(uint32_t version = 3) const {
    std::string all =
        "GGUF" + raw(version) + raw(tensor_count_) + raw(value_count_) + values_ + tensors_;
    all.resize((all.size() + 31) / 32 * 32 + data_);
    return all;
  }

 private:
  void add(std::string_view key, Kind kind, const std::string& bytes) {
    values_ += text(key) + raw(static_cast<uint32_t>(kind)) + bytes;
    ++value_count_;
  }
  std::string values_, tensors_;
  uint64_t value_count_ = 0, tensor_count_ = 0, data_ = 0;
};

inline Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A model of one layer with heads of 16.
inline TestFile small_model(const std::string& architecture = "llama") {
  TestFile file;
  file.value("general.architecture", architecture);
  const auto count = [&](const char* key, uint32_t value) {
    file.value(architecture + "." + key, Kind::u32, value);
  };
  count("block_count", 1);
  count("embedding_length", 32);
  count("feed_forward_length", 64);
  count("context_length", 128);
  count("attention.head_count", 2);
  count("attention.head_count_kv", 1);
  file.value(architecture + ".attention.layer_norm_rms_epsilon", Kind::f32, 1e-6F);
  constexpr int32_t f32 = 0, q8 = 8;
  const auto matrix = [&](const char* name, uint64_t rows, uint64_t columns) {
    file.tensor(name, {rows, columns}, q8, rows * columns / 32 * 34);
  };
  matrix("token_embd.weight", 10, 32);
  file.tensor("blk.0.attn_norm.weight", {32}, f32, 128);
  matrix("blk.0.attn_q.weight", 32, 32);
  matrix("blk.0.attn_k.weight", 16, 32);
  matrix("blk.0.attn_v.weight", 16, 32);
  matrix("blk.0.attn_output.weight", 32, 32);
  file.tensor("blk.0.ffn_norm.weight", {32}, f32, 128);
  matrix("blk.0.ffn_gate.weight", 64, 32);
  matrix("blk.0.ffn_up.weight", 64, 32);
  matrix("blk.0.ffn_down.weight", 32, 64);
  file.tensor("output_norm.weight", {32}, f32, 128);
  file.value("tokenizer.ggml.model", "llama");
  file.list("tokenizer.ggml.tokens", {"<unk>", "a", "b", "ab", "\"\n", "\xff"});
  return file;
}

}  // namespace gossamer::gguf
