// Operators on sequences and optional values. Most sequences are lists of tensors whose number is
// known when compiling (Item in ops/builder.h), so that most operators make no stage at all.
#include "ops/axes.h"
#include "ops/families.h"
#include "ops/sequence/packed.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

// A place given as the number `at` in a list of `size`, negative ones from its end.
Result<size_t> place_in(const Builder& b, int64_t at, size_t size) {
  const auto count = static_cast<int64_t>(size);
  if (at < -count || at >= count)
    return b.error(cat("`position` is ", at, ", the sequence has ", count, " elements"));
  return static_cast<size_t>(at < 0 ? at + count : at);
}

// The one number of an input that must be known.
Result<int64_t> known_position(const Builder& b, int input) {
  GS_ASSIGN(const Numbers given, b.host_ints(input));
  if (given.size() != 1) return b.error("`position` is no single number");
  return given[0];
}

Result<> sequence_construct(Builder& b) {
  std::vector<Tensor> elements;
  for (int i = 0; i < b.input_count(); ++i) {
    if (!b.has(i)) return b.error(cat("input ", i, " is missing"));
    elements.push_back(b.input(i));
  }
  GS_TRY(same_types(b));
  b.output_item(0, Item::sequence(std::move(elements)));
  return {};
}

Result<> sequence_empty(Builder& b) {
  if (!dtype_of_onnx(b.integer("dtype"))) return b.error("`dtype` is no element type");
  b.output_item(0, Item::sequence({}));
  return {};
}

// The elements one after the other along a new axis.
Result<Tensor> stacked(Builder& b, const std::vector<Tensor>& elements, int64_t axis) {
  std::vector<Tensor> parts;
  for (const Tensor& element : elements) {
    Shape shape = element.shape();
    shape.insert(shape.begin() + axis, index(1));
    parts.push_back(b.reshape("sequence.element", element, std::move(shape)));
  }
  return b.call1("Concat", std::move(parts), {{"axis", axis}});
}

// Where the length or the position is only known in the run.
Result<> at_packed(Builder& b) {
  GS_ASSIGN(const std::optional<SequenceForm> form, form_of(b.item(0), b.bounds));
  if (!form) return b.error("the sequence is empty");
  GS_ASSIGN(const Packed all, packed_as(b, b.item(0), *form));
  GS_ASSIGN(Tensor element, packed_at(b, all, b.input(1)));
  b.output(0, std::move(element));
  return {};
}

Result<> sequence_at(Builder& b) {
  if (b.item(0).packed) return at_packed(b);
  const std::vector<Tensor>& elements = b.sequence(0);
  if (elements.empty()) return b.error("the sequence is empty");
  const Tensor& position = b.input(1);
  if (position.host && position.host->size() == 1) {
    if (const auto at = ir::as_int(b.simplify((*position.host)[0]))) {
      GS_ASSIGN(const size_t place, place_in(b, *at, elements.size()));
      b.output(0, elements[place]);
      return {};
    }
  }
  for (const Tensor& element : elements) {
    bool alike = element.rank() == elements[0].rank();
    for (int axis = 0; alike && axis < element.rank(); ++axis)
      alike = b.same(element.dim(axis), elements[0].dim(axis));
    if (!alike) return at_packed(b);
  }
  for (const Expr& extent : position.shape()) {
    if (!ir::is_const(extent, 1)) return b.error("`position` is no single number");
  }
  GS_ASSIGN(Tensor all, stacked(b, elements, 0));
  Tensor number = position.rank() == 0 ? position : b.reshape("sequence.position", position, {});
  GS_ASSIGN(Tensor element, b.call1("Gather", {std::move(all), std::move(number)}, {{"axis", 0}}));
  b.output(0, std::move(element));
  return {};
}

Result<> insert_packed(Builder& b) {
  GS_ASSIGN(Packed longer, packed_insert(b, b.item(0), b.input(1), b.input(2)));
  b.output_item(0, Item::packed_sequence(std::move(longer)));
  return {};
}

