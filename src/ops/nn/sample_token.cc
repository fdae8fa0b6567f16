// The next token of a language model, chosen where its logits are. What a run does not ask for, by
// tensors without rows, is not launched.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "ops/families.h"
#include "ops/random_bits.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

using stages::Accumulators;

// Thresholds lie between -reach and 0 below the largest logit: what is lower has no chance that
// draws of 32 bits could meet. Each pass tries `ways` - 1 of them.
constexpr double reach = 32;
constexpr int ways = 16, passes = 6;

// The vocabulary is reduced in parts: to find the best token, short ones, few enough for a
// workgroup to join; for sums that one invocation joins, few.
constexpr int64_t least_part = 64, most_parts = 4000, most_sums = 128;

// Of the inputs, in order.
constexpr std::array<std::pair<int, int>, 10> ranks = {
    {{0, 3}, {1, 2}, {2, 2}, {3, 4}, {4, 1}, {5, 1}, {6, 2}, {7, 1}, {8, 2}, {9, 1}}};

// Of repetition, presence and frequency.
constexpr int64_t penalties = 3;

// Tokens of an element of the mask, of which each has a bit.
constexpr int64_t mask_bits = 32;

const Expr lowest = ir::constant(DType::f32, -std::numeric_limits<float>::max());

class Sampler {
 public:
  explicit Sampler(Builder& b) : b_(b), counts_(b.input(2)) {}

  Result<> define() {
    const Tensor &logits = b_.input(0), &ids = b_.input(1), &past = b_.input(3);
    for (const auto& [input, rank] : ranks) {
      const bool is_mask = input == 3 && b_.has(3) && b_.input(3).rank() == 2;
      if (b_.has(input) && b_.input(input).rank() != rank && !is_mask)
        return b_.error(cat("`", b_.def().inputs[static_cast<size_t>(input)].name, "` has rank ",
                            b_.input(input).rank(), ", not ", rank));
    }
    words_ = ir::as_int(logits.dim(2)).value_or(0);
    if (words_ < 1) return b_.error("the size of the vocabulary must be known when compiling");
    length_ = std::max(least_part, (words_ + most_parts - 1) / most_parts);
    parts_ = (words_ + length_ - 1) / length_;
    GS_TRY(has_shape(b_, 1, {batch(), ids.dim(1)}));
    GS_TRY(b_.require(ids.dim(1) >= 1, "a run takes one token at least"));
    GS_TRY(has_shape(b_, 2, {batch(), counts_.dim(1)}));
    GS_TRY(has_shape(b_, 5, {ir::index(2)}));
    GS_TRY(has_shape(b_, 6, {b_.input(6).dim(0), ir::index(3)}));
    GS_TRY(b_.require(b_.input(7).dim(0) == penalties || b_.input(7).dim(0) == penalties + words_,
                      "`penalties` are 3, and a bias for each token or none"));
    if (b_.has(8)) {
      const Tensor& mask = b_.input(8);
      GS_TRY(b_.require(mask.dim(0) == 0 || (mask.dim(0) == batch() &&
                                             mask.dim(1) * mask_bits >= ir::index(words_)),
                        "`mask` has a bit for each token of each sample, or no rows"));
    }
    sampled_ = b_.input(4).dim(0);
    filtered_ = b_.input(6).dim(0);
    if (has_rows()) {
      rows_ = b_.input(9).dim(0);
      GS_TRY(b_.require(rows_ >= 1, "a run chooses one token at least"));
      GS_TRY(b_.require(logits.dim(1) >= rows_, "a run has a token for each row that chooses"));
    }
    last_ =
        b_.compute("sample.logits", logits.dtype(), {batch(), rows_, logits.dim(2)}, [&](Point p) {
          const Expr row = has_rows() ? logits.dim(1) - rows_ + p[1] : logits.dim(1) - 1.0;
          return logits({p[0], row, p[2]});
        });
    present_ = counted(ids);
    // How many tokens there are by now tells the draws of one seed apart.
    position_ = !past ? ids.dim(1) : past.rank() == 2 ? past.dim(1) : past.dim(2) + ids.dim(1);
    chances_ = b_.compute("sample.scores", DType::f32, {batch(), b_.simplify(sampled_ * words_)},
                          score(threshold()));
    b_.output(0, best());
    b_.output(1, present_);
    b_.output(2, last_);
    return {};
  }

