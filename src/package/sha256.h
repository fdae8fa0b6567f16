// SHA-256 (FIPS 180-4), by which caches know the files of a package.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gossamer::package {

// 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace gossamer::package
