// Any bytes: a graph or a diagnostic. Lowering runs too, since definitions meet hostile shapes and
// attributes.
#include "lower/lower.h"
#include "onnx/reader.h"
#include "stages/stage_graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto graph = gossamer::onnx::read_model(std::as_bytes(std::span(data, size)));
  if (graph) (void)gossamer::lower::lower(*graph, gossamer::ops::builtin_catalog());
  return 0;
}
