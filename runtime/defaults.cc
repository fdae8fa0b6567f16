#include "runtime/defaults.h"

#include "package/write.h"
#include "runtime/kept_state.h"
#include "runtime/mapped_file.h"
#include "runtime/model_state.h"

namespace gossamer::runtime {

Result<Defaults> parse_defaults(std::span<const std::byte> file, const std::vector<Port>& inputs) {
  auto stored = parse_safetensors(file);
  if (!stored)
    return fail_at(std::string(package::defaults_file), stored.error().message,
                   stored.error().hint);
  Defaults defaults;
  for (const Port& port : inputs) {
    const auto found = stored->find(port.name);
    if (found == stored->end()) continue;
    const StoredTensor& tensor = found->second;
    const TensorView view{port.dtype, tensor.shape, tensor.bytes, {}};
    const std::string where = cat("input \"", port.name, "\"");
    if (tensor.type != package::safetensors_name(port.dtype) || !check_feed(port, view, where))
      return fail_at(std::string(package::defaults_file),
                     cat("the default does not fit input \"", port.name, "\""));
    defaults.emplace(
        port.name,
        HostTensor{port.dtype, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}});
  }
  return defaults;
}

Result<> Model::State::read_defaults() {
  if (!package.files.contains(package::defaults_file)) return {};
  GS_ASSIGN(const auto bytes, package.file(package::defaults_file));
  GS_ASSIGN(defaults, parse_defaults(bytes, signature.inputs));
  return {};
}

const HostTensor* Model::default_of(std::string_view input) const {
  const auto found = state_->defaults.find(input);
  return found == state_->defaults.end() ? nullptr : &found->second;
}

}  // namespace gossamer::runtime
