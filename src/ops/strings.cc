#include "ops/strings.h"

#include <functional>
#include <optional>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "ops/builder.h"

namespace gossamer::ops {
namespace {

using stages::Stage;
using stages::StageKind;

using LoadPart = std::function<Expr(const ir::Load& load, const StringPart& part)>;

// What a value of type string is in one of the two tensors; ir::zero is the empty string.
Expr part_of(const Expr& value, const StringParts& parts, DType dtype, const LoadPart& load_part) {
  if (const auto* load = ir::as<ir::Load>(value))
    return load_part(*load, parts.at(load->buffer.get()));
  if (ir::is_const(value, 0)) return ir::zero(dtype);
  const auto* choice = ir::as<ir::Select>(value);
  GS_CHECK(choice, "a stage computes with strings: ", ir::print(value));
  return ir::select(choice->condition, part_of(choice->yes, parts, dtype, load_part),
                    part_of(choice->no, parts, dtype, load_part));
}

void widen(const Expr& value, const StringParts& parts, Expr& width) {
  part_of(value, parts, DType::i32, [&](const ir::Load& load, const StringPart& part) {
    const Expr& other = part.bytes->shape.back();
    if (!width.get()) {
      width = other;
    } else if (!ir::prove_equal(width, other)) {
      width = ir::simplify(ir::max(width, other));
    }
    return ir::load(part.lengths, load.indices);
  });
}

}  // namespace

SplitStage split_strings(const Stage& stage, const StringParts& parts) {
  const bool scatters = stage.kind == StageKind::scatter;
  GS_CHECK(scatters || stage.kind == StageKind::compute, "strings of another kind of stage");
  const Expr& value = scatters ? stage.values[0] : stage.result;
  Expr width;
  if (scatters) width = parts.at(stage.initial.get()).bytes->shape.back();
  widen(value, parts, width);
  const Expr known = width ? ir::simplify(width) : ir::index(1);

  SplitStage split{stage, stage};
  const Var axis = ir::var("w");
  const Expr place = ir::is_const(known, 1) ? ir::index(0) : Expr(axis);
  split.bytes.axes.push_back(axis);
  split.bytes.extents.push_back(known);
  std::vector<Expr> shape = stage.output->shape;
  split.lengths.output = ir::buffer(stage.name + ".lengths", DType::i32, shape);
  shape.push_back(known);
  split.bytes.output = ir::buffer(stage.name, DType::u8, std::move(shape));
  const Expr bytes =
      part_of(value, parts, DType::u8, [&](const ir::Load& load, const StringPart& part) {
        std::vector<Expr> at = load.indices;
        at.push_back(place);
        const Expr& own = part.bytes->shape.back();
        Expr byte = ir::load(part.bytes, std::move(at));
        if (ir::prove_equal(own, known)) return byte;
        return ir::select(place < own, byte, ir::zero(DType::u8));
      });
  const Expr lengths =
      part_of(value, parts, DType::i32, [](const ir::Load& load, const StringPart& part) {
        return ir::load(part.lengths, load.indices);
      });
  if (scatters) {
    const StringPart& initial = parts.at(stage.initial.get());
    GS_CHECK(stage.accumulators.empty(), "strings are not joined");
    split.bytes.initial = initial.bytes;
    split.lengths.initial = initial.lengths;
    split.bytes.target.push_back(place);
    split.bytes.values = {bytes};
    split.lengths.values = {lengths};
  } else {
    split.bytes.result = bytes;
    split.lengths.result = lengths;
  }
  split.lengths.name += ".lengths";
  return split;
}

Tensor Builder::strings(const Tensor& bytes, const Tensor& lengths) {
  Tensor made{ir::buffer(unique_name("strings"), DType::string, lengths.shape()), std::nullopt,
              bytes.buffer, lengths.buffer};
  know(made);
  return made;
}

Tensor Builder::finish_strings(Stage stage) {
  SplitStage split = split_strings(stage, strings_);
  if (const Buffer& from = split.bytes.initial) {
    // What is scattered may be longer than what was there.
    const Shape& shape = split.bytes.output->shape;
    if (!same(from->shape.back(), shape.back())) {
      const Tensor narrow{from, std::nullopt};
      const Tensor wide = compute(stage.name + ".initial", DType::u8, shape, [&](Point p) {
        return ir::select(p.back() < from->shape.back(), narrow.at(p), ir::zero(DType::u8));
      });
      split.bytes.initial = wide.buffer;
    }
  }
  const Tensor bytes = finish(std::move(split.bytes), DType::u8);
  return strings(bytes, finish(std::move(split.lengths), DType::i32));
}

}  // namespace gossamer::ops
