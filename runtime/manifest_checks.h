// How the fields of a manifest fit together.
#pragma once

#include "runtime/fields.h"
#include "runtime/manifest.h"

namespace gossamer::runtime {

// Checks a manifest whose fields are read, so that each index is within its list. `root` is its
// JSON, and keeps the first problem.
void check_manifest(const Fields& root, Manifest& manifest);

}  // namespace gossamer::runtime
