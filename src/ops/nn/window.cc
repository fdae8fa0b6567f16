#include "ops/nn/window.h"

#include <algorithm>

namespace gossamer::ops {
namespace {

Expr ceildiv(Expr a, int64_t b) { return ir::floordiv(a + static_cast<double>(b - 1), b); }

bool declares(const Builder& b, std::string_view name) {
  return std::ranges::any_of(b.def().attributes,
                             [&](const AttributeDef& known) { return known.name == name; });
}

}  // namespace

bool Window::padded() const {
  auto nonzero = [](const Expr& pad) { return !ir::is_const(pad, 0); };
  return std::ranges::any_of(pad_begin, nonzero) || std::ranges::any_of(pad_end, nonzero);
}

std::vector<AttributeDef> window_attributes(std::vector<AttributeDef> more) {
  std::vector<AttributeDef> all = {{"auto_pad", "NOTSET"},
                                   {"dilations", Numbers{}},
                                   {"kernel_shape", Numbers{}},
                                   {"pads", Numbers{}},
                                   {"strides", Numbers{}}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Shape spatial_of(const Tensor& x) { return {x.shape().begin() + 2, x.shape().end()}; }

Result<Window> make_window(const Builder& b, const Shape& spatial, const Shape& kernel) {
  size_t rank = kernel.size();
  Window window{.kernel = kernel,
                .strides = b.integers("strides"),
                .dilations = b.integers("dilations"),
                .pad_begin = {},
                .pad_end = {},
                .out = {}};
  if (window.strides.empty()) window.strides.assign(rank, 1);
  if (window.dilations.empty()) window.dilations.assign(rank, 1);
  Numbers pads = b.integers("pads");
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (spatial.size() != rank || window.strides.size() != rank || window.dilations.size() != rank ||
      pads.size() != 2 * rank) {
    return b.error(cat("the input has ", spatial.size(), " spatial axes; kernel_shape has ", rank,
                       ", strides ", window.strides.size(), ", dilations ", window.dilations.size(),
                       ", pads ", pads.size(), " entries"));
  }
  auto positive = [](int64_t value) { return value > 0; };
  if (!std::ranges::all_of(window.strides, positive) ||
      !std::ranges::all_of(window.dilations, positive)) {
    return b.error("strides and dilations must be positive");
  }
  if (std::ranges::any_of(pads, [](int64_t pad) { return pad < 0; })) {
    return b.error("pads must not be negative");
  }
  std::string auto_pad = declares(b, "auto_pad") ? b.text("auto_pad") : "NOTSET";
  bool ceil_mode = declares(b, "ceil_mode") && b.integer("ceil_mode") != 0;
  for (size_t i = 0; i < rank; ++i) {
    int64_t stride = window.strides[i];
    // The number of elements a window spans.
    Expr span = (kernel[i] - 1) * static_cast<double>(window.dilations[i]) + 1;
    Expr begin = ir::index(0), end = ir::index(0), out;
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      out = ceildiv(spatial[i], stride);
      Expr total = ir::max((out - 1) * static_cast<double>(stride) + span - spatial[i], 0.0);
      Expr less = ir::floordiv(total, 2);
      begin = auto_pad == "SAME_UPPER" ? less : total - less;
      end = total - begin;
    } else if (auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad.empty()) {
      if (auto_pad != "VALID") begin = ir::index(pads[i]), end = ir::index(pads[rank + i]);
      Expr steps = spatial[i] + begin + end - span;
      if (ceil_mode) {
        out = ceildiv(steps, stride) + 1;
        // A window may not start in the padding after the end.
        Expr last = (out - 1) * static_cast<double>(stride);
        out = out - ir::select(last >= spatial[i] + begin, ir::index(1), ir::index(0));
      } else {
        out = ir::floordiv(steps, stride) + 1;
      }
    } else {
      return b.error(cat("`auto_pad` is \"", auto_pad, "\""),
                     "it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
    }
    out = b.simplify(out);
    if (auto known = ir::as_int(out); known && *known < 0) {
      return b.error("the window is larger than the padded input");
    }
    window.pad_begin.push_back(b.simplify(begin));
    window.pad_end.push_back(b.simplify(end));
    window.out.push_back(out);
  }
  return window;
}

Expr tap_at(const Window& window, size_t axis, Expr out, Expr tap) {
  return out * static_cast<double>(window.strides[axis]) +
         tap * static_cast<double>(window.dilations[axis]);
}

Shape skip_padding(Builder& b, const Tensor& x, Window& window) {
  Shape first(window.rank(), ir::index(0));
  for (size_t i = 0; i < window.rank(); ++i) {
    const int64_t step = window.dilations[i];
    if (step < 2) continue;
    const Expr& pad = window.pad_begin[i];
    const Expr reach = (window.out[i] - 1) * static_cast<double>(window.strides[i]);
    const Expr last_tap = window.kernel[i] - 1;
    const Expr before = ir::floordiv(pad - reach + (step - 1), step);
    first[i] = b.simplify(ir::min(ir::max(before, ir::index(0)), last_tap));
    const Expr beyond = ir::floordiv(x.shape()[i + 2] - 1 + pad, step);
    const Expr last = ir::max(ir::min(beyond, last_tap), first[i]);
    const Expr kernel = b.simplify(last - first[i] + 1);
    if (b.same(kernel, window.kernel[i])) continue;
    window.kernel[i] = kernel;
    window.pad_begin[i] = b.simplify(pad - first[i] * static_cast<double>(step));
    window.pad_end[i] = ir::index(0);
  }
  return first;
}

Tensor pad_constant(Builder& b, const std::string& name, const Tensor& x, const Shape& begin,
                    const Shape& end, Expr fill) {
  Shape shape = x.shape();
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = shape[i] + begin[i] + end[i];
  return b.compute(name, x.dtype(), shape, [&](Point point) {
    Expr inside;
    std::vector<Expr> at(point.begin(), point.end());
    auto also = [&](Expr condition) { inside = inside ? inside && condition : condition; };
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = at[i] - begin[i];
      if (!ir::is_const(begin[i], 0)) also(at[i] >= 0);
      if (!ir::is_const(end[i], 0)) also(at[i] < x.shape()[i]);
    }
    return inside ? ir::select(inside, x.at(at), fill) : x.at(at);
  });
}

Tensor pad_for(Builder& b, const std::string& name, const Tensor& x, const Window& window,
               Expr fill) {
  Shape begin(2, ir::index(0)), end(2, ir::index(0));
  bool needed = false;
  for (size_t i = 0; i < window.rank(); ++i) {
    // In ceil_mode the last window may reach past the padding that was asked for.
    const Expr& extent = x.shape()[i + 2];
    Expr reach = (window.out[i] - 1) * static_cast<double>(window.strides[i]) +
                 (window.kernel[i] - 1) * static_cast<double>(window.dilations[i]) + 1;
    Expr more = b.simplify(ir::max(window.pad_end[i], reach - extent - window.pad_begin[i]));
    begin.push_back(window.pad_begin[i]);
    end.push_back(more);
    needed = needed || !ir::is_const(begin.back(), 0) || !ir::is_const(end.back(), 0);
  }
  return needed ? pad_constant(b, name + ".pad", x, begin, end, std::move(fill)) : x;
}

}  // namespace gossamer::ops
