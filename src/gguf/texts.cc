#include "gguf/texts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/strings.h"

namespace gossamer::gguf {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// The length of the character that a text begins with; 0 where it is not UTF-8.
size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  return length;
}

void append_json(std::string& json, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  json += '"';
  while (!text.empty()) {
    const size_t length = character(text);
    const auto letter = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      json += replacement;
    } else if (length == 1 && letter < 0x20) {
      const size_t code = letter;
      json += "\\u00";
      json += digits[code / 16];
      json += digits[code % 16];
    } else {
      if (letter == '"' || letter == '\\') json += '\\';
      json += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  json += '"';
}

std::string json_of(std::string_view text) {
  std::string json;
  append_json(json, text);
  return json;
}

// How texts are divided before pairs of tokens are joined, by the names that llama.cpp has for it.
struct Division {
  std::string_view name;
  std::string_view pattern = {};  // empty: GPT-2's own
  bool digits = false;            // each digit alone
  bool whole_words = false;       // a piece that is a token is that, whatever pairs say
  bool composed = false;          // NFC
  bool begins = false;            // texts begin with bos unless the file says otherwise
};

#define GS_ENDINGS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define GS_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define GS_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define GS_REST "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
constexpr std::string_view llama3 =
    GS_ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" GS_REST;
constexpr std::string_view qwen2 =
    GS_ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" GS_REST;
constexpr std::string_view gpt4o = "[^\\r\\n\\p{L}\\p{N}]?" GS_UPPER "*" GS_LOWER "+" GS_ENDINGS
                                   "?|[^\\r\\n\\p{L}\\p{N}]?" GS_UPPER "+" GS_LOWER "*" GS_ENDINGS
                                   "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" GS_REST;
constexpr std::string_view tekken =
    "[^\\r\\n\\p{L}\\p{N}]?" GS_UPPER "*" GS_LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" GS_UPPER "+" GS_LOWER
    "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" GS_REST;
constexpr std::array<Division, 14> divisions = {{
    {.name = "default"},
    {.name = "gpt-2"},
    {.name = "phi-2"},
    {.name = "smollm", .digits = true},
    {.name = "llama-bpe", .pattern = llama3, .whole_words = true, .begins = true},
    {.name = "llama3", .pattern = llama3, .whole_words = true, .begins = true},
    {.name = "llama-v3", .pattern = llama3, .whole_words = true, .begins = true},
    {.name = "dbrx", .pattern = llama3},
    {.name = "smaug-bpe", .pattern = llama3},
    {.name = "qwen2", .pattern = qwen2, .composed = true},
    {.name = "deepseek-r1-qwen", .pattern = qwen2},
    {.name = "gpt-4o", .pattern = gpt4o},
    {.name = "llama4", .pattern = gpt4o},
    {.name = "tekken", .pattern = tekken, .whole_words = true, .begins = true},
}};

// tokenizer.ggml.token_type
enum : int64_t { normal = 1, unknown, control, user_defined, unused, byte };

class Texts {
 public:
  explicit Texts(const File& file) : file_(file) {}
  Result<std::vector<std::pair<std::string, std::string>>> all();

 private:
  Result<> read();
  std::string added() const;
  std::string begin_and_end(bool begins) const;
  void append_vocabulary(std::string& json) const;
  Result<std::string> byte_level() const;
  std::string sentence_piece() const;
  // Pairs of tokens that make a token, the best first: those of the greatest scores.
  std::string pairs_by_score() const;
  std::string config() const;
  std::string generation() const;
  std::string tokenizer_config() const;
  std::optional<int64_t> id(std::string_view key) const;

  const File& file_;
  std::vector<std::string_view> tokens_;
  std::vector<int64_t> types_;
  std::vector<double> scores_;
  std::unordered_map<std::string_view, int64_t> ids_;
};

Result<> Texts::read() {
  constexpr const char* again = "convert the model again with a current llama.cpp";
  if (!file_.strings("tokenizer.ggml.tokens",
                     [&](std::string_view token) { tokens_.push_back(token); }) ||
      tokens_.empty())
    return fail("the GGUF file has no tokenizer (tokenizer.ggml.tokens)", again);
  for (size_t i = 0; i < tokens_.size(); ++i) ids_.emplace(tokens_[i], static_cast<int64_t>(i));
  types_ = file_.integers("tokenizer.ggml.token_type")
               .value_or(std::vector<int64_t>(tokens_.size(), normal));
  scores_ = file_.numbers("tokenizer.ggml.scores").value_or(std::vector<double>(tokens_.size()));
  std::ranges::replace_if(scores_, [](double score) { return score != score; }, 0.0);
  if (types_.size() != tokens_.size() || scores_.size() != tokens_.size())
    return fail(cat("the tokenizer has ", tokens_.size(), " tokens, ", types_.size(), " types and ",
                    scores_.size(), " scores of them"),
                again);
  return {};
}

std::optional<int64_t> Texts::id(std::string_view key) const {
  const auto given = file_.integer(cat("tokenizer.ggml.", key));
  if (!given || *given < 0 || std::cmp_greater_equal(*given, tokens_.size())) return std::nullopt;
  return given;
}

std::string Texts::added() const {
  std::string list;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const int64_t type = types_[i];
    if (type != control && type != user_defined && type != unknown) continue;
    if (tokens_[i].empty() || ids_.at(tokens_[i]) != static_cast<int64_t>(i)) continue;
    list +=
        cat(list.empty() ? "" : ",", R"({"id":)", i, R"(,"content":)", json_of(tokens_[i]),
            R"(,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":)",
            type == user_defined ? "false}" : "true}");
  }
  return list;
}

