// The state that a generation leaves, from which others go on.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/kept_text.h"
#include "runtime/model.h"

namespace gossamer::runtime {

// One generation at a time goes on from it. Calls from several threads are the caller's to order.
class TextCache {
 public:
  TextCache() : body_(std::make_shared<Body>()) {}
  TextCache(TextCache&&) noexcept = default;
  TextCache& operator=(TextCache&&) noexcept = default;

  // The tokens whose state it has.
  std::vector<int64_t> tokens() const;
  // How many tokens of the latest prompt were not computed again.
  int64_t reused() const { return body_->reused; }
  // Errors of both: a generation is under way; of save(), a device that is lost.
  Result<TextCache> fork() const;
  // A safetensors file: `tokens`, and each state by the name of its input.
  Result<std::vector<std::byte>> save() const;
  // Errors: other bytes.
  static Result<TextCache> load(std::span<const std::byte> file);

  struct Body {
    std::shared_ptr<KeptText> text;  // null: empty
    int64_t reused = 0;
    bool used = false;  // by a generation
  };
  const std::shared_ptr<Body>& body() const { return body_; }

 private:
  std::shared_ptr<Body> body_;
};

// Sets the model's state to that of the tokens that the prompt shares with the cache, and the cache
// to one in use. Gives how many these are: at least one token of the prompt is left. State that
// cannot be shortened begins anew where not all of its tokens are shared. Errors: a cache in use,
// or of another model.
Result<int64_t> take_text(TextCache::Body& cache, Model& model, std::span<const int64_t> prompt);

// The model's state is that of these tokens; without any, the cache is empty.
void leave_text(TextCache::Body& cache, Model& model, std::vector<int64_t> tokens);

// Whether all states of the model but token counts grow by rows, so that they can be shortened.
bool can_shorten(const Model& model);

}  // namespace gossamer::runtime
