// The header of a safetensors file (https://github.com/huggingface/safetensors, "Format"): where
// each tensor's bytes are.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::safetensors {

using Bytes = std::span<const std::byte>;

struct Tensor {
  std::string type;  // the format's name, "BF16"
  std::vector<int64_t> shape;
  uint64_t offset = 0, length = 0;  // from the file's start
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

// How many bytes the header takes with its length, of a file of `size` bytes by its first 8 or
// more. Errors: it is cut, or something else.
Result<uint64_t> header_bytes(Bytes first, uint64_t size);

// `size`: of the whole file, of which `bytes` are the first ones, the header at least. Errors: it
// is cut, or no header; tensors that overlap the file's end, or whose shapes have another size.
Result<Tensors> parse_header(Bytes bytes, uint64_t size);

}  // namespace gossamer::safetensors
