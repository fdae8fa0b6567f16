#include "language/decoder.h"

#include <cmath>
#include <numbers>

namespace gossamer::language {
namespace {

using Name = std::string;
constexpr int64_t onnx_i32 = 6, onnx_i64 = 7;
constexpr const char* other_form =
    "the file is damaged, or of a form of the architecture that is not known";
// Tensors of GGUF files with divisors of frequencies.
constexpr const char* far_factors = "rope_factors_long.weight";
constexpr const char* near_factors = "rope_factors_short.weight";
constexpr const char* all_factors = "rope_freqs.weight";

class Decoder {
 public:
  Decoder(const Network& network, Weights& weights)
      : net_(network),
        kind_(*language::architecture(network.architecture)),
        weights_(weights),
        w_(weights) {}

  Result<std::string> write();

 private:
  struct Angles {
    Name cosines, sines;
  };

  bool has(std::string_view name) const { return weights_.shape(name) != nullptr; }
  bool has_weight(Part part, int64_t layer = 0) const {
    const Name name = weights_.name(part, layer);
    return !name.empty() && has(name + ".weight");
  }
  Result<> require(std::string_view name, const std::vector<int64_t>& shape) const;
  Result<Name> vector(std::string_view name, int64_t length);
  // x times a matrix [rows, columns], plus a bias if the file has one.
  Result<Name> product(const Name& x, const std::string& name, int64_t rows, int64_t columns,
                       const std::string& out = {});
  Result<Name> norm(const Name& x, const std::string& name, int64_t length);
  Result<Name> norm_of_heads(const Name& x, const std::string& name, int64_t heads);
  Result<Name> scaled_frequencies(const Rotation& rotation, const Name& total);
  Result<Angles> angles(const Rotation& rotation, const Name& positions, const Name& total,
                        bool scaled);
  Name turned(const Name& x, int64_t heads, const Angles& angles);
  Result<Name> attention(int64_t layer, const Name& x);
  Result<Name> feed_forward(int64_t layer, const Name& x);
  Result<> write_inputs();
  bool sees_all(int64_t layer) const { return !net_.windowed[static_cast<size_t>(layer)]; }

