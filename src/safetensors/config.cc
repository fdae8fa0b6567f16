#include "safetensors/config.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/strings.h"

namespace gossamer::safetensors {
namespace {

using Json = rapidjson::Value;
using language::Network;
using language::Rotation;

// A value of model_type, and what files leave out where it is as transformers has it. 0: a file
// without the value is an error, or another value takes its place.
struct Kind {
  std::string_view name, architecture;
  int64_t width = 0, layers = 0, heads = 0, groups = 0, head = 0, hidden = 0, context = 0;
  double epsilon = 1e-6, base = 10000;
  bool tied = false;
};

constexpr Kind gemma3(std::string_view name) {
  return {.name = name,
          .architecture = "gemma3",
          .width = 2304,
          .layers = 26,
          .heads = 8,
          .groups = 4,
          .head = 256,
          .hidden = 9216,
          .context = 131072,
          .base = 1e6,
          .tied = true};
}
constexpr std::array<Kind, 7> kinds = {{{.name = "llama", .architecture = "llama"},
                                        {.name = "mistral", .architecture = "llama"},
                                        {.name = "qwen2", .architecture = "qwen2"},
                                        {.name = "qwen3", .architecture = "qwen3", .head = 128},
                                        gemma3("gemma3"),
                                        gemma3("gemma3_text"),
                                        {.name = "phi3", .architecture = "phi3", .epsilon = 1e-5}}};

std::string known_kinds() {
  std::string names;
  for (const Kind& one : kinds)
    names += cat(names.empty() ? "" : &one == &kinds.back() ? " and " : ", ", one.name);
  return names;
}

constexpr const char* onnx_form = "use the model's ONNX form";

// Members of an object of config.json. One that is null counts as missing.
class Values {
 public:
  explicit Values(const Json& json, std::string place = {})
      : json_(json), place_(std::move(place)) {}

  const Json* find(const char* name) const {
    const auto found = json_.FindMember(name);
    return found == json_.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
  }
  std::optional<Values> object(const char* name) const {
    const Json* found = find(name);
    if (!found || !found->IsObject()) return std::nullopt;
    return Values(*found, cat(place_, name, "."));
  }
  std::optional<std::string_view> text(const char* name) const {
    const Json* found = find(name);
    if (!found || !found->IsString()) return std::nullopt;
    return std::string_view(found->GetString(), found->GetStringLength());
  }
  bool flag(const char* name, bool otherwise = false) const {
    const Json* found = find(name);
    return found && found->IsBool() ? found->GetBool() : otherwise;
  }
  // `otherwise` 0: it must be there.
  Result<int64_t> count(const char* name, int64_t otherwise = 0) const {
    constexpr int64_t most = int64_t{1} << 30;
    const Json* found = find(name);
    if (!found && otherwise > 0) return otherwise;
    if (!found)
      return fail_at("config.json", cat("lacks the value \"", place_, name, "\""),
                     "download it again, or take the model's own file");
    if (!found->IsInt64() || found->GetInt64() < 1 || found->GetInt64() > most)
      return wrong(name, cat("an integer from 1 to ", most));
    return found->GetInt64();
  }
  Result<double> number(const char* name, double otherwise) const {
    const Json* found = find(name);
    if (!found) return otherwise;
    if (!found->IsNumber() || !(found->GetDouble() > 0)) return wrong(name, "a positive number");
    return found->GetDouble();
  }
  Result<std::vector<float>> numbers(const char* name, int64_t length) const {
    const Json* found = find(name);
    const auto is_right = [](const Json& one) { return one.IsNumber() && one.GetDouble() > 0; };
    if (!found || !found->IsArray() || found->Size() != static_cast<uint64_t>(length) ||
        !std::ranges::all_of(found->GetArray(), is_right))
      return wrong(name, cat("a list of ", length, " positive numbers"));
    std::vector<float> list;
    for (const Json& one : found->GetArray()) list.push_back(static_cast<float>(one.GetDouble()));
    return list;
  }
  std::unexpected<Diagnostic> wrong(const char* name, std::string_view wanted) const {
    return fail_at("config.json", cat("\"", place_, name, "\" is not ", wanted),
                   "download it again, or take the model's own file");
  }

