// What the classic models of ai.onnx.ml share.
#pragma once

#include "ops/define.h"

namespace gossamer::ops {

// [samples, rows]: the attributes `coefficients` (rows * features) and `intercepts` applied to x.
Result<Tensor> linear_scores(Builder& b, const Tensor& x, int64_t rows);

// A `post_transform` (NONE, LOGISTIC, ...) applied to [samples, classes].
Result<Tensor> post_transformed(Builder& b, const Tensor& scores, std::string_view how);

// The labels at these places among them, integers or (without any) names; the places themselves
// where that is the same.
Tensor labelled(Builder& b, const Tensor& place, const Numbers& labels,
                const std::vector<std::string>& names);

// Outputs a class (0: its label, an integer or a string) and transformed scores
// (1) from [samples, classes]; `one_score`: a single column scores the second of two classes.
Result<> classified(Builder& b, const Tensor& scores, bool one_score,
                    std::string_view labels_attribute);

}  // namespace gossamer::ops