Result<> erase_packed(Builder& b) {
  GS_ASSIGN(const std::optional<SequenceForm> form, form_of(b.item(0), b.bounds));
  if (!form) return b.error("the sequence is empty");
  GS_ASSIGN(const Packed all, packed_as(b, b.item(0), *form));
  GS_ASSIGN(Packed shorter, packed_erase(b, all, b.input(1)));
  b.output_item(0, Item::packed_sequence(std::move(shorter)));
  return {};
}

Result<> sequence_insert(Builder& b) {
  if (b.item(0).packed || !known_numbers(b, 2)) return insert_packed(b);
  std::vector<Tensor> elements = b.sequence(0);
  const Tensor& tensor = b.input(1);
  for (const Tensor& element : elements) {
    if (element.dtype() != tensor.dtype())
      return b.error(cat("the sequence is of ", ir::name_of(element.dtype()), ", the tensor of ",
                         ir::name_of(tensor.dtype())));
  }
  size_t place = elements.size();
  if (b.has(2)) {
    GS_ASSIGN(const int64_t at, known_position(b, 2));
    // The end itself is a place, too.
    if (at != static_cast<int64_t>(elements.size())) {
      GS_ASSIGN(place, place_in(b, at, elements.size()));
    }
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(place), tensor);
  b.output_item(0, Item::sequence(std::move(elements)));
  return {};
}

Result<> sequence_erase(Builder& b) {
  if (b.item(0).packed || !known_numbers(b, 1)) return erase_packed(b);
  std::vector<Tensor> elements = b.sequence(0);
  int64_t at = -1;
  if (b.has(1)) {
    GS_ASSIGN(at, known_position(b, 1));
  }
  GS_ASSIGN(const size_t place, place_in(b, at, elements.size()));
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(place));
  b.output_item(0, Item::sequence(std::move(elements)));
  return {};
}

Result<> sequence_length(Builder& b) {
  const auto& packed = b.item(0).packed;
  const Expr length =
      packed ? packed_length(*packed) : index(static_cast<int64_t>(b.sequence(0).size()));
  b.output(0, b.host_tensor(DType::i64, {}, {length}));
  return {};
}

// The length of each part, i32 [count], where their number is only known in the run.
Result<Tensor> part_sizes(Builder& b, const Expr& extent) {
  const Tensor& split = b.input(1);
  if (split && split.rank() == 1) {
    const Tensor all =
        b.reduce("split.sum", Builder::Join::sum, DType::i32, {index(1)}, {split.dim(0)},
                 [&](Point, Point at) { return ir::cast(DType::i32, split.at(at)); });
    GS_ASSIGN(const std::vector<Expr> sum, b.read(all));
    GS_TRY(b.require(sum[0] == extent, "`split` does not add up to the extent of the axis"));
    return b.compute("split.sizes", DType::i32, split.shape(),
                     [&](Point point) { return ir::cast(DType::i32, split.at(point)); });
  }
  Expr part = index(1);
  if (split) {
    GS_ASSIGN(const std::vector<Expr> given, b.elements(1));
    if (given.size() != 1) return b.error("`split` is not a single number");
    part = given[0];
    GS_TRY(b.require(part >= 1.0, "`split` must be positive"));
  }
  const Expr count = b.simplify(ir::floordiv(extent + part - index(1), part));
  return b.compute("split.sizes", DType::i32, {count}, [&](Point point) {
    return ir::cast(DType::i32, ir::min(part, extent - point[0] * part));
  });
}

// Into slices of extent 1, without their axis unless `keeps`.
Result<Packed> slices_of(Builder& b, const Tensor& x, int axis, bool keeps) {
  Packed made;
  std::vector<int64_t> order{axis};
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) order.push_back(d);
  }
  made.data = x;
  if (axis > 0) {
    GS_ASSIGN(made.data, b.call1("Transpose", {x}, {{"perm", order}}));
  }
  made.shape.assign(made.data.shape().begin() + 1, made.data.shape().end());
  if (!keeps) return made;
  made.shape.insert(made.shape.begin() + axis, index(1));
  Shape shape = made.shape;
  shape.insert(shape.begin(), x.dim(axis));
  made.data = b.reshape("sequence.slices", made.data, std::move(shape));
  return made;
}