 private:
  const Expr& batch() const { return b_.input(0).dim(0); }
  bool has_rows() const { return b_.has(9); }
  // Of one that is drawn.
  Expr last_row() const { return has_rows() ? rows_ - 1.0 : ir::index(0); }

  // How often each token was generated, twice, and 1 more where the prompt has it, with the tokens
  // of this run. Without columns where no penalty asks.
  Tensor counted(const Tensor& ids) const {
    const auto token = [&](Point p) { return as_index(ids.at(p)); };
    return b_.scatter(
        "sample.counts", counts_, ids.shape(), Builder::Join::sum,
        [&](Point p) { return std::vector<Expr>{p[0], token(p)}; },
        [](Point) { return ir::constant_int(DType::i32, 2); },
        [&](Point p) { return token(p) >= 0 && token(p) < counts_.dim(1); });
  }

  // The logits after one of the last tokens, less penalties, with a bias.
  Expr logit(const Expr& sample, const Expr& row, const Expr& word) const {
    const Tensor& numbers = b_.input(7);
    const auto penalty = [&](int64_t which) { return numbers({ir::index(which)}); };
    const Expr raw = ir::cast(DType::f32, last_({sample, row, word}));
    const Expr count = ir::select(word < counts_.dim(1), present_({sample, word}),
                                  ir::constant_int(DType::i32, 0));
    const Expr none = ir::constant_int(DType::i32, 1);
    const Expr generated =
        ir::cast(DType::f32, ir::binary(ir::BinaryOp::shr, count, ir::constant_int(DType::i32, 1)));
    const Expr repeated = ir::select(raw > 0.0, raw / penalty(0), raw * penalty(0));
    const Expr punished = ir::select(count >= none, repeated, raw) -
                          ir::select(count > none, penalty(1), ir::zero(DType::f32)) -
                          generated * penalty(2);
    // Biases lie after the penalties: kernels have few buffers.
    const Expr place = b_.simplify(word + static_cast<double>(penalties));
    const Expr bias = ir::select(place < numbers.dim(0), numbers({place}), ir::zero(DType::f32));
    return ir::select(count >= none, punished, raw) + bias;
  }
  Expr scaled(const Expr& sample, const Expr& word) const {
    return allowed(sample, word, logit(sample, last_row(), word) / b_.input(4)({ir::index(0)}));
  }

  // The value of a token, the lowest one if the mask lacks its bit.
  Expr allowed(const Expr& sample, const Expr& word, const Expr& value) const {
    const Tensor& mask = b_.input(8);
    if (!mask) return value;
    const auto number = [](int64_t value) { return ir::constant_int(DType::i32, value); };
    const Expr bits = mask({sample, b_.simplify(ir::floordiv(word, mask_bits))});
    const Expr place = ir::cast(DType::i32, b_.simplify(ir::floormod(word, mask_bits)));
    const Expr bit =
        ir::binary(ir::BinaryOp::bit_and, ir::binary(ir::BinaryOp::shr, bits, place), number(1));
    return ir::select(ir::select(mask.dim(0) > 0, bit, number(1)) != number(0), value, lowest);
  }

