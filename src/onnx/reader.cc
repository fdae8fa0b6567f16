#include "onnx/reader.h"

#include "onnx/importer.h"

namespace gossamer::onnx {

Result<graph::Graph> read_model(Bytes bytes, const ReadOptions& options) {
  GS_ASSIGN(ProtoModel model, parse_model(bytes));
  return Importer(model, bytes, options).import();
}

}  // namespace gossamer::onnx