// Parts whose number is only known in the run.
Result<> split_packed(Builder& b, int axis) {
  const Tensor& x = b.input(0);
  Packed made;
  if (b.has(1)) {
    GS_ASSIGN(const Tensor sizes, part_sizes(b, x.dim(axis)));
    GS_ASSIGN(made, packed_split(b, x, axis, sizes));
  } else {
    GS_ASSIGN(made, slices_of(b, x, axis, b.integer("keepdims") != 0));
  }
  b.output_item(0, Item::packed_sequence(std::move(made)));
  return {};
}

// Whether the number of parts is only known in the run.
bool splits_late(const Builder& b, int axis) {
  const Tensor& split = b.input(1);
  if (split && split.rank() == 1) return !ir::as_int(b.simplify(split.dim(0)));
  return !ir::as_int(b.simplify(b.input(0).dim(axis))) || !known_numbers(b, 1);
}

Result<> split_to_sequence(Builder& b) {
  const Tensor &x = b.input(0), &split = b.input(1);
  GS_ASSIGN(const int axis, b.axis("axis", x.rank()));
  if (split && split.rank() > 1) return b.error("`split` has more than one dimension");
  if (splits_late(b, axis)) return split_packed(b, axis);
  const bool keeps = split || b.integer("keepdims") != 0;
  std::vector<Tensor> inputs = {x};
  Attributes attributes = {{"axis", int64_t{axis}}};
  int64_t count = 0;
  if (split && split.rank() == 1) {
    count = *ir::as_int(b.simplify(split.dim(0)));
    inputs.push_back(split.dtype() == DType::i64
                         ? split
                         : b.compute("split.sizes", DType::i64, split.shape(), [&](Point point) {
                             return ir::cast(DType::i64, split.at(point));
                           }));
  } else {
    int64_t part = 1;
    if (split) {
      GS_ASSIGN(const Numbers given, b.host_ints(1));
      part = given.empty() ? 0 : given[0];
      if (part < 1) return b.error(cat("`split` is ", part, ", it must be positive"));
    }
    Numbers sizes;
    for (int64_t rest = *ir::as_int(b.simplify(x.dim(axis))); rest > 0; rest -= part) {
      if (sizes.size() == 4096) return b.error("makes a sequence of more than 4096 elements");
      sizes.push_back(std::min(part, rest));
    }
    count = static_cast<int64_t>(sizes.size());
    std::vector<Expr> known;
    for (int64_t size : sizes) known.push_back(index(size));
    inputs.push_back(b.host_tensor(DType::i64, {index(count)}, std::move(known)));
  }
  std::vector<Tensor> parts;
  if (count > 0) {
    GS_ASSIGN(parts,
              b.call("Split", std::move(inputs), std::move(attributes), static_cast<int>(count)));
  }
  if (!keeps) {
    for (Tensor& part : parts) {
      Shape shape = part.shape();
      shape.erase(shape.begin() + axis);
      part = b.reshape("sequence.element", part, std::move(shape));
    }
  }
  b.output_item(0, Item::sequence(std::move(parts)));
  return {};
}

Result<> concat_packed(Builder& b, const Packed& packed) {
  const auto rank = static_cast<int>(packed.shape.size());
  const bool fresh = b.integer("new_axis") != 0;
  GS_ASSIGN(const int axis, b.axis("axis", fresh ? rank + 1 : rank));
  GS_ASSIGN(Tensor made, packed_concat(b, packed, axis, fresh));
  b.output(0, std::move(made));
  return {};
}

