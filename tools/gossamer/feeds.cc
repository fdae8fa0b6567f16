#include "gossamer/feeds.h"

#include "gossamer/image_file.h"
#include "gossamer/tensor_file.h"
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

}  // namespace gossamer::command
