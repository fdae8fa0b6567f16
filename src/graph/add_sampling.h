// The choice of the next token, added to a language model.
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace gossamer::graph {

// After the last row of the output `logits` [batch, sequence, vocabulary], which becomes [batch, 1,
// vocabulary]: an output `next_ids` i64 [batch, 1], an input of the next run as it is, and how
// often each token was generated, past_token_counts to present_token_counts i32 [batch, counts].
// Inputs with defaults say how; without rows, they ask for nothing: sampling.temperature f32
// [sampled], sampling.filters f32 [filters, 3] (k, p, the logarithm of min-p), sampling.penalties
// f32 [3] (repetition, presence, frequency) or [3 + vocabulary] (and what is added to each logit),
// sampling.seed i32 [2],
// sampling.mask i32 [batch or 0, vocabulary / 32] (a bit for each token that may be chosen, the
// lowest bit first). See ai.gossamer.SampleToken.
// `speculate`: also sampling.rows i32 [rows], of whose elements only the number counts. The last so
// many rows of `logits`, and a greedy token after each: next_ids [batch, rows]. Draws are for the
// last row. Errors: a model without `input_ids`, `logits` or an input "past...".
Result<> add_sampling(Graph& graph, const ops::Catalog& catalog, bool speculate = false);

}  // namespace gossamer::graph
