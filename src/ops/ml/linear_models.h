// What the classic models of ai.onnx.ml share.
#pragma once

#include <optional>

#include "ops/builder.h"

namespace gossamer::ops {

// [samples, rows]: the attributes `coefficients` (rows * features) and `intercepts` applied to x.
Result<Tensor> linear_scores(Builder& b, const Tensor& x, int64_t rows);

// A `post_transform` (NONE, LOGISTIC, ...) applied to [samples, classes].
Result<Tensor> post_transformed(Builder& b, const Tensor& scores, std::string_view how);

// The labels at these places among them, integers or (without any) names; the places themselves
// where that is the same.
Tensor labelled(Builder& b, const Tensor& place, const Numbers& labels,
                const std::vector<std::string>& names);

// Scores of `targets` numbers to predict, transformed by the attribute `post_transform`. A single
// one is only under PROBIT, as in ONNX Runtime, against which models are checked.
Result<Tensor> transformed_targets(Builder& b, const Tensor& scores, int64_t targets,
                                   std::string_view how);

// Of two classes of which the scores tell only the second's: it wins above `threshold`. The first
// has what is missing to 1, or the negative.
struct OneScore {
  double threshold = 0;
  bool missing_to_one = false;
};

// How many labels the classes have, integers of this attribute or strings.
size_t label_count(const Builder& b, std::string_view labels_attribute);

// Outputs a class (0: its label, an integer or a string) and transformed scores
// (1) from [samples, classes]; with `one`, a single column is the score of the second class.
Result<> classified(Builder& b, const Tensor& scores, std::optional<OneScore> one,
                    std::string_view labels_attribute);

}  // namespace gossamer::ops
