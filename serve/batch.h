// Tensors of several requests as one along the first dimension, and back.
#pragma once

#include <span>
#include <vector>

#include "runtime/tensor.h"

namespace gossamer::serve {

// Whether two requests' inputs have equal shapes behind the first dimension.
bool same_rows(const std::vector<runtime::HostTensor>& a,
               const std::vector<runtime::HostTensor>& b);

// `requests` have same_rows; one tensor an input.
std::vector<runtime::HostTensor> join(
    std::span<const std::vector<runtime::HostTensor>* const> requests);

// Rows [first, first + rows) of a tensor.
runtime::HostTensor rows_of(const runtime::HostTensor& tensor, int64_t first, int64_t rows);

// Whether two answers are equal up to rounding: integers and strings equal, floats within 1e-3 of
// the greatest magnitude.
bool agree(const runtime::HostTensor& a, const runtime::HostTensor& b);

}  // namespace gossamer::serve
