// Keys of kept verdicts: hashes of everything that decides whether a case passes.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/judge/cases.h"
#include "gossamer/judge/judge.h"
#include "package/package.h"

namespace gossamer::command {

// Hashes a sequence of values. Each is written with its length, so that no two sequences look the
// same.
class KeyBuilder {
 public:
  static constexpr size_t digits = 32;  // 128 bits of SHA-256

  void add(std::string_view text);
  void add(std::integral auto number) { add_number(static_cast<int64_t>(number)); }
  void add(double number) { add_number(std::bit_cast<int64_t>(number)); }
  void add(const ops::TensorData& tensor);
  void add_bytes(std::span<const std::byte> bytes);
  void add_hash(std::string_view sha256) { text_ += sha256; }
  std::string key() const;

 private:
  void add_number(int64_t number);

  std::string text_;
};

// Adds the files that a case is read from: those in the model's folder, other data sets apart, and
// those in its data folder; or its operator file. Errors: a file that cannot be read, a folder
// with more than 1,000 files.
Result<> add_case_files(const TestCase& test, KeyBuilder& key);

// Adds what a run computes with and how it is judged: the package, the tensors that are fed, the
// expected outputs and the model's traits.
void add_run(const package::Files& files, std::span<const ops::TensorData> feeds,
             const CaseContent& content, const ModelTraits& traits, KeyBuilder& key);

}  // namespace gossamer::command
