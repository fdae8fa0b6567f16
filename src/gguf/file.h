// The parts of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2
// and 3: metadata, and where each tensor's bytes are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::gguf {

using Bytes = std::span<const std::byte>;

enum class Kind : uint8_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64
};

// A value of the metadata: views of the file.
struct Value {
  Kind kind = Kind::u8;
  Kind element = Kind::u8;  // of an array, which has no arrays in it
  uint64_t count = 1;       // of an array
  Bytes bytes;              // numbers as they are; a string without its length; strings with theirs
};

struct Tensor {
  std::string_view name;
  std::vector<int64_t> shape;       // the last axis runs along memory
  int32_t type = 0;                 // ggml_type
  uint64_t offset = 0, length = 0;  // from the file's start
};

struct File {
  uint32_t version = 0;
  std::map<std::string_view, Value> metadata;
  std::map<std::string_view, Tensor> tensors;
  uint64_t data = 0;  // where tensors begin

  // Values of keys; nothing where there is none, or one of another kind.
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  // Calls `each` with the strings of an array in order; false where there is no such array.
  bool strings(std::string_view key, const std::function<void(std::string_view)>& each) const;
};

bool is_gguf(Bytes bytes);

// "Q4_K", or a number for a type without a name here.
std::string type_name(int32_t type);

// `size`: of the whole file, of which `bytes` are the first ones, the header at least. Views of
// `bytes`. Errors: it is cut, counts or lengths that it cannot have, tensors that overlap its end,
// that are named twice or whose types are unknown, a value that is given twice.
Result<File> parse(Bytes bytes, uint64_t size);

}  // namespace gossamer::gguf
