// A program as an image of a container, in the layout of the Open Container Initiative
// (https://github.com/opencontainers/image-spec/blob/main/image-layout.md).
#pragma once

#include <span>
#include <string>

#include "package/package.h"

namespace gossamer::library {

// oci-layout, index.json and blobs/sha256/...: one image for wasip1/wasm whose one layer has
// /NAME.wasm, which is its entrypoint: what containerd's shims for wasm run. The same program gives
// the same bytes.
package::Files oci_image(const std::string& name, std::span<const std::byte> program);

}  // namespace gossamer::library
