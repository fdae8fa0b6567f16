// What a model is and what each target makes of it: `gossamer inspect`, natively and in tuner.wasm.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "records/layout_records.h"
#include "records/records.h"

namespace gossamer::inspect {

// A model as it was read.
struct Subject {
  std::span<const std::byte> bytes;
  onnx::ExternalFiles* external = nullptr;
  onnx::Known known;
  graph::Graph graph;
};

// What a target makes of it.
struct View {
  std::string target;
  std::string problem;   // why it cannot be compiled
  std::string where;     // the node that `problem` is about, as errors name it; may be empty
  std::string manifest;  // of the package, JSON
  compiler::Report report;
  std::vector<std::vector<std::string>> spaces;  // points of each kernel's space, where asked for
  std::vector<records::SeenLayout> layouts;
  size_t package_bytes = 0;
};

// What is written of the views besides a line for each.
struct Details {
  bool stages = false, kernels = false, space = false;
  size_t points = 64;  // with `space`: at most so many of each kernel
};

// Errors: those of onnx::read_model. `external` may be null.
Result<Subject> read(std::span<const std::byte> model, onnx::ExternalFiles* external,
                     onnx::Known known);

View view(const Subject& subject, compiler::Options options, const records::Records& records,
          const Details& details);

// For people, with a line feed at the end of each line.
std::string to_text(const Subject& subject, std::span<const View> views, const Details& details);
// For programs, without a line feed at the end.
std::string to_json(const Subject& subject, std::span<const View> views, const Details& details);

// TARGET/stages.txt, and for each kernel its loop IR, below its origin and schedule as comments,
// and, for shaders, the code.
Result<package::Files> dump(const View& view);

}  // namespace gossamer::inspect
