// Random numbers from a counter: each element hashes its own place and the node's seed, so that it
// is the same on every target and in every run. Other implementations give other numbers for the
// same seed. A node without a seed takes one from its name.
#include <cmath>

#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/random_bits.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

uint32_t seed_of(const Builder& b) {
  uint32_t hash = 2166136261u;  // FNV-1a
  auto feed = [&](uint64_t byte) { hash = (hash ^ static_cast<uint32_t>(byte & 255)) * 16777619u; };
  if (b.has_attribute("seed")) {
    uint64_t seed = static_cast<uint64_t>(std::llround(b.number("seed") * 65536.0));
    for (int i = 0; i < 8; ++i) feed(seed >> (8 * i));
  } else {
    for (char c : b.node_name()) feed(static_cast<uint64_t>(c));
  }
  return hash;
}

// 32 random bits of the element at a row-major place in `shape`.
Expr bits_of(const Builder& b, const Shape& shape, Point point, uint32_t stream = 0) {
  Expr place = ir::index(0);
  for (size_t i = 0; i < point.size(); ++i) place = place * shape[i] + point[i];
  Expr start = ir::cast(DType::u32, b.simplify(place));
  const uint32_t number = seed_of(b) + stream * 0x9e3779b9u;
  Expr key = ir::constant_int(DType::u32, int64_t{number});
  return mixed_bits(mixed_bits(start) + key);
}

// 24 of them as f32 in [0, 1).
Expr uniform(const Builder& b, const Shape& shape, Point point, uint32_t stream = 0) {
  Expr bits = bits_of(b, shape, point, stream);
  Expr top = ir::binary(ir::BinaryOp::shr, bits, ir::constant_int(DType::u32, 8));
  return ir::cast(DType::f32, top) * (1.0 / (1 << 24));
}

// Box and Muller's transform.
Expr normal(const Builder& b, const Shape& shape, Point point) {
  constexpr double pi = 3.14159265358979323846;
  Expr radius = 1.0 - uniform(b, shape, point, 1);  // in (0, 1]
  Expr angle = uniform(b, shape, point, 2) * (2 * pi);
  return ir::sqrt(ir::log(radius) * -2.0) * ir::cos(angle);
}

// The type that the attribute `dtype` names, else `fallback`.
Result<DType> type_of(const Builder& b, DType fallback, TypeSet allowed) {
  DType dtype = fallback;
  if (b.has_attribute("dtype")) {
    auto asked = dtype_of_onnx(b.integer("dtype"));
    if (!asked) return b.error("`dtype` is not a known type code");
    dtype = *asked;
  }
  if (!(allowed & only(dtype))) return b.error(cat("cannot make random ", ir::name_of(dtype)));
  return dtype;
}

Result<> random_tensor(Builder& b, bool is_normal) {
  bool like = b.input_count() > 0;
  Shape shape;
  if (like) {
    shape = b.input(0).shape();
  } else {
    for (int64_t extent : b.integers("shape")) {
      if (extent < 0) return b.error("`shape` must not be negative");
      shape.push_back(ir::index(extent));
    }
  }
  GS_ASSIGN(DType dtype, type_of(b, like ? b.input(0).dtype() : DType::f32, any_float));
  b.output(0, b.compute(stage_name(b), dtype, shape, [&](Point p) {
    Expr value;
    if (is_normal) {
      value = normal(b, shape, p) * b.number("scale") + b.number("mean");
    } else {
      double low = b.number("low"), high = b.number("high");
      value = uniform(b, shape, p) * (high - low) + low;
    }
    return ir::cast(dtype, value);
  }));
  return {};
}

Result<> bernoulli(Builder& b) {
  const Tensor& x = b.input(0);
  GS_ASSIGN(DType dtype, type_of(b, x.dtype(), any_type));
  b.output(0, b.compute("bernoulli", dtype, x.shape(), [&](Point p) {
    return ir::cast(dtype, uniform(b, x.shape(), p) < ir::cast(DType::f32, x.at(p)));
  }));
  return {};
}

// The class whose log probability plus Gumbel noise is largest.
Result<> multinomial(Builder& b) {
  const Tensor& x = b.input(0);
  int64_t samples = b.integer("sample_size");
  if (x.rank() != 2) return b.error(cat("input has rank ", x.rank()), "it is [batch, classes]");
  if (samples < 1) return b.error("`sample_size` must be positive");
  GS_ASSIGN(DType dtype, type_of(b, DType::i32, integer_index));
  Shape all = {x.dim(0), ir::index(samples), x.dim(1)};
  Var value = ir::var("best", DType::f32), place = ir::var("place");
  Var other = ir::var("other", DType::f32), other_place = ir::var("other_place");
  Expr wins =
      Expr(other) > Expr(value) || (Expr(other) == Expr(value) && Expr(other_place) < Expr(place));
  Accumulators accumulators{
      {value, other, ir::select(wins, other, value), ir::lowest(DType::f32)},
      {place, other_place, ir::select(wins, other_place, place), ir::index(0x7fffffff)}};
  b.output(0, b.reduce(
                  "multinomial", accumulators, dtype, {all[0], all[1]}, {all[2]},
                  [&](Point p, Point r) {
                    std::vector<Expr> at = {p[0], p[1], r[0]};
                    Expr noise = gumbel_noise(bits_of(b, all, at));
                    return std::vector<Expr>{ir::cast(DType::f32, x({p[0], r[0]})) + noise, r[0]};
                  },
                  [&](Point, std::span<const Var> best) { return ir::cast(dtype, best[1]); }));
  return {};
}