// TemplateProcessing: tokens around a text.
std::string Texts::begin_and_end(bool begins) const {
  std::string before, after, tokens;
  const auto add = [&](std::string_view key, bool wanted, std::string& part) {
    const auto number = id(cat(key, "_token_id"));
    if (!number || !file_.boolean(cat("tokenizer.ggml.add_", key, "_token")).value_or(wanted))
      return;
    const std::string name = json_of(tokens_[static_cast<size_t>(*number)]);
    part = cat(R"({"SpecialToken":{"id":)", name, R"(,"type_id":0}})");
    tokens += cat(tokens.empty() ? "" : ",", name, R"(:{"id":)", name, R"(,"ids":[)", *number,
                  R"(],"tokens":[)", name, "]}");
  };
  add("bos", begins, before);
  const bool same = id("bos_token_id") == id("eos_token_id") && !before.empty();
  std::string kept = tokens;
  add("eos", false, after);
  if (same) tokens = std::move(kept);
  if (before.empty() && after.empty()) return "null";
  const auto whole = [&](int pair) {
    std::string parts = before;
    parts += cat(parts.empty() ? "" : ",", R"({"Sequence":{"id":"A","type_id":0}})");
    if (!after.empty()) parts += "," + after;
    if (pair == 1) parts += R"(,{"Sequence":{"id":"B","type_id":1}})";
    return parts;
  };
  return cat(R"({"type":"TemplateProcessing","single":[)", whole(0), R"(],"pair":[)", whole(1),
             R"(],"special_tokens":{)", tokens, "}}");
}

void Texts::append_vocabulary(std::string& json) const {
  json += R"("vocab":{)";
  bool first = true;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (ids_.at(tokens_[i]) != static_cast<int64_t>(i)) continue;
    if (!std::exchange(first, false)) json += ',';
    append_json(json, tokens_[i]);
    json += cat(":", i);
  }
  json += '}';
}

Result<std::string> Texts::byte_level() const {
  const std::string_view name = file_.text("tokenizer.ggml.pre").value_or("default");
  const auto division = std::ranges::find(divisions, name, &Division::name);
  if (division == divisions.end()) {
    std::string known;
    for (const Division& one : divisions) known += cat(known.empty() ? "" : ", ", one.name);
    return fail(cat("the tokenizer divides texts as \"", one_line(name),
                    "\" does (tokenizer.ggml.pre), which is not known"),
                cat("known are ", known, "; use the model's ONNX form with its tokenizer.json"));
  }
  constexpr std::string_view bytes =
      R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":)";
  std::string pre;
  if (division->digits) pre = R"({"type":"Digits","individual_digits":true},)";
  if (!division->pattern.empty())
    pre = cat(R"({"type":"Split","pattern":{"Regex":)", json_of(division->pattern),
              R"(},"behavior":"Isolated","invert":false},)");
  std::string json = cat(
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)", added(),
      R"(],"normalizer":)", division->composed ? R"({"type":"NFC"})" : "null",
      R"(,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)", pre, bytes,
      division->pattern.empty() ? "true" : "false", R"(}]},"post_processor":)",
      begin_and_end(division->begins), R"(,"decoder":)", bytes,
      R"(true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":)",
      division->whole_words ? "true," : "false,");
  append_vocabulary(json);
  json += R"(,"merges":[)";
  bool first = true;
  const bool given = file_.strings("tokenizer.ggml.merges", [&](std::string_view pair) {
    if (!std::exchange(first, false)) json += ',';
    append_json(json, pair);
  });
  if (!given)
    return fail("the tokenizer has no list of pairs (tokenizer.ggml.merges)",
                "convert the model again with a current llama.cpp");
  return json + "]}}";
}

std::string Texts::pairs_by_score() const {
  // The score, then the tokens of the parts, as Hugging Face's converter orders them.
  struct Pair {
    double score;
    int64_t left, right;
  };
  std::vector<Pair> pairs;
  constexpr size_t longest = 256;  // of a token: texts of control may be long
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view token = tokens_[i];
    if ((types_[i] != normal && types_[i] != user_defined) || token.size() > longest) continue;
    for (size_t at = 1; at < token.size(); ++at) {
      const auto left = ids_.find(token.substr(0, at)), right = ids_.find(token.substr(at));
      if (left != ids_.end() && right != ids_.end())
        pairs.push_back({scores_[i], left->second, right->second});
    }
  }
  std::ranges::sort(pairs, [](const Pair& a, const Pair& b) {
    return std::tuple(-a.score, a.left, a.right) < std::tuple(-b.score, b.left, b.right);
  });
  std::string json;
  for (const Pair& pair : pairs) {
    json += json.empty() ? "[" : ",[";
    append_json(json, tokens_[static_cast<size_t>(pair.left)]);
    json += ',';
    append_json(json, tokens_[static_cast<size_t>(pair.right)]);
    json += ']';
  }
  return json;
}

