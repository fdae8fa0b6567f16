#include "package/sha256.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gossamer::package {
namespace {

std::string hash_of(std::string_view text) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(text.data()),
                                         text.size());
  const std::string hash = sha256(bytes);
  EXPECT_EQ(hash, sha256_without_instructions(bytes)) << text.size();
  return hash;
}

// FIPS 180-4's examples, and those of NIST's "Secure Hashing" pages.
TEST(Sha256, HasThePublishedValues) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                    "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hash_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around the ends of blocks (hashlib.sha256 of Python on "x" * n).
TEST(Sha256, PadsEveryLength) {
  std::string all;
  for (size_t length : {55, 56, 63, 64, 65, 119, 120}) all += hash_of(std::string(length, 'x'));
  EXPECT_EQ(hash_of(all), "bc6a5b07728ffb66be2e7e3b770ca355c9579cb701c773f3dc1842b8caf3430d");
}

// Of bytes that differ, in more blocks than are added at once (hashlib.sha256 of Python).
TEST(Sha256, OfManyBlocks) {
  std::string all, numbers;
  uint32_t state = 1;
  for (int at = 0; at < 200'000; ++at) {
    state = state * 1664525 + 1013904223;
    numbers += static_cast<char>(state >> 24);
  }
  for (const size_t length : {65'535, 65'536, 65'537, 131'072, 199'999})
    all += hash_of(std::string_view(numbers).substr(0, length));
  EXPECT_EQ(hash_of(all), "c7a76ea96306a599d643c25278aabb4875a095b676e8ac4de9eed236a8bcf4c6");
}

TEST(Sha256, PartsOfAnySizesGiveTheHashOfTheWhole) {
  std::vector<std::byte> bytes(1000);
  for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 7 % 251);
  const std::span<const std::byte> all = bytes;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{55}, size_t{56}, size_t{63}, size_t{64},
                            size_t{65}, size_t{119}, size_t{120}, size_t{128}, bytes.size()}) {
    for (size_t step = 1; step <= 130; ++step) {
      Sha256 hash;
      for (size_t at = 0; at < size; at += step)
        hash.add(all.subspan(at, std::min(step, size - at)));
      EXPECT_EQ(hash.finish(), sha256(all.first(size))) << size << " by " << step;
    }
  }
}

}  // namespace
}  // namespace gossamer::package
