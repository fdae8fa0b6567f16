// Tensors in files: NumPy's .npy and ONNX's TensorProto (.pb).
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"
#include "onnx/proto.h"
#include "ops/opdef.h"
#include "runtime/tensor.h"

namespace gossamer::command {

struct NamedTensor {
  std::string name;  // what the file says; "" where it says nothing
  ops::TensorData data;
};

// Errors: not a TensorProto (a sequence or optional, for example), an element type that is not
// supported, data of another length than the shape says.
Result<NamedTensor> parse_pb(std::span<const std::byte> bytes);
Result<NamedTensor> tensor_of(const onnx::ProtoTensor& proto);
// Versions 1 to 3 of the format; little-endian, C or Fortran order.
Result<ops::TensorData> parse_npy(std::span<const std::byte> bytes);
// Types that NumPy lacks: bf16 as f32, small ones as bytes.
std::string write_npy(const ops::TensorData& tensor);
// Strings as JSON: arrays in arrays, one level an axis.
Result<ops::TensorData> parse_json_strings(std::span<const std::byte> bytes);
std::string write_json_strings(const ops::TensorData& tensor);

// By the file's extension; errors name the file.
Result<NamedTensor> read_tensor_file(const std::filesystem::path& path);

using runtime::shape_text;

// Element `at` as a number (integers beyond 2^53 lose digits).
double element(const ops::TensorData& tensor, int64_t at);

}  // namespace gossamer::command
