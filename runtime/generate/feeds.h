// What runs of a language model are fed, and what has to be true of the model and its prompts.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

inline constexpr std::string_view ids_input = "input_ids", mask_input = "attention_mask",
                                  positions_input = "position_ids",
                                  kept_input = "num_logits_to_keep";

// An error of generate().
std::unexpected<Diagnostic> refused(std::string message, std::string hint = {});

// `first`, `first` + `step`, ..., the same along each last axis: of an integer input.
HostTensor integers(const Port& port, std::vector<int64_t> shape, int64_t first, int64_t step);
// These numbers.
HostTensor integers_of(const Port& port, std::vector<int64_t> shape,
                       std::span<const int64_t> values);

// The mask of a run of `count` tokens for each text; before[i] tokens of text i precede them. Rank
// 2 is [texts, tokens]: one for tokens of the text, zero for padding. Rank 4 is [texts, 1, count,
// tokens] and also hides later tokens. Floats are added to scores: zero for a visible token, -inf
// for a hidden one. Other types have one and zero.
HostTensor mask_of(const Port& port, std::span<const int64_t> before, int64_t count);

// By name; their number where there is none.
size_t place_of(const std::vector<Port>& ports, std::string_view name);

// Errors: a package that does not choose tokens, a model without its state.
Result<> check_model(const Model& model);
// Errors: no token, one outside of the vocabulary.
Result<> check_prompt(std::span<const int64_t> prompt, int64_t words);
// What callers feed. Errors: no input of the model, or the prompt's.
Result<> check_feeds(const Model& model, const std::map<std::string, HostTensor>& feeds);
// Adds defaults for the inputs that have no value and are not `counted` anew for each run. Errors:
// one without a default.
Result<> add_defaults(const Model& model, std::map<std::string, HostTensor>& feeds,
                      const std::function<bool(const Port&)>& counted);
// Errors: another generation is under way.
Result<> claim(Model& model);

}  // namespace gossamer::runtime
