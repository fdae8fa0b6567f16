// models.wasm reads no GGUF files, and what these are translated to has operators of its own.
#include "ops/families.h"

namespace gossamer::ops {

std::vector<ops::OpDef> block_format_family() { return {}; }

}  // namespace gossamer::ops
