// Conversions between what memory holds, what registers hold and what arithmetic takes.
#pragma once

#include <unordered_map>

#include "ir/nodes.h"
#include "ir/type_rules.h"

namespace gossamer::passes {

inline bool is_half(ir::DType dtype) { return dtype == ir::DType::f16 || dtype == ir::DType::bf16; }

class Conversions {
 public:
  explicit Conversions(const ir::TypeRules& rules) : rules_(rules) {}

  ir::DType computed(ir::DType dtype) const { return rules_.of(dtype).computed; }
  ir::Type computed(ir::Type type) const { return rules_.computed(type); }
  bool changes(ir::DType dtype) const { return computed(dtype) != dtype; }

  // Cast of `a` of type `from`, which is as arithmetic takes it; `old` is the cast's operand.
  ir::Expr converted(ir::DType from, ir::DType to, const ir::Expr& a, const ir::Expr& old);

  // What arithmetic gives, back in the range of a narrow integer that is held in a wider word.
  ir::Expr wrapped(ir::DType narrow, const ir::Expr& value) const;

  // 16-bit floats, held as f32: of their bits, their bits, and what memory of 16 bits would hold.
  ir::Expr number(ir::DType half, const ir::Expr& bits);
  ir::Expr bits(ir::DType half, const ir::Expr& value) const;
  ir::Expr as_stored(ir::DType half, const ir::Expr& value) const;

  // Small types, held as codes: of f32 or i32; of a byte, in which only the type's own bits count.
  ir::Expr code(ir::DType small, const ir::Expr& value) const;
  ir::Expr trimmed(ir::DType small, const ir::Expr& byte) const;

 private:
  ir::Expr rounded(ir::DType half, const ir::Expr& value);
  ir::Expr of_number(ir::DType from, ir::DType to, const ir::Expr& a, const ir::Expr& old);
  bool is_narrow(ir::DType dtype) const;

  const ir::TypeRules rules_;
  // Their keys are addresses, which their nodes keep from being used again.
  struct Origin {
    ir::Expr value, bits;
    ir::DType half;
  };
  struct Rounding {
    ir::Expr number, rounded;
  };
  std::unordered_map<const ir::ExprNode*, Origin> bits_of_;
  std::unordered_map<const ir::ExprNode*, Rounding> rounded_;
};

}  // namespace gossamer::passes
