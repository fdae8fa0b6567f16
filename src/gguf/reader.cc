#include "gguf/reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "gguf/network.h"
#include "language/decoder.h"

namespace gossamer::gguf {
namespace {

constexpr language::PartNames part_names = {
    "token_embd",        "output_norm",       "output",
    "blk.%.attn_norm",   "blk.%.attn_q",      "blk.%.attn_k",
    "blk.%.attn_v",      "blk.%.attn_qkv",    "blk.%.attn_q_norm",
    "blk.%.attn_k_norm", "blk.%.attn_output", "blk.%.post_attention_norm",
    "blk.%.ffn_norm",    "blk.%.ffn_gate",    "blk.%.ffn_up",
    "blk.%.ffn_up",      "blk.%.ffn_down",    "blk.%.post_ffw_norm"};

class GgufWeights : public language::Weights {
 public:
  Result<> add(const Part& part) {
    for (const auto& [name, tensor] : part.file.tensors)
      if (!tensors_.try_emplace(name, &part.name, &tensor).second)
        return fail_at(cat(part.name, ": tensor \"", one_line(name), "\""),
                       "is in another part, too", "download all parts of one model again");
    return {};
  }
  size_t count() const { return tensors_.size(); }

  const std::vector<int64_t>* shape(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.second->shape;
  }
  Result<language::Stored> stored(std::string_view name) override {
    constexpr int32_t f32 = 0, f16 = 1;
    const auto& [file, tensor] = tensors_.find(name)->second;
    return language::Stored{*file, tensor->offset, tensor->length,
                            tensor->type == f32   ? language::onnx_f32
                            : tensor->type == f16 ? language::onnx_f16
                                                  : language::onnx_bf16,
                            ops::block_format(int64_t{tensor->type})};
  }
  const language::PartNames& names() const override { return part_names; }
  std::string_view source() const override { return "the GGUF file"; }

 private:
  std::map<std::string_view, std::pair<const std::string*, const Tensor*>> tensors_;
};

int64_t count_of(const File& file) {
  return std::max<int64_t>(file.integer("split.count").value_or(1), 1);
}
int64_t place_of(const File& file) { return file.integer("split.no").value_or(0); }

// Of a model in `count` files the one at this place, counted from 0, where the first one's name
// ends as it should.
std::optional<std::string> part_name(const std::string& name, int64_t place, int64_t count) {
  constexpr size_t digits = 5;
  const auto padded = [&](int64_t number) {
    const std::string text = cat(number);
    return std::string(digits - std::min(digits, text.size()), '0') + text;
  };
  const auto end = [&](int64_t at) {
    return cat("-", padded(at + 1), "-of-", padded(count), ".gguf");
  };
  for (int64_t at = 0; at < count; ++at)
    if (name.ends_with(end(at))) return name.substr(0, name.size() - end(at).size()) + end(place);
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> parts_of(const File& first, const std::string& name) {
  const int64_t count = count_of(first), place = place_of(first);
  constexpr int64_t most = 99999;
  if (count == 1) return std::vector{name};
  if (count > most || place < 0 || place >= count)
    return fail(cat("the file says that it is part ", place + 1, " of ", count),
                "download it again");
  const auto head = part_name(name, 0, count);
  if (!head)
    return fail(
        cat("the file is one of ", count, " parts of a model, and its name does not say which"),
        "name the parts as llama-gguf-split does, such as NAME-00001-of-00003.gguf, and give the "
        "path of the first");
  if (place != 0)
    return fail(cat("the file is part ", place + 1, " of ", count),
                cat("give the first one, ", *head));
  std::vector<std::string> names;
  for (int64_t at = 0; at < count; ++at) names.push_back(*part_name(name, at, count));
  return names;
}

Result<std::string> to_onnx(const std::vector<Part>& parts) {
  const File& first = parts[0].file;
  GgufWeights weights;
  for (size_t at = 0; at < parts.size(); ++at) {
    const auto& [name, file] = parts[at];
    if (std::cmp_not_equal(count_of(file), parts.size()) || std::cmp_not_equal(place_of(file), at))
      return fail_at(name,
                     cat("is part ", place_of(file) + 1, " of ", count_of(file), ", not part ",
                         at + 1, " of ", parts.size()),
                     "download all parts of one model again");
    GS_TRY(weights.add(parts[at]));
  }
  const auto count = first.integer("split.tensors.count");
  if (count && std::cmp_not_equal(*count, weights.count()))
    return fail(cat("the parts have ", weights.count(), " tensors, the first one says ", *count),
                "download all parts of one model again");
  GS_ASSIGN(language::Network network, network_of(first));
  network.tied = !weights.shape(weights.name(language::Part::output) + ".weight");
  return language::write_model(network, weights);
}

}  // namespace gossamer::gguf
