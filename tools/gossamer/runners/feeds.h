// Values of a model's inputs: from files that the command line names, or made up.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "gossamer/runners/preprocess.h"
#include "gossamer/runners/runner.h"
#include "onnx/known.h"
#include "package/package.h"
#include "runtime/defaults.h"

namespace gossamer::command {

// FILE of NAME=FILE, where that is this input's name. Names may hold '=': the split is the one that
// gives the name of an input.
std::optional<std::string> file_of(const std::string& given, const std::string& name);

// A tensor file, or a picture as a tensor for `port`. Errors name the file.
Result<ops::TensorData> read_feed(const std::string& file, const Port& port,
                                  const ImageOptions& image);

// Halves, zeros where they are no floats of 16 bits or more (they may be indices), "a" where
// strings. Errors: a shape that no memory holds.
Result<ops::TensorData> made_up(ir::DType dtype, std::vector<int64_t> shape);

// Inputs as users know them: strings are one. Extents that `known` does not tell are -1.
std::vector<Port> ports_of(const package::Module& module, const onnx::Known& known);

// Values of inputs that a run may leave out, from a package's file for them.
Result<runtime::Defaults> parse_defaults(std::span<const std::byte> file,
                                         const std::vector<Port>& ports);

// Of each port: what a NAME=FILE of `given` says, else its default, else something made up, with
// extents of 1 where they are open; `random`: floats that differ. Errors: a name that is no
// input's, a file that does not fit.
Result<std::vector<ops::TensorData>> make_feeds(const std::vector<std::string>& given,
                                                const ImageOptions& image,
                                                const std::vector<Port>& ports,
                                                const runtime::Defaults& defaults,
                                                bool random = false);

}  // namespace gossamer::command
