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
#include "runtime/model.h"

namespace gossamer::runtime {

class Generator {
 public:
  // Resets the model's state, and holds the model until it ends: the model must stay as long.
  // `feeds`: inputs other than tokens, mask, positions and state, the same in each run. Errors: a
  // package without the choice of tokens, a model without state, another generation under way, a
  // prompt or an option that makes no sense, an input without a value.
  static Result<std::unique_ptr<Generator>> begin(Model& model, std::span<const int64_t> prompt,
                                                  const GenerateOptions& options,
                                                  std::map<std::string, HostTensor> feeds = {});
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
  // An input that counts tokens; nothing for any other name.
  std::optional<HostTensor> counted(const Port& port, int64_t before, int64_t count) const;
  // Feeds the `count` tokens that follow the first `before`: a piece of the prompt, or the token of
  // the last step.
  Result<> run(int64_t before, int64_t count);
  Result<> send();
  void send_up_to(int64_t steps);
  Result<> read();

  struct Step {
    DeviceTensor id, logits;
  };
  Model& model_;
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
  int64_t steps_ = 0, taken_ = 0, ahead_ = 1;
  bool open_ = true;
  GenerationEnd how_ = GenerationEnd::none;
};

}  // namespace gossamer::runtime
