// SHA-256 (FIPS 180-4), by which caches know the files of a package.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gossamer::package {

// 64 lower-case hexadecimal digits. By the processor's instructions for it, where it has some.
std::string sha256(std::span<const std::byte> bytes);
// The same without them.
std::string sha256_without_instructions(std::span<const std::byte> bytes);

}  // namespace gossamer::package