 private:
  const Json& json_;
  std::string place_;
};

// `values`: rope_scaling, or rope_parameters of newer files. `model`: where the context's lengths
// are.
Result<> read_scaling(const Values& values, const Values& model, const Network& network,
                      Rotation& rotation) {
  const std::string_view kind =
      values.text("rope_type").value_or(values.text("type").value_or("default"));
  rotation.scaling = kind == "default" ? "none" : kind == "su" ? "longrope" : kind;
  GS_ASSIGN(rotation.factor, values.number("factor", 1));
  GS_ASSIGN(rotation.original,
            values.number("original_max_position_embeddings", rotation.original));
  if (kind == "default" || kind == "linear") {
    return {};
  } else if (kind == "llama3") {
    GS_ASSIGN(rotation.fast, values.number("high_freq_factor", 4));
    GS_ASSIGN(rotation.slow, values.number("low_freq_factor", 1));
    if (rotation.fast == rotation.slow)
      return values.wrong("high_freq_factor", "greater than low_freq_factor");
  } else if (kind == "yarn") {
    GS_ASSIGN(rotation.fast, values.number("beta_fast", 32));
    GS_ASSIGN(rotation.slow, values.number("beta_slow", 1));
    rotation.whole = values.flag("truncate", true);
    const auto by = [&](double scale) {
      return rotation.factor > 1 ? 0.1 * scale * std::log(rotation.factor) + 1 : 1;
    };
    rotation.attention = by(1);
    if (values.find("mscale") && values.find("mscale_all_dim")) {
      GS_ASSIGN(const double one, values.number("mscale", 1));
      GS_ASSIGN(const double all, values.number("mscale_all_dim", 1));
      rotation.attention = by(one) / by(all);
    }
    GS_ASSIGN(rotation.attention, values.number("attention_factor", rotation.attention));
  } else if (rotation.scaling == "longrope") {
    GS_ASSIGN(rotation.near, values.numbers("short_factor", network.rotated / 2));
    GS_ASSIGN(rotation.far, values.numbers("long_factor", network.rotated / 2));
    GS_ASSIGN(rotation.original,
              model.number("original_max_position_embeddings", rotation.original));
    const double longer = model.find("original_max_position_embeddings")
                              ? static_cast<double>(network.context) / rotation.original
                              : rotation.factor;
    const double usual =
        longer > 1 ? std::sqrt(1 + std::log(longer) / std::log(rotation.original)) : 1;
    GS_ASSIGN(rotation.attention, values.number("attention_factor", usual));
  } else {
    return fail_at("config.json",
                   cat("scales the rotation in the way \"", one_line(kind),
                       "\"; default, linear, llama3, yarn and longrope are supported"),
                   onnx_form);
  }
  return {};
}

// `parameters`: of newer files, in place of rope_theta and rope_scaling.
Result<> read_rotation(const Values& model, const std::optional<Values>& parameters,
                       const Network& network, Rotation& rotation) {
  rotation.original = static_cast<double>(network.context);
  rotation.scaling = "none";
  const auto scaling = parameters ? parameters : model.object("rope_scaling");
  GS_ASSIGN(rotation.base, (parameters ? *parameters : model).number("rope_theta", rotation.base));
  return scaling ? read_scaling(*scaling, model, network, rotation) : Result<>();
}

Result<> read_rotations(const Values& model, Network& network) {
  const auto all = model.object("rope_parameters");
  const auto full = all ? all->object("full_attention") : std::nullopt;
  GS_TRY(read_rotation(model, full ? full : all, network, network.rotation));
  if (network.architecture != "gemma3") return {};
  network.local_rotation = true;
  network.local.scaling = "none";
  const auto local = all ? all->object("sliding_attention") : std::nullopt;
  if (local) return read_rotation(model, local, network, network.local);
  GS_ASSIGN(network.local.base, model.number("rope_local_base_freq", 10000));
  return {};
}

Result<> read_windows(const Values& model, const Kind& kind, Network& network) {
  network.windowed.assign(static_cast<size_t>(network.layers), false);
  const bool gemma = network.architecture == "gemma3", qwen = kind.name.starts_with("qwen");
  if (kind.name == "llama" || (qwen && !model.flag("use_sliding_window"))) return {};
  constexpr int64_t gemma_window = 4096, gemma_pattern = 6;
  if (!model.find("sliding_window") && !gemma) return {};
  GS_ASSIGN(network.window, model.count("sliding_window", gemma ? gemma_window : 0));
  if (const Json* types = model.find("layer_types"); types && (gemma || qwen)) {
    if (!types->IsArray() || types->Size() != static_cast<uint64_t>(network.layers))
      return model.wrong("layer_types", cat("a list of ", network.layers, " kinds of layers"));
    for (rapidjson::SizeType layer = 0; layer < types->Size(); ++layer) {
      const Json& type = (*types)[layer];
      if (type != "sliding_attention" && type != "full_attention")
        return fail_at("config.json", "\"layer_types\" has kinds that are not supported",
                       onnx_form);
      network.windowed[layer] = type == "sliding_attention";
    }
    return {};
  }
  const char* key =
      model.find("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  GS_ASSIGN(const int64_t pattern, model.count(key, gemma_pattern));
  int64_t first = 0;
  if (qwen) {
    GS_ASSIGN(first, model.count("max_window_layers", 28));
  }
  for (int64_t layer = first; layer < network.layers; ++layer)
    network.windowed[static_cast<size_t>(layer)] = !gemma || (layer + 1) % pattern != 0;
  return {};
}

// Values that change what a network computes, of which one is supported.
Result<> check_others(const Values& model, bool gelu) {
  for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (model.find(name))
      return fail_at("config.json", cat("has \"", name, "\", which is not supported"), onnx_form);
  if (model.flag("use_bidirectional_attention"))
    return fail_at("config.json", "describes a model whose tokens see later ones", onnx_form);
  const std::string_view wanted = gelu ? "gelu_pytorch_tanh" : "silu";
  const char* key = model.find("hidden_activation") ? "hidden_activation" : "hidden_act";
  const std::string_view has = model.text(key).value_or(wanted);
  if (has != wanted && !(has == "swish" && !gelu))
    return fail_at("config.json",
                   cat("has the activation \"", one_line(has), "\"; ", wanted, " is supported"),
                   onnx_form);
  return {};
}

Result<> check_quantization(const Values& root) {
  const auto made = root.object("quantization_config");
  if (!made) return {};
  return fail_at("config.json",
                 cat("says that weights are quantised already, by ",
                     one_line(made->text("quant_method").value_or("a method without a name"))),
                 "take the checkpoint that it was made from, in F32, F16 or BF16");
}

Result<Network> read(const Values& model, const Kind& kind) {
  Network network;
  network.architecture = kind.architecture;
  GS_ASSIGN(network.layers, model.count("num_hidden_layers", kind.layers));
  constexpr int64_t most_layers = 4096;
  if (network.layers > most_layers)
    return model.wrong("num_hidden_layers", cat("at most ", most_layers));
  GS_ASSIGN(network.width, model.count("hidden_size", kind.width));
  GS_ASSIGN(network.heads, model.count("num_attention_heads", kind.heads));
  GS_ASSIGN(network.groups,
            model.count("num_key_value_heads", kind.groups ? kind.groups : network.heads));
  GS_ASSIGN(network.hidden, model.count("intermediate_size", kind.hidden));
  GS_ASSIGN(network.context, model.count("max_position_embeddings", kind.context));
  GS_ASSIGN(network.head,
            model.count("head_dim", kind.head ? kind.head : network.width / network.heads));
  constexpr int64_t widest = 1 << 16;
  if (network.head > widest) return model.wrong("head_dim", cat("at most ", widest));
  if (network.heads % network.groups != 0)
    return model.wrong("num_key_value_heads",
                       cat("a divisor of the ", network.heads, " heads of queries"));
  const auto parameters = model.object("rope_parameters");
  GS_ASSIGN(double part, model.number("partial_rotary_factor", 1));
  if (parameters) {
    GS_ASSIGN(part, parameters->number("partial_rotary_factor", part));
  }
  if (!(part <= 1)) return model.wrong("partial_rotary_factor", "at most 1");
  network.rotated = static_cast<int64_t>(static_cast<double>(network.head) * part);
  if (network.rotated < 2 || network.rotated % 2 != 0)
    return model.wrong("head_dim", "of an even number of elements that turn");
  GS_ASSIGN(network.epsilon, model.number("rms_norm_eps", kind.epsilon));
  network.rotation.base = kind.base;
  GS_TRY(read_rotations(model, network));
  GS_TRY(read_windows(model, kind, network));
  if (kind.architecture == "gemma3") {
    constexpr double usual = 256;
    GS_ASSIGN(const double width, model.number("query_pre_attn_scalar", usual));
    network.attention_scale = 1 / std::sqrt(width);
    network.norm_offset = 1;
  }
  GS_TRY(check_others(model, language::architecture(kind.architecture)->gelu));
  return network;
}

}  // namespace

Result<Network> network_of(std::string_view config) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(config.data(),
                                                                              config.size());
  if (json.HasParseError() || !json.IsObject())
    return fail_at("config.json", "is not a JSON object", "download it again");
  const Values root(json);
  GS_TRY(check_quantization(root));
  const auto name = root.text("model_type");
  if (!name)
    return fail_at("config.json", "does not say which kind of model it is (model_type)",
                   "take config.json of the model's own folder");
  const auto kind = std::ranges::find(kinds, *name, &Kind::name);
  if (kind == kinds.end())
    return fail_at("config.json",
                   cat("describes a model of the kind \"", one_line(*name),
                       "\", whose safetensors files are not supported"),
                   cat("use a model of ", known_kinds(), ", or its ONNX form"));
  const auto inner = root.object("text_config");
  GS_ASSIGN(Network network, read(inner ? *inner : root, *kind));
  network.tied = root.find("tie_word_embeddings") || !inner
                     ? root.flag("tie_word_embeddings", kind->tied)
                     : inner->flag("tie_word_embeddings", kind->tied);
  return network;
}

}  // namespace gossamer::safetensors