Result<> concat_from_sequence(Builder& b) {
  if (const auto& packed = b.item(0).packed) return concat_packed(b, *packed);
  const std::vector<Tensor>& elements = b.sequence(0);
  if (elements.empty()) return b.error("the sequence is empty");
  const int rank = elements[0].rank();
  for (const Tensor& element : elements) {
    if (element.rank() != rank) return b.error("the elements differ in rank");
  }
  const bool fresh = b.integer("new_axis") != 0;
  GS_ASSIGN(const int axis, b.axis("axis", fresh ? rank + 1 : rank));
  auto made =
      fresh ? stacked(b, elements, axis) : b.call1("Concat", elements, {{"axis", int64_t{axis}}});
  GS_TRY(made);
  b.output(0, *std::move(made));
  return {};
}

Result<> optional(Builder& b) {
  b.output_item(0, b.item(0) ? b.item(0) : Item::nothing());
  return {};
}

Result<> optional_get_element(Builder& b) {
  if (b.item(0).kind == Item::Kind::nothing) return b.error("the optional holds nothing");
  b.output_item(0, b.item(0));
  return {};
}

Result<> optional_has_element(Builder& b) {
  const bool has = b.has(0) || b.item(0).is_sequence();
  b.output(0, b.host_tensor(DType::boolean, {}, {index(has ? 1 : 0)}));
  return {};
}

InputDef sequence_of(std::string name, TypeSet types) {
  return {std::move(name), types, InputDef::required, InputDef::sequence};
}
InputDef whatever(std::string name, InputDef::Arity arity) {
  return {std::move(name), any_element, arity, InputDef::any};
}

}  // namespace

