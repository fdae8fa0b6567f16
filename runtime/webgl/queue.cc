#include "runtime/webgl/queue.h"

#include <algorithm>

#include "runtime/opengl/fence.h"
#include "runtime/webgl/programs.h"

namespace gossamer::runtime::webgl {
namespace {

struct Rectangle {
  GLint x, y;
  GLsizei width, height;
};

// Texels that follow each other, as at most three rectangles: the end of a row, rows, the beginning
// of one.
std::vector<Rectangle> rectangles(size_t first, size_t last, GLsizei width) {
  std::vector<Rectangle> all;
  const auto row = static_cast<size_t>(width);
  while (first < last) {
    const size_t x = first % row;
    const size_t rows = x == 0 ? (last - first) / row : 0;
    const size_t texels = rows > 0 ? rows * row : std::min(row - x, last - first);
    all.push_back({static_cast<GLint>(x), static_cast<GLint>(first / row),
                   rows > 0 ? width : static_cast<GLsizei>(texels),
                   static_cast<GLsizei>(std::max<size_t>(rows, 1))});
    first += texels;
  }
  return all;
}

size_t bytes_of(const Rectangle& part) {
  return static_cast<size_t>(part.width) * static_cast<size_t>(part.height) * texel_bytes;
}

// Elements follow each other from texel to texel where there is one layer.
Result<> check_flat(const Texture& texture) {
  if (texture.layers() == 1) return {};
  return fail("an input, output or weight lies in a texture with layers",
              "the package is damaged: compile the model again");
}

}  // namespace

Result<> DrawQueue::write(Buffer& to, size_t offset, std::span<const std::byte> bytes,
                          ir::DType storage) {
  GS_TRY(check_range(to, offset, bytes.size()));
  auto& texture = static_cast<Texture&>(to);
  GS_TRY(check_flat(texture));
  if (bytes.empty()) return {};
  const auto attached = context_->attach();
  // Texels are written whole: the part of the first one that stays is read.
  const size_t first = offset / texel_bytes, kept = offset % texel_bytes;
  std::vector<std::byte> whole;
  const auto pad = [&](size_t before) {
    whole.resize(before);
    whole.insert(whole.end(), bytes.begin(), bytes.end());
    whole.resize((whole.size() + texel_bytes - 1) / texel_bytes * texel_bytes);
    bytes = whole;
  };
  if (kept > 0) {
    std::vector<std::byte> head(kept);
    const ReadArguments one{&to, offset - kept, head, storage};
    GS_TRY(read({&one, 1}));
    pad(kept);
    std::ranges::copy(head, whole.begin());
  }
  GS_TRY(texture.texture(storage));
  const Format format = format_of(storage);
  const auto put = [&](size_t from, size_t to_texel, const std::byte* data) {
    for (const Rectangle& part : rectangles(from, to_texel, texture.width())) {
      gl_.glTexSubImage2D(GL_TEXTURE_2D, 0, part.x, part.y, part.width, part.height, format.format,
                          format.element, data);
      data += bytes_of(part);
    }
  };
  const size_t full = bytes.size() / texel_bytes, rest = bytes.size() % texel_bytes;
  put(first, first + full, bytes.data());
  if (rest > 0) {
    std::byte last[texel_bytes] = {};
    std::ranges::copy(bytes.last(rest), last);
    put(first + full, first + full + 1, last);
  }
  return {};
}

Result<> DrawQueue::read(std::span<const ReadArguments> reads) {
  const auto attached = context_->attach();
  size_t end = 0;
  const auto texels = [](const ReadArguments& one) {
    const size_t last = one.offset + one.bytes.size() + texel_bytes - 1;
    return std::pair(one.offset / texel_bytes, last / texel_bytes);
  };
  for (const ReadArguments& one : reads) {
    GS_TRY(check_range(*one.from, one.offset, one.bytes.size()));
    GS_TRY(check_flat(static_cast<const Texture&>(*one.from)));
    const auto [first, last] = texels(one);
    if (!one.bytes.empty()) end += (last - first) * texel_bytes;
  }
  if (end == 0) return {};
  staging_.bind(end);
  std::vector<opengl::Staging::Part> parts;
  size_t at = 0;
  for (const ReadArguments& one : reads) {
    if (one.bytes.empty()) continue;
    // What is asked for may not have been drawn yet, which makes it.
    auto& texture = const_cast<Texture&>(static_cast<const Texture&>(*one.from));
    GS_TRY(texture.frame(one.storage));
    const Format format = format_of(one.storage);
    const auto [first, last] = texels(one);
    parts.push_back({at + one.offset % texel_bytes, one.bytes});
    for (const Rectangle& part : rectangles(first, last, texture.width())) {
      gl_.glReadPixels(part.x, part.y, part.width, part.height, format.format, format.element,
                       reinterpret_cast<void*>(at));
      at += bytes_of(part);
    }
  }
  return staging_.read(end, parts);
}

Result<> DrawQueue::launch(const Executable& code, const LaunchArguments& arguments) {
  GS_TRY(check_launch(code, arguments));
  if (arguments.range == 0) return {};
  const auto attached = context_->attach();
  const KernelEntry& kernel = code.kernels()[static_cast<size_t>(arguments.kernel)];
  if (auto drawn = draw(code, arguments); !drawn)
    return fail_at(cat("kernel ", kernel.name), drawn.error().message, drawn.error().hint);
  return {};
}

Result<> DrawQueue::draw(const Executable& code, const LaunchArguments& arguments) {
  const auto& draws = static_cast<const Draws&>(code);
  const auto storage_of = [&](size_t at) {
    return arguments.storage.empty() ? ir::DType::i32 : arguments.storage[at];
  };
  gl_.glUseProgram(draws.program(arguments.kernel));
  const size_t last = arguments.buffers.size() - 1;
  for (size_t unit = 0; unit < last; ++unit) {
    gl_.glActiveTexture(GL_TEXTURE0 + static_cast<GLenum>(unit));
    GS_TRY(static_cast<Texture*>(arguments.buffers[unit])->texture(storage_of(unit)));
  }
  // Where none of what is read would be taken away.
  gl_.glActiveTexture(GL_TEXTURE0 + static_cast<GLenum>(last));
  auto& written = *static_cast<Texture*>(arguments.buffers[last]);
  GS_TRY(written.frame(storage_of(last)));
  const std::span<const GLint> places = draws.scalars(arguments.kernel);
  for (size_t at = 0; at < places.size(); ++at)
    gl_.glUniform1i(places[at], static_cast<GLint>(arguments.scalars[at]));
  const int64_t rows = (arguments.range + written.width() - 1) / written.width();
  // Rows below the tensor's last texel hold nothing, and where there is one row, nor do texels
  // behind it.
  gl_.glViewport(0, 0, static_cast<GLsizei>(std::min<int64_t>(arguments.range, written.width())),
                 static_cast<GLsizei>(std::min<int64_t>(rows, written.height())));
  gl_.glDrawArrays(GL_TRIANGLES, 0, 3);
  return {};
}

Result<std::unique_ptr<Fence>> DrawQueue::submit() {
  const auto attached = context_->attach();
  return opengl::make_fence(context_);
}

}  // namespace gossamer::runtime::webgl
