// Sequences whose length is only known in the run. A sequence is two tensors: the elements one
// after the other, and, where their shapes differ, the shapes. The rank of the elements is known.
#pragma once

#include "ops/builder.h"

namespace gossamer::ops {

// What the elements of a sequence have in common.
struct SequenceForm {
  DType dtype;
  Shape shape;  // extents in which elements differ are null
  bool uniform() const;
};

// None of an empty sequence.
Result<std::optional<SequenceForm>> form_of(const Item& sequence, const ir::Bounds& bounds);
// The form of elements of both. Errors: another type or rank.
Result<SequenceForm> common_form(const SequenceForm& a, const SequenceForm& b,
                                 const ir::Bounds& bounds);
// The sequence in this form, which includes its own.
Result<Packed> packed_as(Builder& b, const Item& sequence, const SequenceForm& form);

Expr packed_length(const Packed& sequence);
// `position` may be negative, and may be computed in the run.
Result<Tensor> packed_at(Builder& b, const Packed& sequence, const Tensor& position);
// Before the element at `position`, or at the end if it is null.
Result<Packed> packed_insert(Builder& b, const Item& sequence, const Tensor& element,
                             const Tensor& position);
// Without the element at `position`, or the last one if it is null.
Result<Packed> packed_erase(Builder& b, const Packed& sequence, const Tensor& position);
// Joined along an axis, or along a new one if `fresh`.
Result<Tensor> packed_concat(Builder& b, const Packed& sequence, int axis, bool fresh);
// Parts of `x` along `axis`, `sizes` [count] i32 long.
Result<Packed> packed_split(Builder& b, const Tensor& x, int axis, const Tensor& sizes);

}  // namespace gossamer::ops
