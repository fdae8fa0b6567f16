// Evaluates stages over host values: the same definition that makes a kernel also computes shapes
// while compiling.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "stages/stage.h"

namespace gossamer::ops {

using ir::Expr;

// The host value of a buffer, or null. Form of the elements: see Tensor::host.
using HostLookup = std::function<const std::vector<Expr>*(const ir::BufferNode*)>;

bool can_be_host(ir::DType dtype);

// The elements of a small constant in that form; std::nullopt where its type has none or they are
// too many.
std::optional<std::vector<Expr>> host_elements(ir::DType dtype, std::span<const std::byte> bytes);

// The elements of a small compute or reduce stage whose loads are all of host values; std::nullopt
// where it has others, an operation without a host form, or a load at an unknown place.
std::optional<std::vector<Expr>> evaluate_on_host(const stages::Stage& stage,
                                                  const HostLookup& lookup);

}  // namespace gossamer::ops