std::string Texts::sentence_piece() const {
  const bool space = file_.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  const auto unknown_id = id("unknown_token_id");
  const std::string unknown_token =
      unknown_id ? json_of(tokens_[static_cast<size_t>(*unknown_id)]) : "null";
  constexpr std::string_view mark = "\xE2\x96\x81",
                             prepend = R"({"type":"Prepend","prepend":"▁"},)";
  std::string json = cat(
      R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)", added(),
      R"(],"normalizer":{"type":"Sequence","normalizers":[)", space ? prepend : "",
      R"({"type":"Replace","pattern":{"String":" "},"content":")", mark,
      R"("}]},"pre_tokenizer":null,"post_processor":)", begin_and_end(true),
      R"(,"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":")", mark,
      R"("},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"})",
      space ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "",
      R"(]},"model":{"type":"BPE","dropout":null,"unk_token":)", unknown_token,
      R"(,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,)");
  append_vocabulary(json);
  return json + R"(,"merges":[)" + pairs_by_score() + "]}}";
}

std::string Texts::config() const {
  const std::string architecture(file_.text("general.architecture").value_or(""));
  std::string json = cat(R"({"model_type":)", json_of(architecture));
  if (const auto length = file_.integer(architecture + ".context_length"))
    json += cat(R"(,"max_position_embeddings":)", *length);
  if (const auto name = file_.text("general.name")) json += R"(,"_name_or_path":)" + json_of(*name);
  return json + "}";
}

// Tokens that end an answer: those that the file names, and those that it has for it, as llama.cpp
// looks for them.
std::string Texts::generation() const {
  constexpr std::array<std::string_view, 8> ends = {"<|eot_id|>",    "<|im_end|>",     "<|end|>",
                                                    "<end_of_turn>", "<|endoftext|>",  "<|eom_id|>",
                                                    "<EOT>",         "<|end_of_text|>"};
  std::vector<int64_t> list;
  const auto add = [&](int64_t one) {
    if (std::ranges::find(list, one) == list.end()) list.push_back(one);
  };
  for (const std::string_view key : {"eos_token_id", "eot_token_id", "eom_token_id"})
    if (const auto one = id(key)) add(*one);
  for (const std::string_view text : ends) {
    const auto found = ids_.find(text);
    if (found != ids_.end() && types_[static_cast<size_t>(found->second)] != normal)
      add(found->second);
  }
  std::string json = R"({"eos_token_id":[)";
  for (const int64_t one : list) json += cat(one == list[0] ? "" : ",", one);
  json += "]";
  for (const auto& [key, name] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"general.sampling.temp", "temperature"},
           {"general.sampling.top_p", "top_p"},
           {"general.sampling.top_k", "top_k"},
           {"general.sampling.min_p", "min_p"}}) {
    if (const auto value = file_.number(key)) json += cat(",", json_of(name), ":", *value);
  }
  return json + "}";
}

std::string Texts::tokenizer_config() const {
  std::string json = "{";
  for (const auto& [key, name] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"bos_token_id", "bos_token"},
           {"eos_token_id", "eos_token"},
           {"unknown_token_id", "unk_token"},
           {"padding_token_id", "pad_token"}}) {
    if (const auto one = id(key))
      json += cat(json.size() > 1 ? "," : "", json_of(name), ":",
                  json_of(tokens_[static_cast<size_t>(*one)]));
  }
  if (const auto chat = file_.text("tokenizer.chat_template"))
    json += cat(json.size() > 1 ? "," : "", R"("chat_template":)", json_of(*chat));
  return json + "}";
}

Result<std::vector<std::pair<std::string, std::string>>> Texts::all() {
  GS_TRY(read());
  const std::string_view model = file_.text("tokenizer.ggml.model").value_or("");
  std::string tokenizer;
  if (model == "gpt2") {
    GS_ASSIGN(tokenizer, byte_level());
  } else if (model == "llama") {
    tokenizer = sentence_piece();
  } else {
    return fail(cat("the GGUF file has a tokenizer of the kind \"", one_line(model),
                    "\"; gpt2 and llama are supported"),
                "use the model's ONNX form with its tokenizer.json");
  }
  return std::vector<std::pair<std::string, std::string>>{
      {"config.json", config()},
      {"generation_config.json", generation()},
      {"tokenizer.json", std::move(tokenizer)},
      {"tokenizer_config.json", tokenizer_config()}};
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> texts_of(const File& file) {
  return Texts(file).all();
}

}  // namespace gossamer::gguf