  // For each row of filters, how far below the largest logit a token may be: [batch, filters].
  Tensor threshold() {
    const Tensor& filters = b_.input(6);
    const Shape rows = {batch(), filtered_};
    const Tensor tops = of_parts("sample.tops", Builder::Join::max, rows,
                                 [&](Point p, const Expr& word) { return scaled(p[0], word); });
    const Tensor most =
        b_.reduce("sample.most", Builder::Join::max, DType::f32, rows, {tops.dim(-1)},
                  [&](Point p, Point r) { return tops({p[0], p[1], r[0]}); });
    const Tensor below =
        b_.compute("sample.below", DType::f32, {batch(), filtered_, ir::index(words_)},
                   [&](Point p) { return scaled(p[0], p[2]) - most({p[0], p[1]}); });
    const auto chance = [](const Expr& value) { return ir::exp(value); };
    const auto limit = [&](Point p, int64_t column) { return filters({p[1], ir::index(column)}); };
    const Tensor first = searched(
        "sample.top_k", below, [](const Expr&) { return ir::constant(DType::f32, 1); },
        [](Point) { return ir::constant(DType::f32, -reach); },
        [&](Point p) { return limit(p, 0); });
    const auto kept = [&](Point p) { return first({p[0], p[1]}); };
    const Tensor masses =
        of_parts("sample.masses", Builder::Join::sum, rows, [&](Point p, const Expr& word) {
          const Expr value = below({p[0], p[1], word});
          return ir::select(value >= kept(p), chance(value), ir::zero(DType::f32));
        });
    const Tensor mass =
        b_.reduce("sample.mass", Builder::Join::sum, DType::f32, rows, {masses.dim(-1)},
                  [&](Point p, Point r) { return masses({p[0], p[1], r[0]}); });
    const Tensor second = searched("sample.top_p", below, chance, kept,
                                   [&](Point p) { return limit(p, 1) * mass({p[0], p[1]}); });
    return b_.compute("sample.threshold", DType::f32, rows, [&](Point p) {
      // Sums round: without room for that, the token at the threshold could be lost.
      const Expr room = 4e-6 + ir::abs(most.at(p)) * 2.4e-7;
      return most.at(p) + (ir::max(ir::max(first.at(p), second.at(p)), limit(p, 2)) - room);
    });
  }

  // Reductions over the vocabulary of parts that lie side by side, so that neighbours read
  // neighbours: [shape, parts].
  Tensor of_parts(std::string name, Builder::Join join, Shape shape,
                  const std::function<Expr(Point, const Expr&)>& term) {
    const Expr none = join == Builder::Join::max ? lowest : ir::zero(DType::f32);
    const int64_t parts = std::min(words_, most_sums), length = (words_ + parts - 1) / parts;
    shape.push_back(ir::index(parts));
    return b_.reduce(std::move(name), join, DType::f32, shape, {ir::index(length)},
                     [&](Point p, Point r) {
                       const Expr word = b_.simplify(r[0] * parts + p.back());
                       return ir::select(word < words_, term(p, word), none);
                     });
  }

  // The highest threshold at which the weights of what is not below add up to `wanted`, or just
  // below it; that of `start` where they do nowhere. By passes that each cut the room in `ways`.
  Tensor searched(const std::string& name, const Tensor& below,
                  const std::function<Expr(const Expr&)>& weight,
                  const std::function<Expr(Point)>& start,
                  const std::function<Expr(Point)>& wanted) {
    const Shape rows = {below.dim(0), below.dim(1)};
    Tensor low = b_.compute(name + ".start", DType::f32, rows,
                            [](Point) { return ir::constant(DType::f32, -reach); });
    double room = reach;
    for (int pass = 0; pass < passes; ++pass) {
      room /= ways;
      const Tensor sums = of_parts(
          name + ".sums", Builder::Join::sum, {rows[0], rows[1], ir::index(ways - 1)},
          [&](Point p, const Expr& word) {
            const Expr value = below({p[0], p[1], word});
            const Expr tried = low({p[0], p[1]}) + (ir::cast(DType::f32, p[2]) + 1.0) * room;
            return ir::select(value >= ir::max(tried, start(p)), weight(value),
                              ir::zero(DType::f32));
          });
      low = b_.reduce(
          name, all_ways(), DType::f32, rows, {sums.dim(-1)},
          [&](Point p, Point r) {
            std::vector<Expr> terms;
            for (int way = 0; way < ways - 1; ++way)
              terms.push_back(sums({p[0], p[1], ir::index(way), r[0]}));
            return terms;
          },
          [&](Point p, std::span<const Var> found) {
            Expr count = ir::zero(DType::f32);
            for (const Var& sum : found)
              count = count + ir::select(Expr(sum) >= wanted(p), ir::constant(DType::f32, 1),
                                         ir::zero(DType::f32));
            return low.at(p) + count * room;
          });
    }
    return low;
  }

  // A sum for each threshold.
  static Accumulators all_ways() {
    Accumulators sums;
    for (int way = 0; way < ways - 1; ++way)
      sums.push_back(
          stages::sum_accumulator(ir::var("left", DType::f32), ir::var("right", DType::f32)));
    return sums;
  }

