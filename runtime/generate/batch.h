// Texts of a language model that are generated together: each run computes the next token of all of
// them. Texts join and leave between runs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "gossamer/generate.hpp"
#include "runtime/generate/choose.h"
#include "runtime/model.h"
#include "runtime/set_aside.h"

namespace gossamer::runtime {

// What a step gives of a text.
struct BatchStep {
  int64_t text = 0;
  std::optional<Token> token = std::nullopt;
  // With the last token, or, for a stop token, without: the text is over.
  GenerationEnd end = GenerationEnd::none;
  std::optional<Diagnostic> error = std::nullopt;  // the text is over
  int64_t reused = 0;  // tokens of its prompt that other texts have computed
};

class Batch {
 public:
  // Holds the model, whose state is its own, until it is destroyed: the model must stay as long.
  // `feeds`: inputs other than tokens, mask, positions and state, the same in each run. Errors: as
  // of Generator::begin.
  static Result<std::unique_ptr<Batch>> begin(Model& model, const BatchOptions& options,
                                              std::map<std::string, HostTensor> feeds = {});
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Another text, which waits for its place; gives its number. `mask`: a bit for each token that
  // may be the first one, the lowest bit first; empty: all. Errors: an option or a prompt that
  // makes no sense.
  Result<int64_t> add(std::span<const int64_t> prompt, const GenerateOptions& options,
                      std::span<const int32_t> mask = {});
  // Which tokens may be the next one. No effect on a text that is over. Errors: a mask of another
  // length, or without a token.
  Result<> restrict(int64_t text, std::span<const int32_t> mask);
  // Ends a text. No effect on one that is over.
  void remove(int64_t text);

  // Feeds the latest token of each text that has begun, and a part of the prompts that wait. Gives
  // what came of it, at most one entry a text. An error of a run is that of its texts.
  std::vector<BatchStep> step();

  // How many texts may be under way together. 1: the model's runs cannot have texts of different
  // lengths, so that one is generated after the other.
  int64_t places() const { return places_; }
  size_t running() const { return running_.size(); }
  // Without a token yet.
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Text {
    int64_t number = 0;
    std::vector<int64_t> tokens;  // of the prompt, and those that were given
    int64_t length = 0;           // of the prompt
    GenerateOptions options;
    std::set<int64_t> stops;
    Chooser chooser;
    std::vector<int32_t> mask;
    int64_t fed = 0;  // tokens of which the state has a row
    int64_t reused = 0;
  };
  // What a text that is over left in a sample: rows of these tokens.
  struct Rest {
    std::vector<int64_t> tokens;
    int64_t number = 0;  // of the text, by which the oldest one goes
  };
  struct Chosen {
    std::vector<int64_t> ids;   // of each sample, the likeliest token
    std::vector<float> logits;  // of all samples; empty: not asked for
  };
  Batch(Model& model, const BatchOptions& options) : model_(model), options_(options) {}

  Result<> prepare(std::map<std::string, HostTensor> feeds);
  // Whether two texts of different lengths come out as alone.
  Result<bool> mixes_lengths();
  // Runs tokens of samples, as many of each, after those that each has.
  Result<Chosen> run(std::span<const int64_t> tokens, std::span<const int64_t> before,
                     bool has_logits);
  bool needs_logits(const Text& text) const;
  // Makes memory for one more row of each text.
  Result<> shape_running();
  // The sample whose first rows are those of most tokens of a prompt, and their number.
  std::pair<int64_t, int64_t> shared_with(std::span<const int64_t> prompt) const;
  // Keeps the rests in samples that no text takes: the latest ones, if there is no place for all.
  Result<> clear_sample(size_t sample);
  std::optional<size_t> place_for_rest() const;
  Result<int64_t> feed_prompt(int64_t most, std::vector<BatchStep>& steps);
  Result<> join(Text text);
  Result<> run_all(std::vector<BatchStep>& steps);
  void leave(size_t at);
  // The next token of a text by what its run gave; whether the text goes on.
  bool take(Text& text, int64_t likeliest, std::span<const float> logits,
            std::vector<BatchStep>& steps);
  void fail_waiting(const Diagnostic& problem, std::vector<BatchStep>& steps);

  Model& model_;
  const BatchOptions options_;
  std::map<std::string, HostTensor> feeds_;  // the same in each run
  std::map<std::string, HostTensor> plain_;  // how the device chooses: the likeliest
  std::shared_ptr<BufferPool> pool_;
  size_t id_at_ = 0, logits_at_ = 0;  // of the model's outputs
  int64_t words_ = 0, places_ = 1, next_ = 0;
  int64_t room_ = 0, room_places_ = 0;  // of the state that runs go on from
  std::vector<Text> running_;           // by sample
  bool shares_ = false;                 // prompts begin with rows of other texts
  std::map<size_t, Rest> rests_;        // by sample, after those that run
  std::deque<Text> waiting_;            // the first one may have been fed in part
  SetAside begun_;                      // the state of that one
};

}  // namespace gossamer::runtime
