#include "safetensors/reader.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/strings.h"
#include "language/decoder.h"
#include "onnx/external_files.h"
#include "safetensors/config.h"

namespace gossamer::safetensors {
namespace {

using language::Part;
using language::PartNames;

// Behind the prefix that a checkpoint has; the head has its own.
constexpr PartNames part_names = {"embed_tokens",
                                  "norm",
                                  "lm_head",
                                  "layers.%.input_layernorm",
                                  "layers.%.self_attn.q_proj",
                                  "layers.%.self_attn.k_proj",
                                  "layers.%.self_attn.v_proj",
                                  "layers.%.self_attn.qkv_proj",
                                  "layers.%.self_attn.q_norm",
                                  "layers.%.self_attn.k_norm",
                                  "layers.%.self_attn.o_proj",
                                  "",
                                  "layers.%.post_attention_layernorm",
                                  "layers.%.mlp.gate_proj",
                                  "layers.%.mlp.up_proj",
                                  "layers.%.mlp.gate_up_proj",
                                  "layers.%.mlp.down_proj",
                                  ""};

// Of networks with norms at both ends of a layer's parts.
constexpr PartNames with_end_norms = [] {
  PartNames names = part_names;
  names[static_cast<size_t>(Part::attention_end_norm)] = "layers.%.post_attention_layernorm";
  names[static_cast<size_t>(Part::feed_forward_norm)] = "layers.%.pre_feedforward_layernorm";
  names[static_cast<size_t>(Part::feed_forward_end_norm)] = "layers.%.post_feedforward_layernorm";
  return names;
}();

struct Prefix {
  std::string_view network, head;
};
// Of a language model, and of models of text and images in older and newer files.
constexpr std::array<Prefix, 3> prefixes = {
    {{"model.", ""}, {"language_model.model.", "language_model."}, {"model.language_model.", ""}}};

struct Place {
  std::string_view file;
  Tensor tensor;
};

class FolderWeights : public language::Weights {
 public:
  FolderWeights(std::map<std::string, Place, std::less<>> tensors, bool end_norms,
                Precision precision)
      : tensors_(std::move(tensors)), precision_(precision) {
    made_.made = cat(only_file, precision == Precision::q4   ? ".q4"
                                : precision == Precision::q8 ? ".q8"
                                                             : ".fp16");
    const Prefix* prefix = &prefixes[0];
    for (const Prefix& one : prefixes)
      if (tensors_.contains(cat(one.network, "embed_tokens.weight"))) prefix = &one;
    const PartNames& table = end_norms ? with_end_norms : part_names;
    for (size_t part = 0; part < table.size(); ++part) {
      if (table[part].empty()) continue;
      own_[part] = cat(part == static_cast<size_t>(Part::output) ? prefix->head : prefix->network,
                       table[part]);
      names_[part] = own_[part];
    }
  }

  const std::vector<int64_t>* shape(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.tensor.shape;
  }

  Result<language::Stored> stored(std::string_view name) override {
    const auto& [file, tensor] = tensors_.find(name)->second;
    const auto known = form_named(tensor.type);
    if (!known)
      return fail_at(cat(file, ": tensor \"", name, "\""),
                     cat("is in ", one_line(tensor.type), "; F32, F16 and BF16 are read"),
                     "take the checkpoint that it was made from");
    const Form from = *known, into = form_of(tensor, from);
    language::Stored stored{std::string(file), tensor.offset, tensor.length, 0, nullptr};
    if (into == Form::q4_0) stored.format = ops::block_format("Q4_0");
    if (into == Form::q8_0) stored.format = ops::block_format("Q8_0");
    stored.type = into == Form::f32   ? language::onnx_f32
                  : into == Form::f16 ? language::onnx_f16
                                      : language::onnx_bf16;
    // Files whose matrices become smaller are not kept, so all that is used of them is copied.
    const bool copied = precision_ == Precision::q4 || precision_ == Precision::q8;
    if (into == from && !copied) return stored;
    const uint64_t numbers = tensor.length / bytes_of(from, 1);
    constexpr uint64_t alignment = 64;
    const uint64_t begin = (made_.made_bytes + alignment - 1) / alignment * alignment;
    made_.conversions.push_back({std::string(name), std::string(file), tensor.offset, tensor.length,
                                 from, into, begin, bytes_of(into, numbers)});
    stored.file = made_.made;
    stored.offset = begin;
    stored.length = bytes_of(into, numbers);
    made_.made_bytes = begin + stored.length;
    return stored;
  }

  const PartNames& names() const override { return names_; }
  std::string_view source() const override { return "the folder"; }
  Translated made() && { return std::move(made_); }

 private:
  Form form_of(const Tensor& tensor, Form from) const {
    if (tensor.shape.size() != 2 || precision_ == Precision::fp32) return from;
    const bool divides = static_cast<uint64_t>(tensor.shape[1]) % block_numbers == 0;
    if (precision_ == Precision::q4 && divides) return Form::q4_0;
    if (precision_ == Precision::q8 && divides) return Form::q8_0;
    return from == Form::f32 ? Form::f16 : from;
  }

  std::map<std::string, Place, std::less<>> tensors_;
  Precision precision_;
  std::array<std::string, part_names.size()> own_;
  PartNames names_ = {};
  Translated made_;
};

}  // namespace

Result<Precision> precision_named(std::string_view dtype) {
  if (dtype.empty() || dtype == "q4") return Precision::q4;
  if (dtype == "q8") return Precision::q8;
  if (dtype == "fp16") return Precision::fp16;
  if (dtype == "fp32") return Precision::fp32;
  return fail_at(cat("dtype \"", one_line(dtype), "\""),
                 "weights of safetensors files are not stored in this form",
                 "take q4, q8, fp16 or fp32");
}

Result<std::vector<std::string>> files_of(std::string_view index) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag>(index.data(), index.size());
  const auto wrong = [](std::string message) {
    return fail_at(index_file, std::move(message), "download it again");
  };
  if (json.HasParseError() || !json.IsObject()) return wrong("is not a JSON object");
  const auto map = json.FindMember("weight_map");
  if (map == json.MemberEnd() || !map->value.IsObject() || map->value.ObjectEmpty())
    return wrong("has no weight_map, which says in which file each tensor is");
  std::vector<std::string> files;
  for (const auto& [name, file] : map->value.GetObject()) {
    if (!file.IsString()) return wrong("has a weight_map with other things than names of files");
    const std::string_view text(file.GetString(), file.GetStringLength());
    const auto path = onnx::normal_path(text);
    if (!path) return wrong(cat("names the file \"", one_line(text), "\" outside of the folder"));
    files.push_back(*path);
  }
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  return files;
}

Result<Translated> translate(std::string_view config, const std::vector<File>& files,
                             Precision precision) {
  GS_ASSIGN(const language::Network network, network_of(config));
  std::map<std::string, Place, std::less<>> tensors;
  for (const File& file : files) {
    auto header = parse_header(file.bytes, file.size);
    if (!header) {
      header.error().where =
          cat(file.name, header.error().where.empty() ? "" : ": ", header.error().where);
      return std::unexpected(std::move(header.error()));
    }
    for (auto& [name, tensor] : *header) tensors[name] = {file.name, std::move(tensor)};
  }
  const language::Architecture& kind = *language::architecture(network.architecture);
  FolderWeights weights(std::move(tensors), kind.end_norms, precision);
  GS_ASSIGN(std::string model, language::write_model(network, weights));
  Translated made = std::move(weights).made();
  made.model = std::move(model);
  return made;
}

}  // namespace gossamer::safetensors
