// Text from a language model, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

#include "runtime/generate/generator.h"

namespace gossamer::python {

class Generation {
 public:
  explicit Generation(std::unique_ptr<runtime::Generator> generator)
      : generator_(std::move(generator)) {}
  // None at the end.
  std::optional<int64_t> next();
  void close() { generator_->end(); }
  const char* how() const;  // "stop", "length", ""
  const Token& last() const { return last_; }

 private:
  std::unique_ptr<runtime::Generator> generator_;
  Token last_;
};

// `feeds`: by name, tuples as those of runs.
std::unique_ptr<Generation> make_generation(runtime::Model& model,
                                            const std::vector<int64_t>& prompt,
                                            const GenerateOptions& options,
                                            const nanobind::dict& feeds,
                                            const runtime::TextCache* cache);

void define_generate(nanobind::module_& m);

}  // namespace gossamer::python
