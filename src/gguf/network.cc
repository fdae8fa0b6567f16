#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "gguf/network.h"

namespace gossamer::gguf {
namespace {

using language::Network;
using language::Rotation;

class Keys {
 public:
  Keys(const File& file, std::string_view architecture)
      : file_(file), prefix_(cat(architecture, ".")) {}

  std::optional<int64_t> integer(std::string_view name) const {
    return file_.integer(cat(prefix_, name));
  }
  std::optional<double> number(std::string_view name) const {
    return file_.number(cat(prefix_, name));
  }
  std::optional<std::string_view> text(std::string_view name) const {
    return file_.text(cat(prefix_, name));
  }
  // A count: given for all layers, or the same of each.
  Result<int64_t> count(std::string_view name, std::optional<int64_t> fallback = {}) const {
    constexpr int64_t most = int64_t{1} << 30;
    const std::string key = cat(prefix_, name);
    auto given = file_.integers(key);
    if (!given && fallback) given = {*fallback};
    if (!given || given->empty())
      return fail(cat("the GGUF file lacks the value \"", key, "\""),
                  "convert the model again with a current llama.cpp");
    const int64_t value = given->front();
    if (std::ranges::any_of(*given, [&](int64_t one) { return one != value; }))
      return fail(cat("\"", key, "\" differs between layers, which is not supported"));
    if (value < 1 || value > most) return fail(cat("\"", key, "\" is ", value));
    return value;
  }

 private:
  const File& file_;
  std::string prefix_;
};

Result<Rotation> rotation_of(const Keys& keys, int64_t context) {
  Rotation rotation;
  rotation.base = keys.number("rope.freq_base").value_or(10000);
  rotation.scaling = keys.text("rope.scaling.type").value_or("none");
  rotation.factor = keys.number("rope.scaling.factor").value_or(1);
  // Files of old converters have a factor alone.
  if (const auto linear = keys.number("rope.scale_linear"); linear && rotation.scaling == "none") {
    rotation.scaling = "linear";
    rotation.factor = *linear;
  }
  rotation.original =
      keys.number("rope.scaling.original_context_length").value_or(static_cast<double>(context));
  if (!(rotation.base > 0) || !(rotation.factor > 0) || !(rotation.original > 0))
    return fail("the values \"rope...\" of the GGUF file are not positive");
  if (rotation.scaling == "none") {
    rotation.factor = 1;
  } else if (rotation.scaling == "yarn") {
    rotation.fast = keys.number("rope.scaling.yarn_beta_fast").value_or(32);
    rotation.slow = keys.number("rope.scaling.yarn_beta_slow").value_or(1);
    rotation.attention = rotation.factor > 1 ? 0.1 * std::log(rotation.factor) + 1 : 1;
    rotation.attention *= keys.number("rope.scaling.attn_factor").value_or(1);
  } else if (rotation.scaling == "longrope") {
    const double longer = static_cast<double>(context) / rotation.original;
    const double usual =
        longer > 1 ? std::sqrt(1 + std::log(longer) / std::log(rotation.original)) : 1;
    rotation.attention = keys.number("rope.scaling.attn_factor").value_or(usual);
  } else if (rotation.scaling != "linear") {
    return fail(cat("the rotation is scaled in the way \"", one_line(rotation.scaling),
                    "\"; none, linear, yarn and longrope are supported"));
  }
  return rotation;
}

Result<> add_gemma(const Keys& keys, Network& network) {
  constexpr int64_t layers_of_27b = 62;
  if (network.window > 0) {
    const int64_t pattern = keys.integer("attention.sliding_window_pattern").value_or(6);
    if (pattern < 1) return fail("\"gemma3.attention.sliding_window_pattern\" is not positive");
    for (int64_t layer = pattern - 1; layer < network.layers; layer += pattern)
      network.windowed[static_cast<size_t>(layer)] = false;
  }
  network.local_rotation = true;
  network.local.base = keys.number("rope.freq_base_swa").value_or(10000);
  if (!(network.local.base > 0)) return fail("\"gemma3.rope.freq_base_swa\" is not positive");
  if (network.layers == layers_of_27b)
    network.attention_scale =
        std::sqrt(static_cast<double>(network.heads) / static_cast<double>(network.width));
  return {};
}

}  // namespace

Result<Network> network_of(const File& file) {
  const auto name = file.text("general.architecture");
  if (!name)
    return fail("the GGUF file does not say which architecture it has (general.architecture)",
                "it may hold an adapter or weights alone: give the model's own file");
  if (!language::architecture(*name))
    return fail(
        cat("the GGUF file has the architecture \"", one_line(*name), "\", which is not supported"),
        cat("use a model of ", language::known_architectures(), ", or its ONNX form"));
  const Keys keys(file, *name);
  if (keys.integer("expert_count").value_or(0) > 0)
    return fail("the model has experts, which are not supported in GGUF files",
                "use its ONNX form");
  Network network;
  network.architecture = *name;
  network.pairs = *name == "llama";
  GS_ASSIGN(network.layers, keys.count("block_count"));
  GS_ASSIGN(network.width, keys.count("embedding_length"));
  GS_ASSIGN(network.heads, keys.count("attention.head_count"));
  GS_ASSIGN(network.groups, keys.count("attention.head_count_kv", network.heads));
  GS_ASSIGN(network.hidden, keys.count("feed_forward_length"));
  GS_ASSIGN(network.context, keys.count("context_length"));
  GS_ASSIGN(network.head, keys.count("attention.key_length", network.width / network.heads));
  GS_ASSIGN(const int64_t value, keys.count("attention.value_length", network.head));
  constexpr int64_t widest = 1 << 16;
  if (network.head > widest) return fail(cat("\"attention.key_length\" is ", network.head));
  if (value != network.head)
    return fail(
        cat("keys have ", network.head, " elements, values ", value, ": this is not supported"));
  if (network.heads % network.groups != 0)
    return fail(
        cat(network.heads, " heads share ", network.groups, " keys, which do not divide them"));
  GS_ASSIGN(network.rotated, keys.count("rope.dimension_count", network.head));
  if (network.rotated > network.head || network.rotated % 2 != 0)
    return fail(cat("\"rope.dimension_count\" is ", network.rotated, ", a head has ", network.head,
                    " elements"));
  network.epsilon = keys.number("attention.layer_norm_rms_epsilon").value_or(1e-5);
  if (!(network.epsilon >= 0)) return fail("\"attention.layer_norm_rms_epsilon\" is negative");
  if (*name == "gemma3" || *name == "phi3") {
    const int64_t window = keys.integer("attention.sliding_window").value_or(0);
    if (window > 0 && window < network.context) network.window = window;
  }
  network.windowed.assign(static_cast<size_t>(network.layers), network.window > 0);
  GS_ASSIGN(network.rotation, rotation_of(keys, network.context));
  if (*name == "gemma3") GS_TRY(add_gemma(keys, network));
  return network;
}

}  // namespace gossamer::gguf