  const Network& net_;
  const Architecture& kind_;
  Weights& weights_;
  NodeWriter w_;
  Name ids_, mask_, lengths_, total_;
  Angles all_, local_;
};

Result<> Decoder::require(std::string_view name, const std::vector<int64_t>& shape) const {
  const std::vector<int64_t>* found = weights_.shape(name);
  if (!found)
    return fail(cat(weights_.source(), " lacks the tensor \"", name, "\" of its architecture, ",
                    net_.architecture),
                other_form);
  if (*found == shape) return {};
  const auto text = [](const std::vector<int64_t>& extents) {
    std::string list;
    for (const int64_t extent : extents) list += cat(list.empty() ? "[" : ", ", extent);
    return list + "]";
  };
  return fail_at(
      cat("tensor \"", name, "\""),
      cat("has the shape ", text(*found), ", the values of the file ask for ", text(shape)),
      other_form);
}

Result<Name> Decoder::vector(std::string_view name, int64_t length) {
  GS_TRY(require(name, {length}));
  GS_ASSIGN(const NodeWriter::Written made, w_.tensor(name));
  if (made.format)
    return fail_at(cat("tensor \"", name, "\""),
                   cat("is in ", made.format->name, "; F32 is expected"), other_form);
  return made.type == onnx_f32 ? made.name
                               : w_.node("Cast", {made.name}, {onnx::attribute("to", onnx_f32)});
}

Result<Name> Decoder::product(const Name& x, const std::string& name, int64_t rows, int64_t columns,
                              const std::string& out) {
  GS_TRY(require(name + ".weight", {rows, columns}));
  GS_ASSIGN(const NodeWriter::Written weight, w_.tensor(name + ".weight"));
  std::vector<Name> inputs = {x, weight.name};
  if (has(name + ".bias")) {
    GS_ASSIGN(inputs.emplace_back(), vector(name + ".bias", rows));
  }
  return w_.node("ai.gossamer::MatMulBlocks", inputs,
                 {onnx::attribute("format", weight.format ? weight.format->name : "")},
                 out.empty() ? name : out);
}

Result<Name> Decoder::norm(const Name& x, const std::string& name, int64_t length) {
  GS_ASSIGN(Name weight, vector(name + ".weight", length));
  if (net_.norm_offset != 0) weight = w_.node("Add", {weight, w_.real(net_.norm_offset)});
  return w_.node("SimplifiedLayerNormalization", {x, weight},
                 {onnx::attribute("axis", int64_t{-1}),
                  onnx::attribute("epsilon", static_cast<float>(net_.epsilon))},
                 name);
}

Result<Name> Decoder::norm_of_heads(const Name& x, const std::string& name, int64_t heads) {
  const Name split = w_.node("Reshape", {x, w_.integers({0, 0, heads, net_.head})});
  GS_ASSIGN(const Name y, norm(split, name, net_.head));
  return w_.node("Reshape", {y, w_.integers({0, 0, heads * net_.head})});
}

// Angles of one position: as transformers computes them, in f32.
std::vector<float> frequencies(const Rotation& rotation, int64_t rotated) {
  const auto dims = static_cast<double>(rotated);
  const auto single = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  // The element that turns so often in the original context.
  const auto place = [&](double turns) {
    return dims * std::log(rotation.original / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rotation.base));
  };
  double low = place(rotation.fast), high = place(rotation.slow);
  if (rotation.whole) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;
  std::vector<float> list;
  for (int64_t i = 0; i < rotated / 2; ++i) {
    const auto at = static_cast<double>(i);
    double each = single(1 / single(std::pow(rotation.base, single(2 * at / dims))));
    if (rotation.scaling == "linear") each /= rotation.factor;
    if (rotation.scaling == "yarn") {
      const double longer = std::min(std::max((at - low) / (high - low), 0.0), 1.0);
      each = each / rotation.factor * longer + each * (1 - longer);
    }
    if (rotation.scaling == "llama3") {
      const double turns = rotation.original * each / (2 * std::numbers::pi);
      const double smooth =
          std::min(std::max((turns - rotation.slow) / (rotation.fast - rotation.slow), 0.0), 1.0);
      each = (1 - smooth) * each / rotation.factor + smooth * each;
    }
    list.push_back(static_cast<float>(each));
  }
  return list;
}

// [rotated / 2]
Result<Name> Decoder::scaled_frequencies(const Rotation& rotation, const Name& total) {
  const int64_t half = net_.rotated / 2;
  const Name plain = w_.reals(frequencies(rotation, net_.rotated));
  if (rotation.scaling == "longrope") {
    const auto factors = [&](const std::vector<float>& given, const char* name) -> Result<Name> {
      return given.empty() ? vector(name, half) : w_.reals(given);
    };
    GS_ASSIGN(const Name far, factors(rotation.far, far_factors));
    GS_ASSIGN(const Name near, factors(rotation.near, near_factors));
    const Name longer =
        w_.node("Greater", {total, w_.integer(static_cast<int64_t>(rotation.original))});
    return w_.node("Div", {plain, w_.node("Where", {longer, far, near})});
  }
  if (!has(all_factors)) return plain;
  GS_ASSIGN(const Name factors, vector(all_factors, half));
  return w_.node("Div", {plain, factors});
}

// Cosines and sines [batch, sequence, rotated / 2].
Result<Decoder::Angles> Decoder::angles(const Rotation& rotation, const Name& positions,
                                        const Name& total, bool scaled) {
  Name each;
  if (scaled) {
    GS_ASSIGN(each, scaled_frequencies(rotation, total));
  } else {
    each = w_.reals(frequencies(rotation, net_.rotated));
  }
  const Name angle = w_.node("Mul", {positions, each});
  Angles made{w_.node("Cos", {angle}), w_.node("Sin", {angle})};
  if (rotation.attention != 1) {
    const Name factor = w_.real(rotation.attention);
    made = {w_.node("Mul", {made.cosines, factor}), w_.node("Mul", {made.sines, factor})};
  }
  return made;
}

Name Decoder::turned(const Name& x, int64_t heads, const Angles& angles) {
  return w_.node(
      "RotaryEmbedding", {x, angles.cosines, angles.sines},
      {onnx::attribute("num_heads", heads), onnx::attribute("interleaved", int64_t{net_.pairs}),
       onnx::attribute("rotary_embedding_dim", net_.rotated)});
}

Result<Name> Decoder::attention(int64_t layer, const Name& x) {
  const int64_t wide = net_.heads * net_.head, narrow = net_.groups * net_.head;
  const auto name = [&](Part part) { return weights_.name(part, layer); };
  Name q, k, v;
  if (has_weight(Part::query_key_value, layer)) {
    GS_ASSIGN(q, product(x, name(Part::query_key_value), wide + 2 * narrow, net_.width));
    k = name(Part::key);
    v = name(Part::value);
    q = w_.node("Split", {q, w_.integers({wide, narrow, narrow})},
                {onnx::attribute("axis", int64_t{-1})}, name(Part::query), {k, v});
  } else {
    GS_ASSIGN(q, product(x, name(Part::query), wide, net_.width));
    GS_ASSIGN(k, product(x, name(Part::key), narrow, net_.width));
    GS_ASSIGN(v, product(x, name(Part::value), narrow, net_.width));
  }
  if (has_weight(Part::query_norm, layer)) {
    GS_ASSIGN(q, norm_of_heads(q, name(Part::query_norm), net_.heads));
    GS_ASSIGN(k, norm_of_heads(k, name(Part::key_norm), net_.groups));
  }
  const Angles& angles = net_.local_rotation && !sees_all(layer) ? local_ : all_;
  q = turned(q, net_.heads, angles);
  k = turned(k, net_.groups, angles);
  const auto cache = [&](std::string_view part) {
    return w_.input(cat("past_key_values.", layer, ".", part),
                    {"batch_size", cat(net_.groups), "past_sequence_length", cat(net_.head)},
                    onnx_f32);
  };
  const Name past_key = cache("key"), past_value = cache("value");
  NodeWriter::Attributes attributes = {
      onnx::attribute("num_heads", net_.heads), onnx::attribute("kv_num_heads", net_.groups),
      onnx::attribute("local_window_size", sees_all(layer) ? -1 : net_.window)};
  if (net_.attention_scale != 0)
    attributes.push_back(onnx::attribute("scale", static_cast<float>(net_.attention_scale)));
  const Name present_key = cat("present.", layer, ".key"),
             present_value = cat("present.", layer, ".value");
  const Name y = w_.node("com.microsoft::GroupQueryAttention",
                         {q, k, v, past_key, past_value, lengths_, total_}, attributes, {},
                         {present_key, present_value});
  w_.output(present_key);
  w_.output(present_value);
  return product(y, name(Part::attention_output), net_.width, wide);
}

Result<Name> Decoder::feed_forward(int64_t layer, const Name& x) {
  const auto name = [&](Part part) { return weights_.name(part, layer); };
  Name gate, up;
  if (has_weight(Part::gate, layer)) {
    GS_ASSIGN(gate, product(x, name(Part::gate), net_.hidden, net_.width));
    GS_ASSIGN(up, product(x, name(Part::up), net_.hidden, net_.width));
  } else {
    GS_ASSIGN(const Name both, product(x, name(Part::gate_and_up), 2 * net_.hidden, net_.width));
    gate = name(Part::gate);
    up = name(Part::up) + ".half";
    w_.node("Split", {both, w_.integers({net_.hidden, net_.hidden})},
            {onnx::attribute("axis", int64_t{-1})}, gate, {up});
  }
  if (kind_.gelu)
    gate = w_.node("Gelu", {gate}, {onnx::attribute("approximate", std::string_view("tanh"))});
  else
    gate = w_.node("Mul", {gate, w_.node("Sigmoid", {gate})});
  return product(w_.node("Mul", {gate, up}), name(Part::down), net_.width, net_.hidden);
}

Result<> Decoder::write_inputs() {
  ids_ = w_.input("input_ids", {"batch_size", "sequence_length"}, onnx_i64);
  mask_ = w_.input("attention_mask", {"batch_size", "total_sequence_length"}, onnx_i64);
  const auto extent = [&](const Name& of) {
    return w_.node("Gather", {w_.node("Shape", {of}), w_.integer(1)});
  };
  const auto as_i32 = [&](const Name& x) {
    return w_.node("Cast", {x}, {onnx::attribute("to", onnx_i32)});
  };
  const Name total = extent(mask_), sequence = extent(ids_), zero = w_.integer(0);
  const Name counts =
      w_.node("ReduceSum", {mask_, w_.integers({1})}, {onnx::attribute("keepdims", int64_t{1})});
  lengths_ = as_i32(w_.node("Sub", {counts, w_.integer(1)}));
  total_ = as_i32(total);
  // A prompt counts from 0; what follows goes on behind the elements of its sample.
  const Name before = w_.node("Max", {w_.node("Sub", {counts, sequence}), zero});
  const Name first = w_.node("Where", {w_.node("Equal", {total, sequence}), zero, before});
  const Name places = w_.node("Add", {first, w_.node("Range", {zero, sequence, w_.integer(1)})});
  const Name positions = w_.node("Cast", {w_.node("Unsqueeze", {places, w_.integers({-1})})},
                                 {onnx::attribute("to", onnx_f32)});
  GS_ASSIGN(all_, angles(net_.rotation, positions, total, true));
  if (net_.local_rotation) {
    GS_ASSIGN(local_, angles(net_.local, positions, total, false));
  }
  return {};
}

Result<std::string> Decoder::write() {
  GS_TRY(write_inputs());
  const Name words = weights_.name(Part::words);
  const std::vector<int64_t>* table = weights_.shape(words + ".weight");
  if (!table || table->size() != 2 || (*table)[1] != net_.width)
    return fail(cat(weights_.source(), " has no tensor \"", words, ".weight\" of [words, ",
                    net_.width, "]"),
                other_form);
  GS_ASSIGN(const NodeWriter::Written rows, w_.tensor(words + ".weight"));
  Name x = w_.node("ai.gossamer::GatherBlocks", {rows.name, ids_},
                   {onnx::attribute("format", rows.format ? rows.format->name : "")}, words);
  if (kind_.embedding_scaled)
    x = w_.node("Mul", {x, w_.real(std::sqrt(static_cast<double>(net_.width)))});
  // Logits come first among the outputs.
  w_.output("logits");
  for (int64_t layer = 0; layer < net_.layers; ++layer) {
    const auto normed = [&](const Name& y, Part part) {
      return norm(y, weights_.name(part, layer), net_.width);
    };
    GS_ASSIGN(Name y, normed(x, Part::attention_norm));
    GS_ASSIGN(y, attention(layer, y));
    if (kind_.end_norms) {
      GS_ASSIGN(y, normed(y, Part::attention_end_norm));
    }
    x = w_.node("Add", {x, y});
    GS_ASSIGN(y, normed(x, Part::feed_forward_norm));
    GS_ASSIGN(y, feed_forward(layer, y));
    if (kind_.end_norms) {
      GS_ASSIGN(y, normed(y, Part::feed_forward_end_norm));
    }
    x = w_.node("Add", {x, y});
  }
  GS_ASSIGN(x, norm(x, weights_.name(Part::last_norm), net_.width));
  const Name head = net_.tied ? words : weights_.name(Part::output);
  GS_TRY(product(x, head, (*table)[0], net_.width, "logits"));
  return w_.model();
}

}  // namespace

Result<std::string> write_model(const Network& network, Weights& weights) {
  return Decoder(network, weights).write();
}

}  // namespace gossamer::language
