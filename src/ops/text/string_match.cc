#include "ops/text/string_match.h"

namespace gossamer::ops {

Expr StringAt::length(const Builder& b, Point point) const {
  if (place) return text.all_lengths().at(place(point));
  return b.at_broadcast(text.all_lengths(), point);
}

Expr StringAt::byte(const Builder& b, Point point, const Expr& at) const {
  std::vector<Expr> full = place ? place(point) : std::vector<Expr>(point.begin(), point.end());
  full.push_back(at);
  return place ? text.all_bytes().at(full) : b.at_broadcast(text.all_bytes(), full);
}

Tensor equal_strings(Builder& b, std::string name, const Shape& shape, const StringAt& left,
                     const StringAt& right) {
  // Behind the narrower one's width nothing is left to compare where the lengths are equal.
  const Expr &x = left.text.width(), &y = right.text.width();
  const auto known_x = ir::as_int(x), known_y = ir::as_int(y);
  const bool by_left = known_x && known_y ? *known_x <= *known_y : known_x.has_value();
  const Expr& width = by_left ? x : y;
  const Expr& other = by_left ? y : x;
  const bool inside = (known_x && known_y) || b.same(x, y);
  return b.reduce(
      std::move(name), Builder::Join::min, DType::boolean, shape, {width},
      [&](Point p, Point r) {
        Expr equal = left.byte(b, p, r[0]) == right.byte(b, p, r[0]);
        if (!inside) equal = ir::select(r[0] < other, equal, ir::boolean(true));
        return ir::cast(DType::i32, equal);
      },
      [&](Point p, Expr all) { return all != 0 && left.length(b, p) == right.length(b, p); });
}

Tensor equal_pairs(Builder& b, std::string name, const Tensor& x, const Tensor& keys) {
  Shape pairs = x.shape();
  pairs.push_back(keys.dim(0));
  const StringAt element{x, [](Point p) { return std::vector<Expr>(p.begin(), p.end() - 1); }};
  const StringAt key{keys, [](Point p) { return std::vector<Expr>{p.back()}; }};
  return equal_strings(b, std::move(name), pairs, element, key);
}

Tensor place_among(Builder& b, const std::string& name, const Tensor& x, const TensorData& keys) {
  const auto count = ir::index(keys.element_count());
  const Tensor table = b.constant(keys);
  Tensor equal;
  if (x.dtype() == DType::string) equal = equal_pairs(b, name + ".equal", x, table);
  return b.reduce(
      name + ".place", Builder::Join::min, DType::i32, x.shape(), {count},
      [&](Point p, Point r) {
        Expr same;
        if (equal) {
          std::vector<Expr> pair(p.begin(), p.end());
          pair.push_back(r[0]);
          same = equal.at(pair);
        } else {
          const Expr value = x.at(p), key = table({r[0]});
          same = value == key;
          if (ir::is_float(x.dtype())) same = same || (ir::is_nan(value) && ir::is_nan(key));
        }
        return ir::select(same, ir::cast(DType::i32, r[0]), ir::cast(DType::i32, count));
      },
      [&](Point, Expr place) { return ir::min(place, ir::cast(DType::i32, count)); });
}

}  // namespace gossamer::ops
