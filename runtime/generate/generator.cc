#include "runtime/generate/generator.h"

#include <algorithm>
#include <cstring>

#include "runtime/clock.h"
#include "runtime/generate/sampling.h"

namespace gossamer::runtime {
namespace {

constexpr std::string_view ids_input = "input_ids";
// How long a token may wait for those after it, in milliseconds.
constexpr double patience = 16;
// Tokens that are read at once, at most.
constexpr int64_t most_ahead = 32;

std::unexpected<Diagnostic> wrong(std::string message, std::string hint = {}) {
  return fail_at("generate()", std::move(message), std::move(hint));
}

// `first`, `first` + `step`, ..., the same along each last axis: of an integer input.
HostTensor integers(const Port& port, std::vector<int64_t> shape, int64_t first, int64_t step) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<int64_t> values;
  const int64_t row = shape.empty() ? 1 : shape.back();
  for (int64_t at = 0; at < count; ++at) values.push_back(first + step * (at % row));
  if (port.dtype == ir::DType::i64) return tensor_of<int64_t>(port.dtype, std::move(shape), values);
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return tensor_of<int32_t>(ir::DType::i32, std::move(shape), narrow);
}

size_t place_of(const std::vector<Port>& ports, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(ports, name, &Port::name) - ports.begin());
}

Result<> check_prompt(std::span<const int64_t> prompt, int64_t words) {
  if (prompt.empty())
    return wrong("the prompt has no tokens", "give at least the one that texts begin with");
  for (const int64_t id : prompt)
    if (id < 0 || id >= words)
      return wrong(cat("the prompt has token ", id, ", the model's vocabulary is 0 to ", words - 1),
                   "use the tokenizer of this model");
  return {};
}

}  // namespace

Generator::Generator(Model& model, std::vector<int64_t> prompt, const GenerateOptions& options)
    : model_(model),
      prompt_(std::move(prompt)),
      options_(options),
      stops_(options.stop_tokens.begin(), options.stop_tokens.end()) {}

Generator::~Generator() { end(); }

Result<std::unique_ptr<Generator>> Generator::begin(Model& model, std::span<const int64_t> prompt,
                                                    const GenerateOptions& options,
                                                    std::map<std::string, HostTensor> feeds) {
  if (place_of(model.outputs(), "next_ids") == model.outputs().size())
    return wrong("the package does not choose tokens", "compile the model with generate and state");
  if (place_of(model.state(), token_counts) == model.state().size())
    return wrong("the model was loaded without its state", "load it with its state by name");
  GS_TRY(check_options(options));
  GS_TRY(check_prompt(prompt, model.outputs()[place_of(model.outputs(), "logits")].shape.back()));
  if (!model.claim())
    return wrong("another one is under way on this model",
                 "wait until it ends, end it, or load the model twice");
  // From here on it releases the model.
  std::unique_ptr<Generator> made(new Generator(model, {prompt.begin(), prompt.end()}, options));
  GS_TRY(made->prepare(std::move(feeds)));
  return made;
}

Result<> Generator::prepare(std::map<std::string, HostTensor> feeds) {
  const std::vector<Port>& outputs = model_.outputs();
  id_at_ = place_of(outputs, "next_ids");
  logits_at_ = place_of(outputs, "logits");
  const int64_t words = outputs[logits_at_].shape.back();
  feeds_ = std::move(feeds);
  for (const auto& [name, value] : feeds_)
    if (place_of(model_.inputs(), name) == model_.inputs().size() || name == ids_input)
      return wrong(cat("\"", name, "\" is not an input of its runs"));
  feeds_.merge(sampling_of(options_, words));
  for (const Port& port : model_.inputs()) {
    if (port.name == ids_input || feeds_.contains(port.name) || counted(port, 0, 1)) continue;
    const HostTensor* const value = model_.default_of(port.name);
    if (!value)
      return wrong(cat("it does not know the input \"", port.name, "\""),
                   "give its value in `feeds`");
    feeds_.emplace(port.name, *value);
  }
  const std::vector<std::string> fixed = model_.fixed_state();
  chains_ = model_.runs_ahead() &&
            std::ranges::all_of(fixed, [](const auto& name) { return name == token_counts; });
  model_.reset_state();
  const HostTensor counts = counts_of(options_, prompt_, words);
  return model_.write_state(std::string(token_counts), view_of(counts));
}

