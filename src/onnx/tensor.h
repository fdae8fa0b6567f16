// TensorProto to a constant: a range of the file where the bytes lie as we need them, else decoded
// bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "onnx/external_files.h"
#include "onnx/proto.h"

namespace gossamer::onnx {

// The element type of ONNX's number; an error names the type where it is not supported.
Result<ir::DType> dtype_of(int onnx_type);

struct TensorSource {
  Bytes model;  // byte ranges are relative to its start
  std::vector<std::string>*
      files;              // external files, see stages::ConstantSource; new ones are added
  size_t copy_limit = 0;  // tensors of at most so many bytes are copied
  ExternalFiles* external = nullptr;  // for small tensors in external files; may be null
};

// The normal path of the external file that has the tensor. Errors: it leaves the folder.
Result<std::string> location_of(const ProtoTensor& tensor);

// Errors: unsupported type, dims negative or beyond 2^48 bytes, data of another length than the
// dims say, an external path that is absolute or leaves the folder.
// A copied tensor has one element a byte at least; a range of four- or two-bit ones stays
// packed.
Result<stages::ConstantSource> read_tensor(const ProtoTensor& tensor, const TensorSource& source);

// The same tensor dense. `room`: bytes that a model's sparse tensors may still take, as a few bytes
// of a file can ask for any number. Errors: those of read_tensor, parts in external files, indices
// out of range, strings, no room.
constexpr uint64_t max_dense = uint64_t{1} << 28;
Result<stages::ConstantSource> read_sparse(const ProtoSparse& tensor, const TensorSource& source,
                                           uint64_t& room);

// Elements of four or two bits, one a byte; integers are extended by their sign.
std::vector<std::byte> unpack(Bytes packed, ir::DType dtype, uint64_t count);

// The bytes of a constant where they are at hand (copied, or in the model); else std::nullopt.
std::optional<Bytes> bytes_of(const stages::ConstantSource& constant, Bytes model);

}  // namespace gossamer::onnx
