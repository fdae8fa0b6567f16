// A package's manifest and weights as the tables that runtime/embedded walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "package/package.h"

namespace gossamer::library {

// Where elements lie in Encoded::weights; what is between them is zero.
struct PlacedWeight {
  int64_t offset = 0;
  std::span<const std::byte> bytes;  // of the package
  ir::DType dtype = ir::DType::f32;
};

struct Encoded {
  std::vector<int64_t> words;        // runtime/embedded/program.h
  std::string texts;                 // names and messages, each ended by a zero
  std::vector<std::byte> weights;    // each at a multiple of 64, with slack around all
  std::vector<PlacedWeight> placed;  // by offset
  bool has_dynamic_memory = false;   // tensors whose size a run decides
  std::vector<std::string> dims;     // named by the caller, in order
  // Bytes that a model takes at most, where nothing is dynamic: the run time's structures with
  // pointers of 64 bits.
  int64_t memory_bytes = 0;
};

// `stored`: weights.safetensors. `beside`: the weights are the caller's, and known by a sum.
// `shaders`: of a module for webgpu, the source of each kernel that is one.
// Errors: what these forms do not have, by the tensor's name.
Result<Encoded> encode(const package::Module& module, std::span<const std::byte> stored,
                       bool beside, std::span<const std::string> shaders = {});

}  // namespace gossamer::library