std::optional<HostTensor> Generator::counted(const Port& port, int64_t before,
                                             int64_t count) const {
  if (port.name == "attention_mask") return integers(port, {1, before + count}, 1, 0);
  // Rank 3 has positions in time, height and width, which are equal for text.
  if (port.name == "position_ids" && port.shape.size() == 3)
    return integers(port, {3, 1, count}, before, 1);
  if (port.name == "position_ids") return integers(port, {1, count}, before, 1);
  if (port.name == "num_logits_to_keep") return integers(port, {}, 1, 0);
  return std::nullopt;
}

Result<> Generator::run(int64_t before, int64_t count) {
  const auto length = static_cast<int64_t>(prompt_.size());
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
    if (port.name == ids_input && before >= length) {
      feeds.push_back({{}, &chosen_});
      continue;
    }
    if (port.name == ids_input) {
      HostTensor ids = integers(port, {1, count}, 0, 0);
      const auto part = std::span(prompt_).subspan(static_cast<size_t>(before));
      for (size_t at = 0; at < static_cast<size_t>(count); ++at) {
        const auto size = static_cast<size_t>(ir::byte_size(port.dtype));
        std::memcpy(ids.bytes.data() + at * size, &part[at], size);  // little-endian
      }
      made.push_back(std::move(ids));
    } else {
      made.push_back(*counted(port, before, count));
    }
    feeds.push_back({view_of(made.back())});
  }
  GS_ASSIGN(DeviceResults results, model_.run_on_device(feeds, pool_, before == 0));
  for (size_t at = 0; at < results.feeds.size(); ++at)
    if (const std::string& name = model_.inputs()[at].name;
        results.feeds[at] && feeds_.contains(name))
      there_.emplace(name, std::move(*results.feeds[at]));
  chosen_ = results.outputs[id_at_];
  if (before + count < length) return {};
  sent_.push_back({chosen_, {}});
  if (options_.top_logprobs > 0) sent_.back().logits = std::move(results.outputs[logits_at_]);
  return {};
}

Result<> Generator::send() {
  const auto length = static_cast<int64_t>(prompt_.size());
  if (steps_ > 0) {
    GS_TRY(run(length + steps_ - 1, 1));
  }
  for (int64_t at = 0; steps_ == 0 && at < length; at += options_.prompt_chunk)
    GS_TRY(run(at, std::min(options_.prompt_chunk, length - at)));
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
      token = with_logprobs(value, logits, options_.top_logprobs);
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

Result<std::optional<Token>> Generator::next() {
  if (!open_) return std::nullopt;
  if (arrived_.empty()) {
    send_up_to(1);
    if (sent_.empty()) {
      const std::optional<Diagnostic> problem = failed_;
      end();
      if (problem) return std::unexpected(*problem);
      how_ = GenerationEnd::length;
      return std::nullopt;
    }
    if (auto arrived = read(); !arrived) {
      end();
      return std::unexpected(arrived.error());
    }
  }
  Token token = std::move(arrived_.front());
  arrived_.pop_front();
  if (stops_.contains(token.id)) {
    end();
    how_ = GenerationEnd::stop;
    return std::nullopt;
  }
  ++taken_;
  return token;
}

void Generator::end() {
  if (!std::exchange(open_, false)) return;
  sent_.clear();
  arrived_.clear();
  chosen_ = {};
  if (steps_ > 0) {
    model_.shorten_state(static_cast<int64_t>(prompt_.size()) + std::min(taken_, steps_ - 1));
    const HostTensor none{ir::DType::i32, {1, 0}, {}};
    // It cannot fail: the model has this state.
    [[maybe_unused]] const auto written =
        model_.write_state(std::string(token_counts), view_of(none));
  }
  model_.release();
}

}  // namespace gossamer::runtime