  // What the largest of is the draw.
  std::function<Expr(Point)> score(const Tensor& threshold) const {
    return [this, threshold](Point p) {
      const Tensor& seed = b_.input(5);
      const auto word = [](const Expr& x) { return ir::cast(DType::u32, x); };
      const Expr key = mixed_bits(word(seed({ir::index(0)})) +
                                  mixed_bits(word(seed({ir::index(1)})) + word(position_)));
      const Expr place = word(b_.simplify(p[0] * words_ + p[1]));
      const Expr noise = gumbel_noise(mixed_bits(mixed_bits(place) + key));
      const Expr value = scaled(p[0], p[1]);
      const Expr least = ir::select(filtered_ > 0, threshold({p[0], ir::index(0)}), lowest);
      return ir::select(value >= least, value + noise, lowest);
    };
  }

  Expr key(const Expr& sample, const Expr& row, const Expr& word) const {
    return ir::select(sampled_ > 0, chances_({sample, word}),
                      allowed(sample, word, logit(sample, row, word)));
  }

  // Where the largest is: that of each part of the vocabulary, the best part, and the place there.
  // Two places with one value: the first.
  Tensor best() {
    const auto row = [&](Point p) { return has_rows() ? p[1] : ir::index(0); };
    const auto at = [&](Point p, const Expr& part, const Expr& place) {
      const Expr word = b_.simplify(part * length_ + place);
      return ir::select(word < words_, key(p[0], row(p), word), lowest);
    };
    Shape parts{batch(), ir::index(parts_)};
    if (has_rows()) parts.insert(parts.begin() + 1, rows_);
    const Tensor tops =
        b_.reduce("sample.parts", Builder::Join::max, DType::f32, parts, {ir::index(length_)},
                  [&](Point p, Point r) { return at(p, p.back(), r[0]); });
    const Tensor part = place_of("sample.part", DType::i32, parts_, [&](Point p, Point r) {
      return has_rows() ? tops({p[0], p[1], r[0]}) : tops({p[0], r[0]});
    });
    const auto first = [&](Point p) { return as_index(part({p[0], row(p)})); };
    const Tensor place = place_of("sample.place", DType::i32, length_,
                                  [&](Point p, Point r) { return at(p, first(p), r[0]); });
    return b_.compute("sample", DType::i64, {batch(), rows_}, [&](Point p) {
      const Expr word = first(p) * length_ + as_index(place.at(p));
      return ir::cast(DType::i64, ir::min(word, ir::index(words_ - 1)));
    });
  }

  Tensor place_of(const std::string& name, DType dtype, int64_t length,
                  const std::function<Expr(Point, Point)>& value) {
    const Var top = ir::var("top", DType::f32), at = ir::var("at");
    const Var other = ir::var("other", DType::f32), other_at = ir::var("other_at");
    const Expr wins =
        Expr(other) > Expr(top) || (Expr(other) == Expr(top) && Expr(other_at) < Expr(at));
    const Accumulators larger{
        {top, other, ir::select(wins, other, top), lowest},
        {at, other_at, ir::select(wins, other_at, at), ir::index(0x7fffffff)}};
    return b_.reduce(
        name, larger, dtype, {batch(), rows_}, {ir::index(length)},
        [&](Point p, Point r) { return std::vector<Expr>{value(p, r), r[0]}; },
        [&](Point, std::span<const Var> found) {
          return ir::cast(dtype, ir::min(Expr(found[1]), ir::index(length - 1)));
        });
  }

  Builder& b_;
  const Tensor& counts_;
  int64_t words_ = 0, parts_ = 0, length_ = 0;  // of a part: as many words
  Expr sampled_, filtered_, position_;
  Expr rows_ = ir::index(1);  // that choose
  Tensor last_, present_, chances_;
};

}  // namespace

