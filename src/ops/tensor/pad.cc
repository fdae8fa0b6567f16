// Padding, in all of its modes; negative pads crop.
#include "ops/builder.h"
#include "ops/families.h"

namespace gossamer::ops {
namespace {

enum class Mode { constant, edge, reflect, wrap };

// Where an index of the padded axis reads the axis of `extent`.
Expr source(const Builder& b, Mode mode, Expr at, const Expr& extent) {
  switch (mode) {
    case Mode::constant:
      return at;
    case Mode::edge:
      return ir::min(ir::max(at, 0.0), extent - 1);
    case Mode::wrap:
      return ir::floormod(at, extent);
    case Mode::reflect: {
      // One period is there and back again, without the ends twice.
      Expr period = b.simplify(ir::max((extent - 1) * 2.0, 1.0));
      Expr within = ir::floormod(at, period);
      return ir::min(within, period - within);
    }
  }
  return at;
}

Result<> pad_define(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(std::vector<Expr> pads, b.elements(1));
  std::vector<int> axes;
  if (b.has(3)) {
    GS_ASSIGN(Numbers given, b.host_ints(3));
    for (int64_t axis : given) {
      if (axis < -x.rank() || axis >= x.rank()) {
        return b.error(cat("axis ", axis, " is out of range for rank ", x.rank()));
      }
      axes.push_back(static_cast<int>(axis < 0 ? axis + x.rank() : axis));
    }
  } else {
    for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) {
    return b.error(cat("there are ", pads.size(), " pads for ", axes.size(), " axes"));
  }
  std::string text = b.text("mode");
  Mode mode = Mode::constant;
  if (text == "edge") {
    mode = Mode::edge;
  } else if (text == "reflect") {
    mode = Mode::reflect;
  } else if (text == "wrap") {
    mode = Mode::wrap;
  } else if (text != "constant") {
    return b.error(cat("`mode` is \"", text, "\""), "it must be constant, edge, reflect or wrap");
  }
  if (b.has(2) && b.input(2).dtype() != x.dtype())
    return b.error("constant_value has another type");
  Shape shape = x.shape();
  std::vector<Expr> begin(shape.size(), ir::index(0)), end = begin;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t axis = static_cast<size_t>(axes[i]);
    begin[axis] = b.simplify(pads[i]);
    end[axis] = b.simplify(pads[i + axes.size()]);
    shape[axis] = b.simplify(shape[axis] + begin[axis] + end[axis]);
    if (auto known = ir::as_int(shape[axis]); known && *known < 0) {
      return b.error(cat("axis ", axis, " is cropped by more than its extent"));
    }
  }
  auto fill = [&] {
    if (!b.has(2)) return ir::zero(x.dtype());
    std::vector<Expr> origin(static_cast<size_t>(b.input(2).rank()), ir::index(0));
    return b.at_broadcast(b.input(2), origin);
  };
  b.output(0, b.compute("pad", x.dtype(), shape, [&](Point point) {
    std::vector<Expr> at;
    Expr inside;
    auto also = [&](Expr condition) { inside = inside ? inside && condition : condition; };
    for (size_t i = 0; i < point.size(); ++i) {
      const Expr& extent = x.shape()[i];
      Expr place = b.simplify(point[i] - begin[i]);
      auto left = ir::as_int(begin[i]), right = ir::as_int(end[i]);
      bool before = !left || *left > 0, past = !right || *right > 0;
      if (before || past) {
        if (mode == Mode::constant && before) also(place >= 0);
        if (mode == Mode::constant && past) also(place < extent);
        place = source(b, mode, place, extent);
      }
      at.push_back(place);
    }
    return inside ? ir::select(inside, x.at(at), fill()) : x.at(at);
  }));
  return {};
}

std::vector<TensorData> by(std::vector<int64_t> pads) {
  int64_t count = static_cast<int64_t>(pads.size());
  return {TensorData{}, int64s({count}, std::move(pads))};
}

}  // namespace

std::vector<OpDef> pad_family() {
  return {
      {.name = "Pad",
       .doc = "Extends axes at both ends by a constant, the edge, a mirror image or a repetition.",
       .since = 25,
       .inputs = {{"data", any_element},
                  {"pads", only(DType::i64)},
                  {"constant_value", any_element, InputDef::optional},
                  {"axes", integer_index, InputDef::optional}},
       .outputs = {"output"},
       .attributes = {{"mode", "constant"}},
       .define = pad_define,
       .cases = [] -> Cases {
         return {{.name = "zeros", .shapes = {{3, 4}}, .inputs = by({1, 0, 2, 3})},
                 {.name = "constant",
                  .shapes = {{2, 3}},
                  .inputs = {{}, int64s({4}, {0, 2, 0, 1}), floats({}, {1.5f})}},
                 {.name = "strings",
                  .shapes = {{2, 3}},
                  .inputs = by({1, 0, 2, 3}),
                  .dtype = DType::string},
                 {.name = "strings with a string",
                  .inputs = {strings({2}, {"a", "bc"}), int64s({2}, {1, 1}),
                             strings({}, {"longer than others"})}},
                 {.name = "small floats",
                  .shapes = {{3, 5}},
                  .inputs = by({1, 0, 2, 3}),
                  .dtype = DType::f8e4m3fn},
                 {.name = "edge",
                  .shapes = {{3, 4}},
                  .attributes = {{"mode", "edge"}},
                  .inputs = by({2, 1, 0, 3})},
                 {.name = "reflect",
                  .shapes = {{3, 5}},
                  .attributes = {{"mode", "reflect"}},
                  .inputs = by({1, 3, 2, 4})},
                 {.name = "wrap",
                  .shapes = {{3, 4}},
                  .attributes = {{"mode", "wrap"}},
                  .inputs = by({2, 1, 1, 3})},
                 {.name = "crop", .shapes = {{5, 6}}, .inputs = by({-1, 2, 0, -3})},
                 {.name = "one axis",
                  .shapes = {{2, 3, 4}},
                  .inputs = {{}, int64s({2}, {1, 2}), {}, int64s({1}, {-1})}}};
       }},
  };
}

}  // namespace gossamer::ops
