#include "runtime/shader_sources.h"

#include <rapidjson/document.h>

namespace gossamer::runtime {

Result<std::vector<std::string>> shader_sources(std::span<const std::byte> code,
                                                std::span<const KernelEntry> kernels) {
  rapidjson::Document all;
  all.Parse<rapidjson::kParseIterativeFlag>(reinterpret_cast<const char*>(code.data()),
                                            code.size());
  if (all.HasParseError() || !all.IsArray())
    return fail("the code is no list of shaders",
                "the package is damaged: compile the model again");
  std::vector<std::string> sources;
  for (const KernelEntry& kernel : kernels) {
    const auto at = static_cast<rapidjson::SizeType>(kernel.source);
    if (kernel.source < 0 || kernel.source >= all.Size() || !all[at].IsString())
      return fail(cat("the code has no kernel ", kernel.name),
                  "the package is damaged: compile the model again");
    sources.emplace_back(all[at].GetString(), all[at].GetStringLength());
  }
  return sources;
}

}  // namespace gossamer::runtime
