#include "runtime/generate/cache.h"

#include <algorithm>
#include <utility>

#include "package/write.h"
#include "runtime/generate/sampling.h"
#include "runtime/mapped_file.h"

namespace gossamer::runtime {
namespace {

constexpr const char* tokens_name = "tokens";

Result<> check_free(const TextCache::Body& cache) {
  if (!cache.used) return {};
  return fail_at("generate()", "a generation goes on with this cache",
                 "wait until it ends, or fork the cache before");
}

// Errors: a state that one of them lacks; others show when the model is given them.
Result<> check_names(const KeptText& text, const Model& model) {
  const auto wrong = [](const std::string& name, const char* what) {
    return fail_at("generate()",
                   cat("the cache is of another model: its state \"", name, "\" is ", what));
  };
  size_t known = 0;
  for (const Port& port : model.state()) {
    if (port.name == token_counts) continue;
    if (!text.states.contains(port.name)) return wrong(port.name, "missing");
    ++known;
  }
  if (text.states.size() == known) return {};
  for (const auto& [name, state] : text.states)
    if (std::ranges::find(model.state(), name, &Port::name) == model.state().end())
      return wrong(name, "not the model's");
  return {};
}

Result<> write_all(const KeptText& text, Model& model) {
  model.reset_state();
  for (const auto& [name, state] : text.states)
    if (auto written = model.write_state(name, view_of(state)); !written)
      return fail_at("generate()", cat("the cache is of another model: ", written.error().message));
  return {};
}

}  // namespace

bool can_shorten(const Model& model) {
  return std::ranges::all_of(model.fixed_state(),
                             [](const std::string& name) { return name == token_counts; });
}

std::vector<int64_t> TextCache::tokens() const {
  return body_->text ? body_->text->tokens : std::vector<int64_t>();
}

Result<TextCache> TextCache::fork() const {
  GS_TRY(check_free(*body_));
  TextCache made;
  made.body_->text = body_->text;
  return made;
}

Result<std::vector<std::byte>> TextCache::save() const {
  GS_TRY(check_free(*body_));
  const std::vector<int64_t> all = tokens();
  std::vector<package::Constant> parts{{tokens_name,
                                        ir::DType::i64,
                                        {static_cast<int64_t>(all.size())},
                                        std::as_bytes(std::span(all))}};
  std::map<std::string, HostTensor> states;
  if (const auto text = body_->text) {
    GS_TRY(Model::fetch_text(*text));
    const std::lock_guard lock(text->mutex);
    states = text->states;
  }
  for (const auto& [name, state] : states)
    if (name != token_counts) parts.push_back({name, state.dtype, state.shape, state.bytes});
  GS_ASSIGN(package::File file, package::write_safetensors(parts));
  return std::move(file.bytes);
}

Result<TextCache> TextCache::load(std::span<const std::byte> file) {
  const auto damaged = [](std::string message) {
    return fail_at("the saved cache", std::move(message), "load what save() gave");
  };
  auto parsed = parse_safetensors(file);
  if (!parsed) return damaged(parsed.error().message);
  TextCache made;
  made.body_->text = std::make_shared<KeptText>();
  KeptText& text = *made.body_->text;
  bool has_tokens = false;
  for (const auto& [name, stored] : *parsed) {
    HostTensor state{ir::DType::index, stored.shape, {stored.bytes.begin(), stored.bytes.end()}};
    for (int each = 0; each < static_cast<int>(ir::DType::index); ++each)
      if (package::safetensors_name(static_cast<ir::DType>(each)) == stored.type &&
          state.dtype == ir::DType::index)
        state.dtype = static_cast<ir::DType>(each);
    uint64_t bytes =
        state.dtype == ir::DType::index ? 0 : static_cast<uint64_t>(ir::byte_size(state.dtype));
    bool fits = bytes > 0;
    for (const int64_t extent : state.shape)
      fits = fits && !__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes);
    if (!fits || bytes != state.bytes.size())
      return damaged(cat("\"", name, "\" has ", state.bytes.size(),
                         " bytes, which do not fit its type ", stored.type, " and its shape ",
                         shape_text(state.shape)));
    if (name != tokens_name) {
      text.states.emplace(name, std::move(state));
      continue;
    }
    if (state.dtype != ir::DType::i64 || state.shape.size() != 1)
      return damaged("its tokens are not a list of i64");
    has_tokens = true;
    text.tokens.resize(state.bytes.size() / sizeof(int64_t));
    std::ranges::copy(state.bytes, std::as_writable_bytes(std::span(text.tokens)).begin());
  }
  if (!has_tokens) return damaged("it has no tokens");
  if (text.tokens.empty()) made.body_->text = nullptr;
  return made;
}

Result<int64_t> take_text(TextCache::Body& cache, Model& model, std::span<const int64_t> prompt) {
  GS_TRY(check_free(cache));
  const std::shared_ptr<KeptText> text = cache.text;
  cache.reused = 0;
  size_t count = 0;
  if (text) {
    const auto [differs, _] = std::ranges::mismatch(text->tokens, prompt);
    // A run takes one token at least.
    count = std::min(static_cast<size_t>(differs - text->tokens.begin()), prompt.size() - 1);
  }
  const bool whole = text && count == text->tokens.size();
  // References to a text that no fork has: `text`, the cache's and the model's.
  const bool stays = text && model.resume_text(text, text.use_count() > 3);
  if (!stays && count > 0 && !Model::fetch_text(*text)) count = 0;  // its device is lost
  if (!stays && count > 0) GS_TRY(check_names(*text, model));
  if (count == 0 || (!whole && !can_shorten(model))) {
    count = 0;
    model.reset_state();
  } else {
    if (!stays) GS_TRY(write_all(*text, model));
    if (!whole) model.shorten_state(static_cast<int64_t>(count));
  }
  cache.text = nullptr;
  cache.used = true;
  cache.reused = static_cast<int64_t>(count);
  return cache.reused;
}

void leave_text(TextCache::Body& cache, Model& model, std::vector<int64_t> tokens) {
  cache.used = false;
  if (tokens.empty()) return;
  cache.text = std::make_shared<KeptText>();
  cache.text->tokens = std::move(tokens);
  model.hold_text(cache.text);
}

}  // namespace gossamer::runtime