std::vector<OpDef> sample_token_family() {
  const auto optional = InputDef::optional;
  return {
      {.name = "SampleToken",
       .doc =
           "Chooses the next token by the logits of the last one, which it gives, too. `rows` with "
           "several elements: as many of the last ones, each by itself, of greedy choice.",
       .domain = "ai.gossamer",
       .since = 1,
       .inputs = {{"logits", any_float},
                  {"ids", only(DType::i64) | only(DType::i32)},
                  {"counts", only(DType::i32)},
                  // A cache [batch, heads, length, width], or a mask [batch, all tokens].
                  {"past", any_float | only(DType::i64) | only(DType::i32), optional},
                  {"temperature", only(DType::f32)},
                  {"seed", only(DType::i32)},
                  {"filters", only(DType::f32)},
                  {"penalties", only(DType::f32)},
                  {"mask", only(DType::i32), optional},
                  {"rows", only(DType::i32), optional}},
       .outputs = {"next", "present_counts", "last_logits"},
       .define = [](Builder& b) { return Sampler(b).define(); },
       .cases = [] -> Cases {
         const TensorData ids = int64s({2, 3}, {1, 5, 5, 0, 2, 36});
         const TensorData none = int32s({2, 4}, {0, 0, 0, 0, 0, 0, 0, 0}),
                          seed = int32s({2}, {7, 11});
         const TensorData free = floats({0, 3}, {}), plain = floats({3}, {1, 0, 0});
         const TensorData greedy = floats({0}, {}), warm = floats({1}, {0.8f});
         const auto with = [&](const TensorData& counts, const TensorData& temperature,
                               const TensorData& filters, const TensorData& penalties,
                               const TensorData& mask = {}, const TensorData& rows = {}) {
           return std::vector<TensorData>{{},   ids,     counts,    {},   temperature,
                                          seed, filters, penalties, mask, rows};
         };
         const std::vector<std::vector<int64_t>> shapes = {{2, 3, 37}, {}, {}, {-1}};
         const auto one = [&](std::string name, std::vector<TensorData> inputs) {
           return Case{.name = std::move(name), .shapes = shapes, .inputs = std::move(inputs)};
         };
         std::vector<int32_t> seen(74);
         for (size_t at = 0; at < seen.size(); at += 3) seen[at] = static_cast<int32_t>(at % 5);
         const TensorData counts = int32s({2, 37}, seen);
         const TensorData mask = int32s({2, 2}, {-0x5a5a5a5b, 0x15, 0x00ff8100, 0});
         const TensorData punished = floats({3}, {1.3f, 0.5f, 0.25f});
         std::vector<float> biases = {1.3f, 0.5f, 0.25f};
         for (int word = 0; word < 37; ++word)
           biases.push_back(word == 20 ? 100 : word % 4 == 0 ? -100 : static_cast<float>(word % 3));
         const TensorData biased = floats({40}, biases);
         return {
             one("greedy", with(none, greedy, free, plain)),
             one("greedy with penalties", with(counts, greedy, free, punished)),
             one("by temperature", with(none, warm, free, plain)),
             one("top k", with(none, warm, floats({1, 3}, {3, 2, -100}), plain)),
             one("top p", with(none, warm, floats({1, 3}, {1e9f, 0.6f, -100}), plain)),
             one("all", with(counts, warm, floats({1, 3}, {9, 0.9f, -3}), punished)),
             one("greedy with a mask", with(none, greedy, free, plain, mask)),
             one("by temperature with a mask", with(none, warm, free, plain, mask)),
             one("all with a mask",
                 with(counts, warm, floats({1, 3}, {9, 0.9f, -3}), punished, mask)),
             one("greedy, two rows", with(none, greedy, free, plain, {}, int32s({2}, {0, 0}))),
             one("greedy, one row of several",
                 with(counts, greedy, free, punished, mask, int32s({1}, {0}))),
             one("by temperature after rows", with(none, warm, free, plain, {}, int32s({1}, {0}))),
             {.name = "by temperature after a mask",
              .shapes = {{2, 3, 37}, {}, {}, {2, 9}},
              .inputs = with(none, warm, free, plain)},
             one("greedy with a bias", with(none, greedy, free, biased)),
             one("all with a bias",
                 with(counts, warm, floats({1, 3}, {9, 0.9f, -3}), biased, mask)),
             one("one token",
                 with(none, warm, free, plain, int32s({2, 2}, {1 << 30, 0, 0, 1 << 4})))};
       }}};
}

}  // namespace gossamer::ops
