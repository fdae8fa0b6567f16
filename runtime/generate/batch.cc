#include "runtime/generate/batch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/device_tensor.h"
#include "runtime/generate/cache.h"
#include "runtime/generate/feeds.h"
#include "runtime/generate/sampling.h"

namespace gossamer::runtime {
namespace {

// Rows that there is memory for at first, and texts.
constexpr int64_t least_room = 64, least_places = 4;
// Fewer tokens are computed again rather than copied.
constexpr int64_t least_shared = 8;

int64_t words_of(int64_t count) { return (count + 31) / 32; }

}  // namespace

Result<std::unique_ptr<Batch>> Batch::begin(Model& model, const BatchOptions& options,
                                            std::map<std::string, HostTensor> feeds) {
  GS_TRY(check_model(model));
  if (options.places < 1 || options.prompt_chunk < 1)
    return refused(cat("a batch has ", options.places, " places and chunks of ",
                       options.prompt_chunk, " tokens; each is at least 1"));
  GS_TRY(claim(model));
  // From here on it releases the model.
  std::unique_ptr<Batch> made(new Batch(model, options));
  GS_TRY(made->prepare(std::move(feeds)));
  return made;
}

Batch::~Batch() {
  running_.clear();
  begun_ = {};
  model_.reset_state();
  model_.release();
}

Result<> Batch::prepare(std::map<std::string, HostTensor> feeds) {
  pool_ = std::make_shared<BufferPool>();
  id_at_ = place_of(model_.outputs(), "next_ids");
  logits_at_ = place_of(model_.outputs(), "logits");
  words_ = model_.outputs()[logits_at_].shape.back();
  feeds_ = std::move(feeds);
  GS_TRY(check_feeds(model_, feeds_));
  GenerateOptions likeliest;
  likeliest.seed = 0;
  plain_ = sampling_of(likeliest, words_);
  GS_TRY(add_defaults(model_, feeds_, [&](const Port& port) {
    return port.name == ids_input || port.name == mask_input || port.name == positions_input ||
           port.name == kept_input || port.name == rows_input || plain_.contains(port.name);
  }));
  model_.reset_state();
  if (options_.places == 1) return {};
  GS_ASSIGN(const bool mixes, mixes_lengths());
  if (mixes) places_ = options_.places;
  shares_ = mixes && can_shorten(model_);
  model_.reset_state();
  begun_ = {};
  room_ = room_places_ = 0;
  return {};
}

// Models differ in where they write new rows and in what attention sees of rows that are not the
// text's, and a package does not say. So two texts are computed together and alone.
Result<bool> Batch::mixes_lengths() {
  if (place_of(model_.inputs(), mask_input) == model_.inputs().size() || words_ < 2) return false;
  // Samples are open, and of states that grow rows alone.
  const std::vector<std::string> fixed = model_.fixed_state();
  for (const Port& port : model_.state()) {
    const bool grows = std::ranges::find(fixed, port.name) == fixed.end();
    if (port.shape.empty() || port.shape[0] >= 0 ||
        (grows && std::ranges::count(port.shape, -1) != 2))
      return false;
  }
  const auto word = [&](int64_t number) { return number % words_; };
  const std::vector<int64_t> prompts[] = {
      {word(1), word(7), word(3), word(11)}, {word(5)}, {word(2), word(9), word(4)}};
  const int64_t next[] = {0, word(6), word(8)};
  std::vector<float> alone[3];
  for (size_t at = 1; at < 3; ++at) {
    model_.reset_state();
    if (!run(prompts[at], {{0}}, false)) return false;
    const auto length = static_cast<int64_t>(prompts[at].size());
    auto made = run({{next[at]}}, {{length}}, true);
    if (!made) return false;
    alone[at] = std::move(made->logits);
  }
  // The first sample has rows of another text behind its own.
  model_.reset_state();
  for (const size_t at : {0u, 2u, 1u}) {
    model_.exchange_state(begun_);
    model_.reset_state();
    auto fed = run(prompts[at], {{0}}, false);
    model_.exchange_state(begun_);
    if (!fed) return false;
    const auto length = static_cast<int64_t>(prompts[at].size());
    if (at == 0) GS_TRY(model_.shape_samples(2, 4, 2, least_room, 0));
    if (!model_.copy_sample(&begun_, 0, at == 2 ? 1 : 0, length)) return false;
  }
  GS_TRY(model_.shape_samples(2, 3, 2, least_room, 2));
  auto both = run({{next[1], next[2]}}, {{1, 3}}, true);
  if (!both) return false;
  const double close = model_.outputs()[logits_at_].dtype == ir::DType::f32 ? 1e-3 : 1e-2;
  for (size_t at = 1; at < 3; ++at) {
    const std::span mine = std::span(both->logits).subspan((at - 1) * alone[at].size());
    const auto [least, most] = std::ranges::minmax(alone[at]);
    for (size_t i = 0; i < alone[at].size(); ++i)
      if (!(std::abs(mine[i] - alone[at][i]) <= close * (most - least))) return false;
  }
  return true;
}

Result<int64_t> Batch::add(std::span<const int64_t> prompt, const GenerateOptions& options,
                           std::span<const int32_t> mask) {
  GS_TRY(check_options(model_, options, words_));
  GS_TRY(check_prompt(prompt, words_));
  waiting_.push_back({next_,
                      {prompt.begin(), prompt.end()},
                      static_cast<int64_t>(prompt.size()),
                      options,
                      {options.stop_tokens.begin(), options.stop_tokens.end()},
                      Chooser(options, prompt, words_),
                      {}});
  if (auto restricted = restrict(next_, mask); !restricted) {
    waiting_.pop_back();
    return std::unexpected(restricted.error());
  }
  return next_++;
}

Result<> Batch::restrict(int64_t text, std::span<const int32_t> mask) {
  if (!mask.empty()) {
    if (static_cast<int64_t>(mask.size()) != words_of(words_))
      return refused(cat("the mask has ", mask.size(), " elements; ", words_of(words_),
                         " are expected, a bit for each of the ", words_, " tokens"));
    if (std::ranges::all_of(mask, [](int32_t bits) { return bits == 0; }))
      return refused("the mask allows no token");
  }
  for (Text& each : running_)
    if (each.number == text) each.mask.assign(mask.begin(), mask.end());
  for (Text& each : waiting_)
    if (each.number == text) each.mask.assign(mask.begin(), mask.end());
  return {};
}

void Batch::remove(int64_t text) {
  for (size_t at = 0; at < running_.size(); ++at)
    if (running_[at].number == text) return leave(at);
  std::erase_if(waiting_, [&](const Text& each) { return each.number == text; });
}

bool Batch::needs_logits(const Text& text) const {
  return !text.chooser.is_plain() || !text.mask.empty() || text.options.top_logprobs > 0;
}

Result<Batch::Chosen> Batch::run(std::span<const int64_t> tokens, std::span<const int64_t> before,
                                 bool has_logits) {
  const auto samples = static_cast<int64_t>(before.size());
  const int64_t count = static_cast<int64_t>(tokens.size()) / samples;
  std::deque<HostTensor> made;  // until the call returns
  std::vector<DeviceFeed> feeds;
  for (const Port& port : model_.inputs()) {
    if (const auto fixed = feeds_.find(port.name); fixed != feeds_.end()) {
      feeds.push_back({view_of(fixed->second)});
      continue;
    }
    if (const auto plain = plain_.find(port.name); plain != plain_.end()) {
      feeds.push_back({view_of(plain->second)});
      continue;
    }
    std::vector<int64_t> values;
    if (port.name == ids_input) {
      made.push_back(integers_of(port, {samples, count}, tokens));
    } else if (port.name == mask_input) {
      made.push_back(mask_of(port, before, count));
    } else if (port.name == positions_input) {
      // Rank 3 has positions in time, height and width, which are equal for text.
      const bool streams = port.shape.size() == 3;
      for (int stream = 0; stream < (streams ? 3 : 1); ++stream)
        for (const int64_t each : before)
          for (int64_t at = 0; at < count; ++at) values.push_back(each + at);
      std::vector<int64_t> shape{samples, count};
      if (streams) shape.insert(shape.begin(), 3);
      made.push_back(integers_of(port, std::move(shape), values));
    } else {  // rows that choose, or whose logits are computed
      made.push_back(integers(port, std::vector<int64_t>(port.shape.size(), 1),
                              port.name == kept_input ? 1 : 0, 0));
    }
    feeds.push_back({view_of(made.back())});
  }
  GS_ASSIGN(const DeviceResults results, model_.run_on_device(feeds, pool_));
  Chosen chosen;
  GS_ASSIGN(const HostTensor ids, results.outputs[id_at_].read());
  chosen.ids.resize(ids.bytes.size() / sizeof(int64_t));
  std::memcpy(chosen.ids.data(), ids.bytes.data(), ids.bytes.size());
  if (has_logits) {
    GS_ASSIGN(const HostTensor logits, results.outputs[logits_at_].read());
    chosen.logits = floats_of(logits);
  }
  return chosen;
}

bool Batch::take(Text& text, int64_t likeliest, std::span<const float> logits,
                 std::vector<BatchStep>& steps) {
  const int64_t id =
      needs_logits(text) ? text.chooser.choose(logits, text.fed, text.mask) : likeliest;
  if (text.stops.contains(id)) {
    steps.push_back({text.number, std::nullopt, GenerationEnd::stop, {}, text.reused});
    return false;
  }
  text.chooser.push(id);
  text.tokens.push_back(id);
  const bool ends =
      static_cast<int64_t>(text.tokens.size()) - text.length >= text.options.max_tokens;
  Token token{id};
  if (text.options.top_logprobs > 0) token = with_logprobs(id, logits, text.options.top_logprobs);
  const GenerationEnd end = ends ? GenerationEnd::length : GenerationEnd::none;
  steps.push_back({text.number, std::move(token), end, {}, text.reused});
  return !ends;
}

void Batch::fail_waiting(const Diagnostic& problem, std::vector<BatchStep>& steps) {
  steps.push_back({waiting_.front().number, std::nullopt, GenerationEnd::none, problem});
  waiting_.pop_front();
}

std::pair<int64_t, int64_t> Batch::shared_with(std::span<const int64_t> prompt) const {
  std::pair<int64_t, int64_t> best{0, 0};
  const auto compare = [&](size_t sample, std::span<const int64_t> tokens) {
    const auto [differs, _] = std::ranges::mismatch(tokens, prompt);
    // A run takes one token at least.
    const int64_t shared =
        std::min<int64_t>(differs - tokens.begin(), static_cast<int64_t>(prompt.size()) - 1);
    if (shared > best.second) best = {static_cast<int64_t>(sample), shared};
  };
  if (!shares_) return best;
  for (size_t at = 0; at < running_.size(); ++at)
    compare(at, std::span(running_[at].tokens).first(static_cast<size_t>(running_[at].fed)));
  for (const auto& [sample, rest] : rests_) compare(sample, rest.tokens);
  return best;
}

// Gives how many tokens it fed. The state of a prompt that is fed in part is set aside.
Result<int64_t> Batch::feed_prompt(int64_t most, std::vector<BatchStep>& steps) {
  Text& text = waiting_.front();
  if (text.options.max_tokens < 1) {
    steps.push_back({text.number, std::nullopt, GenerationEnd::length});
    waiting_.pop_front();
    return 0;
  }
  const auto shared = text.fed == 0 ? shared_with(text.tokens) : std::pair<int64_t, int64_t>{0, 0};
  int64_t count = 0;
  model_.exchange_state(begun_);
  Result<Chosen> chosen = [&]() -> Result<Chosen> {
    if (text.fed == 0) model_.reset_state();  // memory that the prompt before left is used again
    if (shared.second >= least_shared) {
      const int64_t rows = shared.second;
      GS_TRY(model_.shape_samples(1, rows, 1, rows + rows / 2, 0));
      GS_TRY(model_.copy_sample(&begun_, shared.first, 0, rows));
      text.fed = text.reused = rows;
    }
    count = std::min({most, text.options.prompt_chunk, text.length - text.fed});
    const std::span tokens =
        std::span(text.tokens).subspan(static_cast<size_t>(text.fed), static_cast<size_t>(count));
    return run(tokens, {{text.fed}}, text.fed + count == text.length && needs_logits(text));
  }();
  model_.exchange_state(begun_);
  if (!chosen) return std::unexpected(chosen.error());
  text.fed += count;
  if (text.fed < text.length) return count;
  Text whole = std::move(text);
  waiting_.pop_front();
  if (take(whole, chosen->ids[0], chosen->logits, steps)) {
    const int64_t number = whole.number;
    if (auto joined = join(std::move(whole)); !joined)
      steps.push_back({number, std::nullopt, GenerationEnd::none, joined.error()});
  }
  return count;
}

Result<> Batch::shape_running() {
  if (places_ == 1) return {};
  const auto samples = static_cast<int64_t>(running_.size());
  const int64_t used = rests_.empty()
                           ? samples
                           : std::max(samples, static_cast<int64_t>(rests_.rbegin()->first) + 1);
  int64_t rows = 0;
  for (const Text& each : running_) rows = std::max(rows, each.fed);
  if (rows + 1 > room_) room_ = std::max(least_room, rows + 1 + rows / 2);
  while (samples > room_places_)
    room_places_ = std::min(places_, std::max(least_places, 2 * room_places_));
  return model_.shape_samples(samples, rows, room_places_, room_, used);
}

std::optional<size_t> Batch::place_for_rest() const {
  // A GPU would be waited for.
  if (!shares_ || model_.runs_ahead()) return std::nullopt;
  for (size_t at = running_.size(); at < static_cast<size_t>(room_places_); ++at)
    if (!rests_.contains(at)) return at;
  const auto oldest =
      std::ranges::min_element(rests_, {}, [](const auto& each) { return each.second.number; });
  return oldest == rests_.end() ? std::nullopt : std::optional(oldest->first);
}

Result<> Batch::clear_sample(size_t sample) {
  const auto found = rests_.find(sample);
  if (found == rests_.end()) return {};
  Rest rest = std::move(found->second);
  const std::optional<size_t> to = place_for_rest();
  rests_.erase(found);
  if (!to || *to == sample) return {};
  const auto rows = static_cast<int64_t>(rest.tokens.size());
  GS_TRY(
      model_.copy_sample(nullptr, static_cast<int64_t>(sample), static_cast<int64_t>(*to), rows));
  rests_.insert_or_assign(*to, std::move(rest));
  return {};
}

Result<> Batch::join(Text text) {
  if (places_ == 1) {
    running_.push_back(std::move(text));
    model_.exchange_state(begun_);
    return {};
  }
  const size_t sample = running_.size();
  const int64_t rows = text.fed;
  running_.push_back(std::move(text));
  Result<> done = shape_running();
  if (done) done = clear_sample(sample);
  if (done) done = model_.copy_sample(&begun_, 0, static_cast<int64_t>(sample), rows);
  if (!done) running_.pop_back();
  return done;
}

// Where the device is lost, copies fail, and the next run says so.
void Batch::leave(size_t at) {
  const size_t last = running_.size() - 1;
  if (places_ > 1) {
    Text& text = running_[at];
    text.tokens.resize(static_cast<size_t>(text.fed));
    const auto copy = [&](size_t from, size_t to, int64_t rows) {
      return model_.copy_sample(nullptr, static_cast<int64_t>(from), static_cast<int64_t>(to), rows)
          .has_value();
    };
    const std::optional<size_t> place =
        shares_ && at == last ? std::optional(last) : place_for_rest();
    if (place && (*place == last || copy(at, *place, text.fed)))
      rests_.insert_or_assign(*place, Rest{std::move(text.tokens), text.number});
    if (at != last) copy(last, at, running_[last].fed);
  }
  if (at != last) std::swap(running_[at], running_[last]);
  running_.pop_back();
}

Result<> Batch::run_all(std::vector<BatchStep>& steps) {
  GS_TRY(shape_running());
  std::vector<int64_t> tokens, before;
  bool has_logits = false;
  for (const Text& each : running_) {
    tokens.push_back(each.tokens.back());
    before.push_back(each.fed);
    has_logits = has_logits || needs_logits(each);
  }
  GS_ASSIGN(const Chosen chosen, run(tokens, before, has_logits));
  std::vector<size_t> over;
  for (size_t at = 0; at < running_.size(); ++at) {
    Text& text = running_[at];
    ++text.fed;
    std::span<const float> logits = chosen.logits;
    if (has_logits)
      logits = logits.subspan(at * static_cast<size_t>(words_), static_cast<size_t>(words_));
    if (!take(text, chosen.ids[at], logits, steps)) over.push_back(at);
  }
  for (; !over.empty(); over.pop_back()) leave(over.back());
  return {};
}

std::vector<BatchStep> Batch::step() {
  std::vector<BatchStep> steps;
  // A run that fails, as at the end of the context, ends the longest texts; the others go on.
  while (!running_.empty()) {
    const auto done = run_all(steps);
    if (done) break;
    const int64_t longest = std::ranges::max_element(running_, {}, &Text::fed)->fed;
    for (size_t at = running_.size(); at-- > 0;) {
      if (running_[at].fed < longest) continue;
      steps.push_back({running_[at].number, std::nullopt, GenerationEnd::none, done.error()});
      leave(at);
    }
  }
  // Prompts are fed in parts, so that texts that have begun go on.
  int64_t most = running_.empty() ? std::numeric_limits<int64_t>::max() : options_.prompt_chunk;
  while (most > 0 && !waiting_.empty() && static_cast<int64_t>(running_.size()) < places_) {
    if (auto fed = feed_prompt(most, steps))
      most = std::min(most, options_.prompt_chunk) - *fed;
    else
      fail_waiting(fed.error(), steps);
  }
  return steps;
}

}  // namespace gossamer::runtime
