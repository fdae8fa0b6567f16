// How a target holds the values of each element type.
#pragma once

#include "ir/type.h"

namespace gossamer::ir {

struct TypeRule {
  DType stored;    // what a kernel loads from memory and stores there
  DType computed;  // what registers hold
};

struct TypeRules {
  bool words = false;            // only f32, i32 and u32, as in shading languages
  bool stores_halves = false;    // of these: f16 in memory
  bool converts_halves = false;  // instructions between f16 and f32
  bool sums_bytes = false;       // of words: a Dot of four signed bytes in each scalar

  // f16 and bf16 are computed in f32. A small type is its code, an integer of eight bits; its
  // arithmetic is that of f32 or i32 (passes/legalize_types.h).
  TypeRule of(DType value) const;
  Type computed(Type type) const { return type.with_dtype(of(type.dtype).computed); }
};

}  // namespace gossamer::ir
