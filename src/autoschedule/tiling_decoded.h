// Default lists of products with a factor that is decoded from bytes
// (stage_in.h), such as the weights of a language model.
#pragma once

#include <optional>

#include "autoschedule/tiling.h"

namespace gossamer::autoschedule {

// The number of rows that share the decoded factor, over the dimensions; null for stages that are
// no product with such a factor.
ir::Expr rows_of_decoded(const stages::Stage& stage);
// The axis of the columns, which that factor depends on.
size_t column_of_decoded(const stages::Stage& stage);
// At most this many rows are few: a kernel of its own computes them.
int64_t few_rows(const target::Capabilities& caps);
// More rows than this are many: a kernel of its own with larger tiles computes them on GPUs.
constexpr int64_t some_rows = 256;
// For many rows whose number only the run knows. None: the default list is for any number.
std::optional<schedule::List> list_for_many_rows(const stages::Stage& stage,
                                                 const target::Capabilities& caps);
// For few of these rows. On GPUs, invocations of a workgroup share the sums of some
// columns, each with pieces of neighbours; on CPUs, many columns are under way together. None: the
// target or the stage has no use for it.
std::optional<schedule::List> list_for_few_rows(const stages::Stage& stage,
                                                const target::Capabilities& caps);

// For rows of samples that have fewer rows than there are samples, such as the next tokens
// of several texts: tiles of samples. None: the target or the stage has no use for it.
std::optional<schedule::List> list_for_samples(const stages::Stage& stage,
                                               const target::Capabilities& caps);
// 1 in runs with more samples than rows of a sample, 0 in others.
ir::Expr has_more_samples(const stages::Stage& stage);

// Tiles of rows share a factor that takes work, where there are several: it is computed once for
// all of them, into memory that a cache holds.
void share_decoded(const stages::Stage& stage, const ir::Expr& rows,
                   const target::Capabilities& caps, Tiling& tiling);

}  // namespace gossamer::autoschedule
