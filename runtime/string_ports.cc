#include "runtime/string_ports.h"

#include "base/strings.h"

namespace gossamer::runtime {

std::vector<Port> joined_ports(const std::vector<Port>& ports,
                               const std::vector<package::Port>& entries) {
  std::vector<Port> joined;
  for (size_t at = 0; at < ports.size(); ++at) {
    joined.push_back(ports[at]);
    if (!entries[at].strings) continue;
    Port& port = joined.back();
    port.dtype = ir::DType::string;
    port.shape.pop_back();
    port.symbols.pop_back();
    ++at;
  }
  return joined;
}

Result<PackedFeeds> pack_feeds(const std::vector<Port>& ports, std::span<const TensorView> feeds) {
  if (feeds.size() != ports.size())
    return fail(cat("the model has ", ports.size(), " inputs, ", feeds.size(), " are given"));
  PackedFeeds packed;
  packed.strings.reserve(2 * ports.size());  // views show what lies there
  for (size_t at = 0; at < ports.size(); ++at) {
    const TensorView& feed = feeds[at];
    if (ports[at].dtype != ir::DType::string) {
      packed.feeds.push_back(feed);
      continue;
    }
    const std::string where = cat("input \"", ports[at].name, "\"");
    if (feed.dtype != ir::DType::string)
      return fail_at(where, cat("is string, the tensor given is ", ir::name_of(feed.dtype)));
    uint64_t count = 1;
    for (int64_t extent : feed.shape)
      if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count))
        return fail_at(where, "has a shape without a size");
    if (feed.shape.size() != ports[at].shape.size() || count != feed.strings.size())
      return fail_at(where,
                     cat("has shape ", shape_text(ports[at].shape), ", the tensor given has ",
                         shape_text(feed.shape), " and ", feed.strings.size(), " strings"));
    const auto width = packed_width(feed.strings);
    if (!width) return fail_at(where, width.error().message, width.error().hint);
    PackedStrings strings = pack_strings(feed.strings);
    const std::vector<int64_t> shape(feed.shape.begin(), feed.shape.end());
    HostTensor bytes{ir::DType::u8, shape, std::move(strings.bytes)};
    bytes.shape.push_back(strings.width);
    packed.feeds.push_back(view_of(packed.strings.emplace_back(std::move(bytes))));
    HostTensor lengths{ir::DType::i32, shape, std::move(strings.lengths)};
    packed.feeds.push_back(view_of(packed.strings.emplace_back(std::move(lengths))));
  }
  return packed;
}

Result<std::vector<HostTensor>> unpack_outputs(const std::vector<Port>& ports,
                                               std::vector<HostTensor> outputs) {
  std::vector<HostTensor> joined;
  size_t at = 0;
  for (const Port& port : ports) {
    HostTensor& output = outputs[at++];
    if (port.dtype == ir::DType::string) {
      HostTensor& lengths = outputs[at++];
      auto strings = unpack_strings(output.shape.back(), output.bytes, lengths.bytes);
      if (!strings) return fail_at(cat("output \"", port.name, "\""), strings.error().message);
      joined.push_back({port.dtype, std::move(lengths.shape), {}, *std::move(strings)});
    } else {
      joined.push_back(std::move(output));
    }
  }
  return joined;
}

}  // namespace gossamer::runtime