std::vector<OpDef> sequence_family() {
  const auto optional_input = InputDef::optional;
  const TensorData none = {};
  return {
      {.name = "SequenceConstruct",
       .doc = "A sequence of the tensors given.",
       .since = 11,
       .inputs = {{"inputs", any_element, InputDef::variadic}},
       .outputs = {"output_sequence"},
       .define = sequence_construct,
       .cases = [] -> Cases {
         return {{.name = "three", .shapes = {{2, 3}, {4}, {}}},
                 {.name = "strings", .shapes = {{2}, {3}}, .dtype = DType::string},
                 {.name = "one", .shapes = {{5}}}};
       }},
      {.name = "SequenceEmpty",
       .doc = "A sequence without elements.",
       .since = 11,
       .inputs = {},
       .outputs = {"output"},
       .attributes = {{"dtype", 1}},
       .define = sequence_empty,
       .cases = [] -> Cases { return {{.name = "floats"}}; }},
      {.name = "SequenceAt",
       .doc = "An element of a sequence.",
       .since = 11,
       .inputs = {sequence_of("input_sequence", any_element), {"position", integer_index}},
       .outputs = {"tensor"},
       .define = sequence_at,
       .cases = [=] -> Cases {
         return {{.name = "known",
                  .shapes = {{2, 3}, {4}, {}},
                  .inputs = {none, none, int64s({}, {-2})},
                  .length = 2},
                 {.name = "in the run",
                  .shapes = {{2, 3}, {2, 3}, {2, 3}, {}},
                  .low = -3,
                  .high = 2,
                  .length = 3}};
       }},
      {.name = "SequenceInsert",
       .doc = "A sequence with one more element, at its end or before another one.",
       .since = 11,
       .inputs = {sequence_of("input_sequence", any_element),
                  {"tensor", any_element},
                  {"position", integer_index, optional_input}},
       .outputs = {"output_sequence"},
       .define = sequence_insert,
       .cases = [=] -> Cases {
         return {{.name = "end", .shapes = {{2}, {3}, {4, 1}}, .length = 2},
                 {.name = "first",
                  .shapes = {{2}, {3}, {4, 1}, {}},
                  .inputs = {none, none, none, int64s({}, {-2})},
                  .length = 2},
                 {.name = "into nothing", .shapes = {{3}}, .length = 0}};
       }},
      {.name = "SequenceErase",
       .doc = "A sequence without its last element, or the one at a place.",
       .since = 11,
       .inputs = {sequence_of("input_sequence", any_element),
                  {"position", integer_index, optional_input}},
       .outputs = {"output_sequence"},
       .define = sequence_erase,
       .cases = [=] -> Cases {
         return {{.name = "last", .shapes = {{2}, {3}}, .length = 2},
                 {.name = "second",
                  .shapes = {{2}, {3}, {4}, {}},
                  .inputs = {none, none, none, int64s({}, {1})},
                  .length = 3}};
       }},
      {.name = "SequenceLength",
       .doc = "How many elements a sequence has.",
       .since = 11,
       .inputs = {sequence_of("input_sequence", any_element)},
       .outputs = {"length"},
       .define = sequence_length,
       .cases = [] -> Cases {
         return {{.name = "two", .shapes = {{2}, {3}}, .length = 2}, {.name = "none", .length = 0}};
       }},
      {.name = "SplitToSequence",
       .doc = "Cuts a tensor along an axis into a sequence: parts of one size, or of given ones.",
       .since = 24,
       .inputs = {{"input", any_element},
                  {"split", only(DType::i32) | only(DType::i64), optional_input}},
       .outputs = {"output_sequence"},
       .attributes = {{"keepdims", 1}, {"axis", 0}},
       .define = split_to_sequence,
       .cases = [=] -> Cases {
         return {{.name = "rows", .shapes = {{3, 2}}},
                 {.name = "strings", .shapes = {{3, 2}}, .dtype = DType::string},
                 {.name = "without the axis",
                  .shapes = {{2, 3}},
                  .attributes = {{"axis", -1}, {"keepdims", 0}}},
                 {.name = "size",
                  .shapes = {{2, 7}, {}},
                  .attributes = {{"axis", 1}, {"keepdims", 0}},
                  .inputs = {none, int64s({}, {3})}},
                 {.name = "sizes", .shapes = {{6}, {3}}, .inputs = {none, int32s({3}, {1, 3, 2})}}};
       }},
      {.name = "ConcatFromSequence",
       .doc = "Joins the elements of a sequence along an axis, or along a new one.",
       .since = 11,
       .inputs = {sequence_of("input_sequence", any_element)},
       .outputs = {"concat_result"},
       .attributes = {{"axis", {}, true}, {"new_axis", 0}},
       .define = concat_from_sequence,
       .cases = [] -> Cases {
         return {{.name = "joined",
                  .shapes = {{2, 3}, {2, 1}},
                  .attributes = {{"axis", -1}},
                  .length = 2},
                 {.name = "stacked",
                  .shapes = {{2, 3}, {2, 3}, {2, 3}},
                  .attributes = {{"axis", -1}, {"new_axis", 1}},
                  .length = 3},
                 {.name = "strings",
                  .shapes = {{2, 3}, {2, 1}},
                  .attributes = {{"axis", -1}},
                  .dtype = DType::string,
                  .length = 2}};
       }},
      {.name = "Optional",
       .doc = "An optional that holds a tensor or sequence, or nothing.",
       .since = 28,
       .inputs = {whatever("input", optional_input)},
       .outputs = {"output"},
       .define = optional,
       .cases = [] -> Cases {
         return {{.name = "tensor", .shapes = {{2, 3}}},
                 {.name = "sequence", .shapes = {{2}, {3}}, .length = 2},
                 {.name = "nothing"}};
       }},
      {.name = "OptionalGetElement",
       .doc = "What an optional holds.",
       .since = 28,
       .inputs = {whatever("input", InputDef::required)},
       .outputs = {"output"},
       .define = optional_get_element,
       .cases = [] -> Cases {
         return {{.name = "tensor", .shapes = {{2, 3}}},
                 {.name = "sequence", .shapes = {{2}, {3}}, .length = 2}};
       }},
      {.name = "OptionalHasElement",
       .doc = "Whether an optional holds something.",
       .since = 28,
       .inputs = {whatever("input", optional_input)},
       .outputs = {"output"},
       .define = optional_has_element,
       .cases = [] -> Cases {
         return {{.name = "tensor", .shapes = {{2, 3}}},
                 {.name = "sequence", .shapes = {{2}}, .length = 1},
                 {.name = "nothing"}};
       }},
  };
}

}  // namespace gossamer::ops
