// Tensors in frames: what they are in JSON, their elements one after the other in the payload.
#pragma once

#include <rapidjson/document.h>

#include "rpc/remote.h"

namespace gossamer::rpc {

// The elements of a tensor of strings: one JSON array of texts.
std::string strings_json(const std::vector<std::string>& strings);

// [{"name", "dtype", "shape", "bytes"}, ...]; elements are added to the payload, strings as one
// JSON array of texts.
std::string write_tensors(const std::vector<NamedTensor>& tensors, std::vector<std::byte>& payload);
// Errors: whatever a peer can get wrong.
Result<std::vector<NamedTensor>> read_tensors(const rapidjson::Value& list,
                                              std::span<const std::byte> payload);

}  // namespace gossamer::rpc