// Drops elements only in training, and only where the ratio is not 0; both may be data.
Result<> dropout(Builder& b) {
  const Tensor &x = b.input(0), &ratio = b.input(1), &training = b.input(2);
  DType dtype = x.dtype();
  auto scalar = [&](const Tensor& tensor) {
    return b.at_broadcast(tensor,
                          std::vector<Expr>(static_cast<size_t>(tensor.rank()), ir::index(0)));
  };
  auto known = [](const Tensor& tensor) -> std::optional<double> {
    if (!tensor.host || tensor.host->size() != 1) return std::nullopt;
    return ir::as_float((*tensor.host)[0]);
  };
  if (!training || known(training) == 0 || (ratio && known(ratio) == 0)) {
    b.output(0, x);
    if (b.wants(1)) {
      b.output(1, b.compute("dropout.mask", DType::boolean, x.shape(),
                            [](Point) { return ir::boolean(true); }));
    }
    return {};
  }
  auto share = [&] {
    Expr given = ratio ? ir::cast(DType::f32, scalar(ratio)) : ir::constant(DType::f32, 0.5);
    return ir::select(scalar(training), given, ir::zero(DType::f32));
  };
  Tensor mask = b.compute("dropout.mask", DType::boolean, x.shape(),
                          [&](Point p) { return uniform(b, x.shape(), p) >= share(); });
  b.output(0, b.compute("dropout", dtype, x.shape(), [&](Point p) {
    Expr kept = ir::cast(DType::f32, x.at(p)) / (1.0 - share());
    return ir::cast(dtype, ir::select(mask.at(p), kept, ir::zero(DType::f32)));
  }));
  b.output(1, mask);
  return {};
}

OpDef random_entry(std::string name, Doc doc, bool like, bool is_normal) {
  std::vector<AttributeDef> attributes = {{"seed", {}}};
  for (const char* parameter : {is_normal ? "mean" : "low", is_normal ? "scale" : "high"}) {
    bool one = parameter == std::string_view("scale") || parameter == std::string_view("high");
    attributes.push_back({parameter, one ? 1.0 : 0.0});
  }
  attributes.push_back({"dtype", {}});
  if (!like) attributes.push_back({"shape", {}, true});
  Case test = {.name = "seeded", .attributes = {{"seed", 3.0}}};
  Case second = {.name = "changed", .attributes = {{attributes[1].name, -1.0}, {"seed", 1.5}}};
  for (Case* one : {&test, &second}) {
    if (like) one->shapes = {{5, 7}};
    if (!like) one->attributes["shape"] = Numbers{3, 11};
  }
  return {.name = std::move(name),
          .doc = std::move(doc),
          .since = 22,
          .inputs = like ? std::vector<InputDef>{{"input", any_element}} : std::vector<InputDef>{},
          .outputs = {"output"},
          .attributes = std::move(attributes),
          .define = [is_normal](Builder& b) { return random_tensor(b, is_normal); },
          .cases = [=] -> Cases { return {test, second}; }};
}

}  // namespace

std::vector<OpDef> random_family() {
  return {
      random_entry("RandomNormal", "Normally distributed numbers.", false, true),
      random_entry("RandomNormalLike", "Normally distributed numbers of the input's shape.", true,
                   true),
      random_entry("RandomUniform", "Evenly distributed numbers.", false, false),
      random_entry("RandomUniformLike", "Evenly distributed numbers of the input's shape.", true,
                   false),
      {.name = "Bernoulli",
       .doc = "1 with the probability that the input says, else 0.",
       .since = 22,
       .inputs = {{"input", any_float}},
       .outputs = {"output"},
       .attributes = {{"dtype", {}}, {"seed", {}}},
       .define = bernoulli,
       .cases = [] -> Cases {
         return {{.name = "floats", .shapes = {{4, 9}}, .low = 0, .high = 1},
                 {.name = "booleans",
                  .shapes = {{31}},
                  .attributes = {{"dtype", 9}, {"seed", 2.0}},
                  .low = 0,
                  .high = 1}};
       }},
      {.name = "Multinomial",
       .doc = "Draws classes by their log probabilities.",
       .since = 22,
       .inputs = {{"input", any_float}},
       .outputs = {"output"},
       .attributes = {{"dtype", {}}, {"sample_size", 1}, {"seed", {}}},
       .define = multinomial,
       .cases = [] -> Cases {
         return {{.name = "samples", .shapes = {{3, 5}}, .attributes = {{"sample_size", 7}}}};
       }},
      {.name = "Dropout",
       .doc = "In training, drops elements at random and scales the rest; else the input itself.",
       .since = 22,
       .inputs = {{"data", any_float | small_floats},
                  {"ratio", any_float | small_floats, InputDef::optional},
                  {"training_mode", boolean_only, InputDef::optional}},
       .outputs = {"output", "mask"},
       .attributes = {{"seed", {}}},
       .define = dropout,
       .cases = [] -> Cases {
         return {{.name = "inference", .shapes = {{3, 5}}},
                 {.name = "training",
                  .shapes = {{4, 8}},
                  .attributes = {{"seed", 7}},
                  .inputs = {{}, floats({}, {0.25f}), booleans({}, {1})}},
                 {.name = "told by data",
                  .shapes = {{4, 8}, {}, {}},
                  .attributes = {{"seed", 7}},
                  .low = 0,
                  .high = 0.9}};
       }},
  };
}

}  // namespace gossamer::ops
