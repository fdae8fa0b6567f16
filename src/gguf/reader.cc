#include "gguf/reader.h"

#include "gguf/decoder.h"

namespace gossamer::gguf {

Result<std::string> to_onnx(const File& file, const std::string& location) {
  GS_ASSIGN(const Network network, network_of(file));
  NodeWriter writer(location);
  GS_TRY(write_network(network, file, writer));
  return writer.model();
}

}  // namespace gossamer::gguf
