#include "gossamer/runners/feeds.h"

#include <algorithm>
#include <random>

#include "gossamer/files/image_file.h"
#include "gossamer/files/tensor_file.h"
#include "ir/scalar.h"

namespace gossamer::command {

std::optional<std::string> file_of(const std::string& given, const std::string& name) {
  if (!given.starts_with(name + "=")) return std::nullopt;
  return given.substr(name.size() + 1);
}

Result<ops::TensorData> read_feed(const std::string& file, const Port& port,
                                  const ImageOptions& image) {
  if (is_image_name(file)) {
    GS_ASSIGN(const Picture picture, read_picture(file));
    return preprocess(picture, port, image);
  }
  GS_ASSIGN(NamedTensor tensor, read_tensor_file(file));
  return std::move(tensor.data);
}

namespace {

// Floats from a normal distribution, always the same ones.
void randomize(ops::TensorData& tensor, unsigned seed) {
  if (!ir::is_float(tensor.dtype) || ir::is_small(tensor.dtype)) return;
  std::mt19937 random(seed);
  std::normal_distribution<> normal;
  const auto size = static_cast<size_t>(ir::byte_size(tensor.dtype));
  for (size_t at = 0; at < tensor.bytes.size(); at += size)
    ir::write_scalar(ir::Scalar::of_float(tensor.dtype, normal(random)), &tensor.bytes[at]);
}

}  // namespace

Result<ops::TensorData> made_up(ir::DType dtype, std::vector<int64_t> shape) {
  constexpr int64_t most = int64_t{1} << 40;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count) || count > most)
      return fail(cat("shape ", shape_text(shape), " is too large for any machine"));
  }
  ops::TensorData tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  if (dtype == ir::DType::string) {
    tensor.strings.assign(static_cast<size_t>(count), "a");
    return tensor;
  }
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  tensor.bytes.resize(static_cast<size_t>(count) * size);
  if (!ir::is_float(dtype) || ir::is_small(dtype)) return tensor;
  for (size_t at = 0; at < tensor.bytes.size(); at += size)
    ir::write_scalar(ir::Scalar::of_float(dtype, 0.5), &tensor.bytes[at]);
  return tensor;
}

std::vector<Port> ports_of(const package::Module& module, const onnx::Known& known) {
  std::vector<Port> ports;
  bool lengths = false;  // of the strings before
  for (const package::Port& entry : module.inputs) {
    Port port{entry.name, entry.strings ? ir::DType::string : entry.dtype, {}};
    for (size_t axis = 0; axis < entry.shape.size(); ++axis) {
      const auto told = known.dims.find(entry.symbols[axis]);
      const bool open = !entry.symbols[axis].empty();
      port.shape.push_back(!open                      ? entry.shape[axis].value
                           : told != known.dims.end() ? told->second
                                                      : -1);
    }
    if (entry.strings) port.shape.pop_back();
    if (!lengths) ports.push_back(std::move(port));
    lengths = entry.strings;
  }
  return ports;
}

Result<runtime::Defaults> parse_defaults(std::span<const std::byte> file,
                                         const std::vector<Port>& ports) {
  std::vector<runtime::Port> inputs;
  for (const Port& port : ports) inputs.push_back({port.name, port.dtype, port.shape, {}});
  return runtime::parse_defaults(file, inputs);
}

Result<std::vector<ops::TensorData>> make_feeds(const std::vector<std::string>& given,
                                                const ImageOptions& image,
                                                const std::vector<Port>& ports,
                                                const runtime::Defaults& defaults, bool random) {
  for (const std::string& one : given) {
    if (std::ranges::none_of(ports,
                             [&](const Port& port) { return file_of(one, port.name).has_value(); }))
      return fail_at(cat("--input ", one), "names no input of the model");
  }
  std::vector<ops::TensorData> feeds;
  for (const Port& port : ports) {
    const auto found = std::ranges::find_if(
        given, [&](const std::string& one) { return file_of(one, port.name).has_value(); });
    if (found != given.end()) {
      GS_ASSIGN(ops::TensorData feed, read_feed(*file_of(*found, port.name), port, image));
      feeds.push_back(std::move(feed));
      continue;
    }
    if (const auto known = defaults.find(port.name); known != defaults.end()) {
      const runtime::HostTensor& value = known->second;
      feeds.push_back({value.dtype, value.shape, {value.bytes.begin(), value.bytes.end()}});
      continue;
    }
    std::vector<int64_t> shape = port.shape;
    std::ranges::replace(shape, -1, 1);
    auto feed = made_up(port.dtype, std::move(shape));
    if (!feed) return fail_at(cat("input \"", port.name, "\""), feed.error().message);
    if (random) randomize(*feed, static_cast<unsigned>(feeds.size()));
    feeds.push_back(*std::move(feed));
  }
  GS_TRY(check_feeds(ports, feeds));
  return feeds;
}

}  // namespace gossamer::command
