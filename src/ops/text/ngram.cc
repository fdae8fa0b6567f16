// Counts of n-grams.
#include <algorithm>
#include <map>

#include "ops/builder.h"
#include "ops/families.h"
#include "ops/text/string_match.h"

namespace gossamer::ops {
namespace {

struct Gram {
  Numbers tokens;
  int64_t output;
  size_t number;  // in the pool
};

// The n-grams of the lengths asked for; of equal ones the last counts.
Result<std::vector<Gram>> read_grams(const Builder& b, const Numbers& pool) {
  Numbers starts = b.integers("ngram_counts"), indexes = b.integers("ngram_indexes");
  int64_t shortest = b.integer("min_gram_length"), longest = b.integer("max_gram_length");
  if (pool.empty() || indexes.empty()) return b.error("the pool of n-grams is empty");
  if (shortest < 1 || longest < shortest)
    return b.error("`min_gram_length` and `max_gram_length` do not fit");
  std::map<Numbers, size_t> grams;
  size_t number = 0;
  int64_t size = static_cast<int64_t>(pool.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t length = static_cast<int64_t>(i) + 1;
    int64_t first = starts[i], past = i + 1 < starts.size() ? starts[i + 1] : size;
    if (first < 0 || past < first || past > size || (past - first) % length != 0)
      return b.error("`ngram_counts` do not cut the pool into n-grams");
    for (int64_t at = first; at < past; at += length, ++number) {
      if (number >= indexes.size() || indexes[number] < 0 || indexes[number] >= (1 << 24))
        return b.error("`ngram_indexes` do not fit the pool");
      if (length < shortest || length > longest) continue;
      grams[{pool.begin() + at, pool.begin() + at + length}] = number;
    }
  }
  std::vector<Gram> all;
  for (auto& [tokens, place] : grams) all.push_back({tokens, indexes[place], place});
  std::ranges::sort(all, {}, &Gram::number);
  return all;
}

Result<> tf_idf(Builder& b) {
  Tensor x = b.input(0);
  Numbers numbers = b.integers("pool_int64s");
  if (x.dtype() == DType::string) {
    // Strings as their numbers among the distinct ones of the pool.
    std::map<std::string, int64_t> known;
    std::vector<std::string> words;
    numbers.clear();
    for (const std::string& word : b.texts("pool_strings")) {
      const auto [found, fresh] = known.emplace(word, static_cast<int64_t>(words.size()));
      if (fresh) words.push_back(word);
      numbers.push_back(found->second);
    }
    if (words.empty()) return b.error("`pool_strings` is missing");
    const auto count = static_cast<int64_t>(words.size());
    x = place_among(b, "tf_idf", x, strings({count}, std::move(words)));
  }
  GS_ASSIGN(std::vector<Gram> grams, read_grams(b, numbers));
  std::string mode = b.text("mode");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return b.error(cat("`mode` is \"", mode, "\""), "it must be TF, IDF or TFIDF");
  if (x.rank() < 1 || x.rank() > 2)
    return b.error(cat("X has rank ", x.rank()), "it is [tokens] or [rows, tokens]");
  int64_t skips = b.integer("max_skip_count"), width = 1, depth = 1;
  if (skips < 0 || skips > 1024) return b.error("`max_skip_count` is out of range");
  Numbers indexes = b.integers("ngram_indexes");
  int64_t outputs = *std::ranges::max_element(indexes) + 1;
  std::vector<double> weights = b.numbers("weights");
  const bool weighted = !weights.empty() && mode != "TF";
  if (weighted && weights.size() != indexes.size()) {
    return b.error(
        cat("`weights` has ", weights.size(), " entries and `ngram_indexes` ", indexes.size()),
        "give a weight for each n-gram of the pool");
  }
  // [outputs, depth]: the n-grams of each output as tokens, padded, and their lengths (0: none).
  std::vector<int64_t> used(static_cast<size_t>(outputs), 0);
  for (const Gram& gram : grams) {
    depth = std::max(depth, ++used[static_cast<size_t>(gram.output)]);
    width = std::max(width, static_cast<int64_t>(gram.tokens.size()));
  }
  if (outputs * depth * width > (int64_t{1} << 26)) return b.error("the pool is too large");
  Numbers tokens(static_cast<size_t>(outputs * depth * width), 0);
  std::vector<int32_t> lengths(static_cast<size_t>(outputs * depth), 0);
  std::vector<float> factors(static_cast<size_t>(outputs * depth), 0);
  std::ranges::fill(used, 0);
  for (const Gram& gram : grams) {
    int64_t row = gram.output * depth + used[static_cast<size_t>(gram.output)]++;
    lengths[static_cast<size_t>(row)] = static_cast<int32_t>(gram.tokens.size());
    if (weighted) factors[static_cast<size_t>(row)] = static_cast<float>(weights[gram.number]);
    std::ranges::copy(gram.tokens, tokens.begin() + row * width);
  }
  Tensor pool = x.dtype() == DType::i64
                    ? b.constant(int64s({outputs, depth, width}, tokens))
                    : b.constant(int32s({outputs, depth, width}, {tokens.begin(), tokens.end()}));
  Tensor length = b.constant(int32s({outputs, depth}, lengths)), weight;
  if (weighted) weight = b.constant(floats({outputs, depth}, factors));
  // The weight of an output that several n-grams have is that of the last one that occurs.
  const bool last = weighted && mode == "IDF";
  Shape shape = x.rank() == 2 ? Shape{x.dim(0), ir::index(outputs)} : Shape{ir::index(outputs)};
  Expr size = x.dim(-1);
  b.output(0,
           b.reduce(
               "tf_idf", last ? Builder::Join::max : Builder::Join::sum, DType::f32, shape,
               {ir::index(depth), ir::index(skips + 1), size},
               [&](Point p, Point r) {
                 Expr words = as_index(length({p.back(), r[0]}));
                 // An n-gram of one token is the same with every skip.
                 Expr found = words > 1 || (words == 1 && r[1] == 0);
                 for (int64_t k = 0; k < width; ++k) {
                   std::vector<Expr> at(p.begin(), p.end());
                   at.back() = b.simplify(r[2] + (r[1] + 1) * static_cast<double>(k));
                   Expr fits = at.back() < size;
                   Expr equal = x.at(at) == pool({p.back(), r[0], ir::index(k)});
                   equal = ir::select(fits, equal, ir::boolean(false));
                   found = found && (words <= static_cast<double>(k) || equal);
                 }
                 if (last)
                   return ir::select(found, ir::cast(DType::f32, r[0] + 1.0), ir::zero(DType::f32));
                 Expr count = ir::cast(DType::f32, found);
                 return weighted ? count * weight({p.back(), r[0]}) : count;
               },
               [&](Point p, Expr count) {
                 if (last) {
                   const Expr place = ir::max(as_index(count) - 1, 0.0);
                   return ir::select(count > 0.0, weight({p.back(), place}), ir::zero(DType::f32));
                 }
                 return mode == "IDF" ? ir::min(count, 1.0) : count;
               }));
  return {};
}

}  // namespace

std::vector<OpDef> ngram_family() {
  using N = Numbers;
  auto with = [](Attributes more) {
    Attributes all = {{"max_gram_length", 2},
                      {"max_skip_count", 2},
                      {"min_gram_length", 1},
                      {"mode", "TF"},
                      {"ngram_counts", N{0, 4}},
                      {"ngram_indexes", N{0, 1, 2, 3, 4, 5, 6}},
                      {"pool_int64s", N{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}};
    more.merge(all);
    return more;
  };
  std::vector<AttributeDef> attributes = {{"pool_int64s", N{}},
                                          {"pool_strings", std::vector<std::string>{}},
                                          {"weights", std::vector<double>{}}};
  for (const char* name : {"max_gram_length", "max_skip_count", "min_gram_length", "mode",
                           "ngram_counts", "ngram_indexes"}) {
    attributes.push_back({name, {}, true});
  }
  TensorData rows = int32s({2, 6}, {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8});
  return {
      {.name = "TfIdfVectorizer",
       .doc = "How often each n-gram of a pool occurs, tokens possibly apart.",
       .since = 9,
       .inputs = {{"X", integer_index | strings_only}},
       .attributes = attributes,
       .define = tf_idf,
       .cases = [=] -> Cases {
         return {
             {.name = "rows", .attributes = with({}), .inputs = {rows}},
             {.name = "words",
              .attributes = with(
                  {{"pool_int64s", N{}},
                   {"pool_strings", std::vector<std::string>{"a", "an", "the", "of", "an", "apple",
                                                             "a", "pear", "the", "apple"}}}),
              .inputs = {strings({6}, {"a", "pear", "the", "red", "apple", "an"})}},
             {.name = "pairs",
              .attributes = with({{"min_gram_length", 2}, {"max_skip_count", 0}}),
              .inputs = {int64s({8}, {5, 6, 5, 6, 7, 8, 6, 7})}},
             {.name = "weighted",
              .attributes =
                  with({{"mode", "TFIDF"}, {"weights", std::vector<double>{1, 2, 3, 4, 5, 6, 7}}}),
              .inputs = {rows}},
             {.name = "weights of n-grams that share an output",
              .attributes = with({{"mode", "IDF"},
                                  {"weights", std::vector<double>{1, 2, 3, 4, 5, 6, 7}},
                                  {"ngram_indexes", N{0, 1, 2, 3, 3, 1, 0}}}),
              .inputs = {rows}},
             {.name = "present",
              .attributes = with({{"mode", "IDF"}, {"ngram_indexes", N{0, 1, 2, 3, 3, 1, 0}}}),
              .inputs = {rows}}};
       }},
  };
}

}  // namespace gossamer::ops
