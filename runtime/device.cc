#include "runtime/device.h"

#include "runtime/host_memory.h"

namespace gossamer::runtime {

Result<> Queue::copy(Buffer& to, const Buffer& from, size_t bytes, ir::DType storage) {
  GS_TRY(has_room(bytes));
  std::vector<std::byte> copied(bytes);
  const ReadArguments all{&from, 0, copied, storage};
  GS_TRY(read({&all, 1}));
  return write(to, 0, copied, storage);
}

Result<> check_launch(const Executable& code, const LaunchArguments& arguments) {
  const auto kernels = code.kernels();
  if (arguments.kernel < 0 || static_cast<size_t>(arguments.kernel) >= kernels.size())
    return fail(cat("there is no kernel ", arguments.kernel, ", only ", kernels.size()));
  const KernelEntry& kernel = kernels[static_cast<size_t>(arguments.kernel)];
  const auto wrong = [&](const char* what, size_t given, int taken) {
    return fail_at(cat("kernel ", kernel.name),
                   cat("takes ", taken, " ", what, ", ", given, " are given"));
  };
  if (arguments.buffers.size() != static_cast<size_t>(kernel.buffers))
    return wrong("buffers", arguments.buffers.size(), kernel.buffers);
  if (arguments.scalars.size() != static_cast<size_t>(kernel.scalars))
    return wrong("scalars", arguments.scalars.size(), kernel.scalars);
  if (arguments.range < 0)
    return fail_at(cat("kernel ", kernel.name), cat("range ", arguments.range, " is negative"));
  const auto writes = static_cast<size_t>(kernel.writes);
  for (size_t written = arguments.buffers.size() - writes; written < arguments.buffers.size();
       ++written)
    for (size_t at = 0; at < written; ++at)
      if (arguments.buffers[at] == arguments.buffers[written])
        return fail_at(cat("kernel ", kernel.name), cat("reads buffer ", at, ", which it writes"));
  return {};
}

Result<> check_range(const Buffer& buffer, size_t offset, size_t bytes) {
  if (offset > buffer.size() || bytes > buffer.size() - offset)
    return fail(cat("bytes ", offset, " to ", offset + bytes, " lie outside of a buffer of ",
                    buffer.size()));
  return {};
}

}  // namespace gossamer::runtime
