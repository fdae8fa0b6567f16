// Text from a language model, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

#include "runtime/generate/batch.h"
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

class GenerationBatch {
 public:
  explicit GenerationBatch(std::unique_ptr<runtime::Batch> batch) : batch_(std::move(batch)) {}
  // `mask`: bytes, a bit for each token; empty: all.
  int64_t add(const std::vector<int64_t>& prompt, const GenerateOptions& options,
              const nanobind::bytes& mask);
  void restrict(int64_t text, const nanobind::bytes& mask);
  void remove(int64_t text) { open().remove(text); }
  // (text, token or None, end, logprob, top, error or None) of each text.
  nanobind::list step();
  int64_t places() { return open().places(); }
  size_t running() { return open().running(); }
  size_t waiting() { return open().waiting(); }
  void close() { batch_ = nullptr; }

 private:
  runtime::Batch& open();
  std::unique_ptr<runtime::Batch> batch_;  // null: closed
};

std::unique_ptr<GenerationBatch> make_batch(runtime::Model& model, int64_t places,
                                            int64_t prompt_chunk, const nanobind::dict& feeds);

void define_generate(nanobind::module_& m);

}  // namespace gossamer::python
