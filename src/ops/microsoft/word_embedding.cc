// WordConvEmbedding: words from the embeddings of their characters.
#include "ops/families.h"
#include "ops/microsoft/fused.h"
#include "ops/shape_checks.h"

namespace gossamer::ops {
namespace {

Result<> word_conv_embedding(Builder& b) {
  const Tensor &words = b.input(0), &filters = b.input(1), &bias = b.input(2), &table = b.input(3);
  if (words.rank() != 2 || filters.rank() != 4 || table.rank() != 2) {
    return b.error(
        "Sequence is [words, characters], W [filters, 1, window, size], C [characters, size]");
  }
  const Expr count = filters.dim(0), window = filters.dim(2), size = filters.dim(3);
  GS_TRY(has_shape(b, 1, {count, index(1), window, table.dim(1)}));
  GS_TRY(has_shape(b, 2, {count}));
  const Expr length = words.dim(1);
  GS_TRY(b.require(window <= length, "the window is longer than a word"));
  // Characters above 0; a word that begins with 0 is none.
  const Tensor lengths = b.reduce(
      "word_embedding.length", Builder::Join::sum, DType::i32, {words.dim(0)}, {length},
      [&](Point p, Point r) { return ir::cast(DType::i32, words({p[0], r[0]}) > 0); },
      [&](Point p, Expr sum) {
        return ir::select(words({p[0], index(0)}) > 0, std::move(sum), int32(0));
      });
  const Expr places = b.simplify(length - window + 1);
  const Tensor sums = b.reduce(
      "word_embedding.conv", Builder::Join::sum, DType::f32, {words.dim(0), places, count},
      {window, size},
      [&](Point p, Point r) {
        const Expr character = as_index(words({
            p[0],
            b.simplify(p[1] + r[0]),
        }));
        const Expr row = ir::max(ir::min(character, table.dim(0) - 1), 0.0);
        return table({row, r[1]}) * filters({p[2], index(0), r[0], r[1]});
      },
      [&](Point p, Expr sum) { return ir::tanh(sum + bias({p[2]})); });
  // The greatest of all windows within the word; a short word has one.
  b.output(0, b.reduce(
                  "word_embedding", Builder::Join::max, DType::f32, {words.dim(0), count}, {places},
                  [&](Point p, Point r) {
                    const Expr last = ir::max(as_index(lengths({p[0]})) - window, 0.0);
                    return ir::select(r[0] <= last, sums({p[0], r[0], p[1]}),
                                      ir::lowest(DType::f32));
                  },
                  [&](Point p, Expr most) {
                    return ir::select(lengths({p[0]}) > 0, std::move(most), ir::zero(DType::f32));
                  }));
  return {};
}

}  // namespace

std::vector<OpDef> microsoft_word_embedding_family() {
  const TensorData words =
      int32s({4, 5}, {1, 2, 3, 4, 0, 1, 2, 3, 4, 1, 3, 0, 0, 0, 0, 0, 1, 2, 0, 0});
  return {{.name = "WordConvEmbedding",
           .doc = "Words from a convolution over the embeddings of their characters.",
           .domain = std::string(microsoft),
           .since = 1,
           .inputs = {{"Sequence", only(DType::i32)},
                      {"W", only(DType::f32)},
                      {"B", only(DType::f32)},
                      {"C", only(DType::f32)}},
           .attributes = {{"char_embedding_size", {}},
                          {"conv_window_size", {}},
                          {"embedding_size", {}}},
           .define = word_conv_embedding,
           .cases = [=] -> Cases {
             return {{.name = "words of several lengths",
                      .shapes = {{4, 5}, {4, 1, 2, 3}, {4}, {5, 3}},
                      .inputs = {words}}};
           }}};
}

}  // namespace gossamer::ops
