// The weights of a language model, in whatever format their files have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/block_formats.h"

namespace gossamer::language {

// Parts of a network that have a tensor, or several: weight and bias.
enum class Part : uint8_t {
  words,
  last_norm,
  output,
  // Of each layer.
  attention_norm,
  query,
  key,
  value,
  query_key_value,
  query_norm,
  key_norm,
  attention_output,
  attention_end_norm,
  feed_forward_norm,
  gate,
  up,
  gate_and_up,
  down,
  feed_forward_end_norm,
  count,
};

// What a format calls them, without ".weight"; % stands for the layer. Empty: there is no such
// part.
using PartNames = std::array<std::string_view, static_cast<size_t>(Part::count)>;

// What a model reads of a tensor: a range of a file.
struct Stored {
  std::string file;  // from the model's folder
  uint64_t offset = 0, length = 0;
  int64_t type = 0;                          // of ONNX, of plain numbers
  const ops::BlockFormat* format = nullptr;  // of blocks
};

class Weights {
 public:
  virtual ~Weights() = default;
  // Null: there is no such tensor.
  virtual const std::vector<int64_t>* shape(std::string_view name) const = 0;
  // Of a tensor that there is, when the model uses it first. Errors: its type is not known.
  virtual Result<Stored> stored(std::string_view name) = 0;
  virtual const PartNames& names() const = 0;
  virtual std::string_view source() const = 0;  // "the GGUF file", for errors

  std::string name(Part part, int64_t layer = 0) const;
};

}  // namespace gossamer::language
