// Text from a language model: runs of a package that chooses tokens (`compile --state --generate`),
// each of which takes the token that the one before chose.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "gossamer/generate.hpp"
#include "runtime/device_tensor.h"
#include "runtime/generate/cache.h"
#include "runtime/generate/lookup.h"
#include "runtime/model.h"

namespace gossamer::runtime {

class Generator {
 public:
  // Resets the model's state, and holds the model until it ends: the model must stay as long.
  // `feeds`: inputs other than tokens, mask, positions and state, the same in each run. `cache`:
  // the state begins with what its tokens share with the prompt, and goes there at the end. Errors:
  // a package without the choice of tokens, a model without state, another generation under way, a
  // prompt or an option that makes no sense, an input without a value, a cache of another model.
  static Result<std::unique_ptr<Generator>> begin(Model& model, std::span<const int64_t> prompt,
                                                  const GenerateOptions& options,
                                                  std::map<std::string, HostTensor> feeds = {},
                                                  const TextCache* cache = nullptr);
  // As end().
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Nothing at the end. Errors of runs, after the tokens before them: the end of the context.
  Result<std::optional<Token>> next();
  GenerationEnd how() const { return how_; }
  // Ends it early. The state is that of the prompt and the tokens that were given, but for the last
  // one where no run was fed with it.
  void end();

 private:
  Generator(Model& model, std::vector<int64_t> prompt, const GenerateOptions& options);

  Result<> prepare(std::map<std::string, HostTensor> feeds);
  Result<> begin_state(const TextCache* cache);
  // An input that counts tokens; nothing for any other name.
  std::optional<HostTensor> counted(const Port& port, int64_t before, int64_t count) const;
  // Feeds these tokens, after those that were fed; without any, the token that the last run chose.
  // The last `rows` choose.
  Result<> run(std::span<const int64_t> tokens, int64_t rows = 1);
  // Feeds the last token and guesses of the next ones, and takes those that are right.
  Result<> guess();
  Result<> check_guesses(std::vector<int64_t> tokens);
  Result<> send();
  void send_up_to(int64_t steps);
  Result<> read();

  struct Step {
    DeviceTensor id, logits;
  };
  Model& model_;
  std::shared_ptr<TextCache::Body> cache_;  // where the state goes; null: nowhere
  const std::vector<int64_t> prompt_;
  const GenerateOptions options_;
  const std::set<int64_t> stops_;
  std::map<std::string, HostTensor> feeds_;    // the same in each run
  std::map<std::string, DeviceTensor> there_;  // of these, what the first run left on the device
  size_t id_at_ = 0, logits_at_ = 0;           // of the model's outputs
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  bool chains_ = false;  // the state can be set back, so that runs may be ahead of the reader
  DeviceTensor chosen_;  // of the latest step
  std::deque<Step> sent_;
  std::deque<Token> arrived_;
  std::optional<Diagnostic> failed_;
  std::optional<Lookup> lookup_;  // where tokens are guessed
  int64_t guessed_ = 0;           // at once, at most
  std::vector<int64_t> text_;     // tokens that were given
  int64_t fed_ = 0;               // tokens of which the state has a row
  int64_t steps_ = 0, ahead_ = 1;
  bool open_ = true, first_ = true;  // first_: no run was sent
  GenerationEnd how_ = GenerationEnd::none;
};

}  // namespace gossamer::runtime
