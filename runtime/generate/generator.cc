#include "runtime/generate/generator.h"

#include <algorithm>
#include <cstring>

#include "runtime/clock.h"
#include "runtime/generate/feeds.h"
#include "runtime/generate/sampling.h"

namespace gossamer::runtime {
namespace {

// How long a token may wait for those after it, in milliseconds.
constexpr double patience = 16;
// Tokens that are read at once, at most.
constexpr int64_t most_ahead = 32;

}  // namespace

Generator::Generator(Model& model, std::vector<int64_t> prompt, const GenerateOptions& options)
    : model_(model),
      prompt_(std::move(prompt)),
      options_(options),
      stops_(options.stop_tokens.begin(), options.stop_tokens.end()) {}

Generator::~Generator() { end(); }

Result<std::unique_ptr<Generator>> Generator::begin(Model& model, std::span<const int64_t> prompt,
                                                    const GenerateOptions& options,
                                                    std::map<std::string, HostTensor> feeds,
                                                    const TextCache* cache) {
  GS_TRY(check_model(model));
  const int64_t words = model.outputs()[place_of(model.outputs(), "logits")].shape.back();
  GS_TRY(check_options(model, options, words));
  GS_TRY(check_prompt(prompt, words));
  GS_TRY(claim(model));
  // From here on it releases the model.
  std::unique_ptr<Generator> made(new Generator(model, {prompt.begin(), prompt.end()}, options));
  GS_TRY(made->prepare(std::move(feeds)));
  GS_TRY(made->begin_state(cache));
  return made;
}

Result<> Generator::prepare(std::map<std::string, HostTensor> feeds) {
  const std::vector<Port>& outputs = model_.outputs();
  id_at_ = place_of(outputs, "next_ids");
  logits_at_ = place_of(outputs, "logits");
  const int64_t words = outputs[logits_at_].shape.back();
  feeds_ = std::move(feeds);
  GS_TRY(check_feeds(model_, feeds_));
  feeds_.merge(sampling_of(options_, words));
  GS_TRY(add_defaults(model_, feeds_, [&](const Port& port) {
    return port.name == ids_input || port.name == rows_input || counted(port, 0, 1);
  }));
  if (options_.prompt_lookup_num_tokens > 0) {
    if (place_of(model_.inputs(), rows_input) == model_.inputs().size())
      return refused("the package checks one token at a time",
                     "compile the model with speculate, or leave out prompt_lookup_num_tokens");
    if (options_.temperature == 0 && !penalises(options_) && options_.top_logprobs == 0 &&
        can_shorten(model_)) {
      lookup_.emplace(prompt_);
      guessed_ = options_.prompt_lookup_num_tokens;
    }
  }
  chains_ = !lookup_ && model_.runs_ahead() && can_shorten(model_);
  return {};
}

Result<> Generator::begin_state(const TextCache* cache) {
  if (cache) {
    GS_ASSIGN(fed_, take_text(*cache->body(), model_, prompt_));
    cache_ = cache->body();
  } else {
    model_.reset_state();
  }
  const int64_t words = model_.outputs()[logits_at_].shape.back();
  const auto waiting = std::span(prompt_).subspan(static_cast<size_t>(fed_));
  const HostTensor counts = counts_of(options_, prompt_, waiting, words);
  return model_.write_state(std::string(token_counts), view_of(counts));
}

std::optional<HostTensor> Generator::counted(const Port& port, int64_t before,
                                             int64_t count) const {
  if (port.name == mask_input) return mask_of(port, {{before}}, count);
  // Rank 3 has positions in time, height and width, which are equal for text.
  if (port.name == positions_input && port.shape.size() == 3)
    return integers(port, {3, 1, count}, before, 1);
  if (port.name == positions_input) return integers(port, {1, count}, before, 1);
  if (port.name == kept_input) return integers(port, {}, 1, 0);
  return std::nullopt;
}

Result<> Generator::run(std::span<const int64_t> tokens, int64_t rows) {
  const int64_t before = fed_;
  const auto length = static_cast<int64_t>(prompt_.size());
  const auto count = static_cast<int64_t>(std::max<size_t>(1, tokens.size()));
  std::deque<HostTensor> made;  // until the call returns
  std::vector<DeviceFeed> feeds;
  for (const Port& port : model_.inputs()) {
    if (const auto there = there_.find(port.name); there != there_.end()) {
      feeds.push_back({{}, &there->second});
      continue;
    }
    if (const auto fixed = feeds_.find(port.name); fixed != feeds_.end()) {
      feeds.push_back({view_of(fixed->second)});
      continue;
    }
    if (port.name == ids_input && tokens.empty()) {
      feeds.push_back({{}, &chosen_});
      continue;
    }
    if (port.name == ids_input) {
      HostTensor ids = integers(port, {1, count}, 0, 0);
      for (size_t at = 0; at < tokens.size(); ++at) {
        const auto size = static_cast<size_t>(ir::byte_size(port.dtype));
        std::memcpy(ids.bytes.data() + at * size, &tokens[at], size);  // little-endian
      }
      made.push_back(std::move(ids));
    } else if (port.name == rows_input) {
      made.push_back(integers(port, {rows}, 0, 0));
    } else {
      made.push_back(*counted(port, before, count));
    }
    feeds.push_back({view_of(made.back())});
  }
  GS_ASSIGN(DeviceResults results,
            model_.run_on_device(feeds, pool_, std::exchange(first_, false)));
  fed_ += count;
  for (size_t at = 0; at < results.feeds.size(); ++at)
    if (const std::string& name = model_.inputs()[at].name;
        results.feeds[at] && feeds_.contains(name))
      there_.emplace(name, std::move(*results.feeds[at]));
  chosen_ = results.outputs[id_at_];
  if (fed_ < length) return {};
  sent_.push_back({chosen_, {}});
  if (options_.top_logprobs > 0) sent_.back().logits = std::move(results.outputs[logits_at_]);
  return {};
}

Result<> Generator::send() {
  const auto length = static_cast<int64_t>(prompt_.size());
  if (steps_ > 0) GS_TRY(run({}));
  while (fed_ < length) {
    const int64_t count = std::min(options_.prompt_chunk, length - fed_);
    GS_TRY(run(std::span(prompt_).subspan(static_cast<size_t>(fed_), static_cast<size_t>(count))));
  }
  ++steps_;
  return {};
}

void Generator::send_up_to(int64_t steps) {
  while (!failed_ && static_cast<int64_t>(sent_.size()) < steps && steps_ < options_.max_tokens)
    if (auto sent = send(); !sent) failed_ = sent.error();
}

// All that were sent, which waits for the device once.
Result<> Generator::read() {
  const auto begin = Clock::now();
  const auto count = static_cast<int64_t>(sent_.size());
  bool ended = false;
  for (; !sent_.empty(); sent_.pop_front()) {
    const Step& step = sent_.front();
    GS_ASSIGN(const HostTensor id, step.id.read());
    int64_t value = 0;
    std::memcpy(&value, id.bytes.data(), sizeof value);
    Token token{value};
    if (options_.top_logprobs > 0) {
      GS_ASSIGN(const HostTensor logits, step.logits.read());
      token = with_logprobs(value, floats_of(logits), options_.top_logprobs);
    }
    arrived_.push_back(std::move(token));
    ended = ended || stops_.contains(value);
  }
  if (!chains_) return {};
  // Half of the way, as one reading says little.
  const double each = std::max(1e-3, milliseconds_since(begin) / static_cast<double>(count));
  ahead_ = std::clamp<int64_t>((ahead_ + static_cast<int64_t>(patience / each)) / 2, 1,
                               std::min(most_ahead, 2 * ahead_));
  // The device goes on while these are taken.
  if (!ended) send_up_to(options_.ahead.value_or(static_cast<int>(ahead_)));
  return {};
}

Result<> Generator::check_guesses(std::vector<int64_t> tokens) {
  const auto count = static_cast<int64_t>(tokens.size());
  GS_TRY(run(tokens, count));
  sent_.clear();
  GS_ASSIGN(const HostTensor ids, chosen_.read());
  std::vector<int64_t> chosen(tokens.size());
  std::memcpy(chosen.data(), ids.bytes.data(), std::min(ids.bytes.size(), chosen.size() * 8));
  int64_t right = 1;
  while (right < count &&
         tokens[static_cast<size_t>(right)] == chosen[static_cast<size_t>(right - 1)])
    ++right;
  for (int64_t at = 0; at < right; ++at) arrived_.push_back({chosen[static_cast<size_t>(at)]});
  if (right < count) {
    fed_ -= count - right;
    model_.shorten_state(fed_);
  }
  ++steps_;
  // Guesses that fail become shorter.
  guessed_ =
      right == count ? std::min<int64_t>(options_.prompt_lookup_num_tokens, 2 * right) : right;
  return {};
}

Result<> Generator::guess() {
  const auto taken = static_cast<int64_t>(text_.size());
  const int64_t most = std::min(guessed_, options_.max_tokens - taken - 1);
  std::vector<int64_t> tokens = lookup_->next(std::max<int64_t>(0, most));
  tokens.insert(tokens.begin(), text_.back());
  const bool alone = tokens.size() == 1;
  const int64_t before = fed_;
  auto checked = check_guesses(std::move(tokens));
  // The context may have room for the token alone.
  if (!checked && !alone && fed_ == before) checked = check_guesses({text_.back()});
  return checked;
}

Result<std::optional<Token>> Generator::next() {
  if (!open_) return std::nullopt;
  if (arrived_.empty() && lookup_ && !text_.empty() && !failed_ &&
      static_cast<int64_t>(text_.size()) < options_.max_tokens)
    if (auto checked = guess(); !checked) failed_ = checked.error();
  if (arrived_.empty()) {
    if (!lookup_ || text_.empty()) send_up_to(1);
    if (sent_.empty()) {
      const std::optional<Diagnostic> problem = failed_;
      end();
      if (problem) return std::unexpected(*problem);
      how_ = GenerationEnd::length;
      return std::nullopt;
    }
    if (auto arrived = read(); !arrived) {
      // After the tokens that arrived before it.
      failed_ = arrived.error();
      sent_.clear();
    }
    if (arrived_.empty()) {
      const Diagnostic problem = *failed_;
      end();
      return std::unexpected(problem);
    }
  }
  Token token = std::move(arrived_.front());
  arrived_.pop_front();
  if (stops_.contains(token.id)) {
    end();
    how_ = GenerationEnd::stop;
    return std::nullopt;
  }
  text_.push_back(token.id);
  if (lookup_) lookup_->push(token.id);
  return token;
}

void Generator::end() {
  if (!std::exchange(open_, false)) return;
  sent_.clear();
  arrived_.clear();
  chosen_ = {};
  std::vector<int64_t> all = prompt_;
  all.insert(all.end(), text_.begin(), text_.end());
  all.resize(std::min(all.size(), static_cast<size_t>(fed_)));
  const auto rows = static_cast<int64_t>(all.size());
  if (fed_ > 0) {
    model_.shorten_state(rows);
    const HostTensor none{ir::DType::i32, {1, 0}, {}};
    // It cannot fail: the model has this state.
    [[maybe_unused]] const auto written =
        model_.write_state(std::string(token_counts), view_of(none));
  }
  if (rows < fed_ && !can_shorten(model_)) all.clear();
  if (cache_) leave_text(*cache_, model_, std::move(all));
  model_.release();
}

}  // namespace gossamer::runtime
