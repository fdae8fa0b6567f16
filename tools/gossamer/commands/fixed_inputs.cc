#include "gossamer/commands/fixed_inputs.h"

#include <charconv>

#include "gossamer/command_line.h"
#include "gossamer/files/tensor_file.h"

namespace gossamer::command {
namespace {

struct Pair {
  std::string name, value;
};

// Names may hold '=', values never begin with one.
Result<Pair> split(const std::string& option, const std::string& text, const char* form) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    return fail_at(cat(option, " ", text), "names nothing", cat("write ", option, " ", form));
  return Pair{text.substr(0, at), text.substr(at + 1)};
}

Result<int64_t> extent(const std::string& place, std::string_view text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return fail_at(place, cat("\"", text, "\" is no dimension"));
  return value;
}

}  // namespace

void add_fixed_inputs(const Command& command, FixedInputs& fixed) {
  command
      .add_option("--shape", fixed.shapes,
                  "NAME=1,3,224,? fixes an input's shape; ? leaves a dimension open")
      .one_value();
  command.add_option("--dim", fixed.dims, "NAME=8 fixes a named dimension of the inputs")
      .one_value();
  command
      .add_option("--constant", fixed.constants,
                  "NAME=FILE (.npy, .pb) makes an input a constant of the package")
      .one_value();
  command
      .add_option("--keep-input", fixed.kept,
                  "NAME keeps an input that has a default (an initializer), which is compiled in "
                  "otherwise")
      .one_value();
  command
      .add_option("--sequence", fixed.sequences,
                  "NAME=3: elements of an input that is a sequence, called NAME.0, NAME.1, ...; "
                  "NAME=none leaves an optional input out")
      .one_value();
}

Result<> apply(const FixedInputs& fixed, onnx::Known& known) {
  for (const std::string& text : fixed.shapes) {
    const std::string place = cat("--shape ", text);
    GS_ASSIGN(const Pair pair, split("--shape", text, "NAME=1,3,224,?"));
    std::vector<int64_t>& shape = known.shapes[pair.name];
    shape.clear();
    for (size_t begin = 0; begin < pair.value.size();) {
      const size_t end = std::min(pair.value.find(',', begin), pair.value.size());
      const std::string_view one = std::string_view(pair.value).substr(begin, end - begin);
      if (one == "?") {
        shape.push_back(-1);
      } else {
        GS_ASSIGN(const int64_t value, extent(place, one));
        shape.push_back(value);
      }
      begin = end + 1;
    }
  }
  for (const std::string& text : fixed.dims) {
    GS_ASSIGN(const Pair pair, split("--dim", text, "NAME=8"));
    GS_ASSIGN(known.dims[pair.name], extent(cat("--dim ", text), pair.value));
  }
  for (const std::string& text : fixed.sequences) {
    GS_ASSIGN(const Pair pair, split("--sequence", text, "NAME=3 or NAME=none"));
    int64_t length = -1;
    if (pair.value != "none") {
      GS_ASSIGN(length, extent(cat("--sequence ", text), pair.value));
    }
    known.lengths[pair.name] = length;
  }
  known.kept.insert(fixed.kept.begin(), fixed.kept.end());
  for (const std::string& text : fixed.constants) {
    GS_ASSIGN(const Pair pair, split("--constant", text, "NAME=FILE"));
    GS_ASSIGN(NamedTensor tensor, read_tensor_file(pair.value));
    known.constants[pair.name] = std::move(tensor.data);
  }
  return {};
}

}  // namespace gossamer::command
