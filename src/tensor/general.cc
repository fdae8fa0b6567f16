#include "tensor/general.h"

#include <algorithm>
#include <cstring>

#include "ir/build.h"
#include "tensor/planner.h"

namespace gossamer::tensor {
namespace {

// Integers that may be parts of shapes.
bool may_shape(const ops::TensorData& data) {
  return (data.dtype == ir::DType::i64 || data.dtype == ir::DType::i32) && data.shape.size() <= 1 &&
         data.element_count() <= 64;
}

int64_t element(const ops::TensorData& data, size_t i) {
  if (data.dtype == ir::DType::i32) {
    int32_t value = 0;
    std::memcpy(&value, data.bytes.data() + 4 * i, 4);
    return value;
  }
  int64_t value = 0;
  std::memcpy(&value, data.bytes.data() + 8 * i, 8);
  return value;
}

}  // namespace

Words Recorder::General::skeleton(const Recorder& recorder, const Words& words) {
  Words made = words;
  const auto rank_of = [&](int64_t& spec) {
    const Spec& known = recorder.specs_[static_cast<size_t>(spec)];
    spec = static_cast<int64_t>(known.shape.size()) * 256 + static_cast<int64_t>(known.dtype);
  };
  size_t at = 0;
  while (words[at] != word::wanted) {
    if (words[at] == word::feed) {
      rank_of(made[at + 1]);
    } else if (words[at] == word::constant) {
      const ops::TensorData& data = recorder.constants_[static_cast<size_t>(words[at + 1])];
      // Numbers of constants are positive.
      if (may_shape(data))
        made[at + 1] = -1 - data.element_count() * 4 - static_cast<int64_t>(data.shape.size()) * 2 -
                       (data.dtype == ir::DType::i32 ? 1 : 0);
    } else if (words[at] >= 0) {
      at += 1 + static_cast<size_t>(words[at + 1]);
    }
    at += 2;
  }
  for (size_t i = at + 3; i < made.size(); i += 2) rank_of(made[i]);
  return made;
}

std::optional<Recorder::General::Number> Recorder::General::number(int64_t a, int64_t b) const {
  if (a == b) return Number{-1, 0, a};
  for (size_t dim = 0; dim < dims_.size(); ++dim) {
    const auto [from, to] = values_[dim];
    if ((a - b) % (from - to) != 0) continue;
    const int64_t scale = (a - b) / (from - to);
    // A multiple is likelier than a multiple and something beside.
    if (a == scale * from || scale == 1)
      return Number{static_cast<int>(dim), scale, a - scale * from};
  }
  return std::nullopt;
}

bool Recorder::General::find_dims(const Recorder& recorder, const Words& a, const Words& b) {
  size_t feed = 0;
  for (size_t at = 0; a[at] != word::wanted; at += 2) {
    if (a[at] == word::feed) {
      const auto& from = recorder.specs_[static_cast<size_t>(a[at + 1])].shape;
      const auto& to = recorder.specs_[static_cast<size_t>(b[at + 1])].shape;
      for (size_t axis = 0; axis < from.size(); ++axis) {
        const std::pair both{from[axis], to[axis]};
        if (both.first == both.second || std::ranges::find(values_, both) != values_.end())
          continue;
        // Dimensions of 0 and 1 broadcast or vanish: programs of their own.
        if (std::min(both.first, both.second) < 2) return false;
        values_.push_back(both);
        dims_.push_back({feed, axis});
      }
      ++feed;
    } else if (a[at] >= 0) {
      at += 1 + static_cast<size_t>(a[at + 1]);
    }
  }
  return !dims_.empty();
}

std::optional<Recorder::General> Recorder::General::of(const Recorder& recorder, const Words& a,
                                                       const Words& b) {
  General made;
  made.words_ = a;
  if (!made.find_dims(recorder, a, b)) return std::nullopt;
  for (size_t at = 0; a[at] != word::wanted; at += 2) {
    if (a[at] >= 0) {
      at += 1 + static_cast<size_t>(a[at + 1]);
      continue;
    }
    if (a[at + 1] == b[at + 1]) continue;
    std::vector<Number>& numbers = made.numbers_[at];
    const auto add = [&](int64_t from, int64_t to) {
      const auto found = made.number(from, to);
      if (found) numbers.push_back(*found);
      return found.has_value();
    };
    if (a[at] == word::feed) {
      const auto& from = recorder.specs_[static_cast<size_t>(a[at + 1])].shape;
      const auto& to = recorder.specs_[static_cast<size_t>(b[at + 1])].shape;
      for (size_t axis = 0; axis < from.size(); ++axis) {
        const auto dim = std::ranges::find(made.values_, std::pair{from[axis], to[axis]});
        if (dim == made.values_.end()) {
          numbers.push_back({-1, 0, from[axis]});
        } else {
          numbers.push_back({static_cast<int>(dim - made.values_.begin()), 1, 0});
        }
      }
    } else {
      const ops::TensorData& from = recorder.constants_[static_cast<size_t>(a[at + 1])];
      const ops::TensorData& to = recorder.constants_[static_cast<size_t>(b[at + 1])];
      for (size_t i = 0; i < static_cast<size_t>(from.element_count()); ++i) {
        if (!add(element(from, i), element(to, i))) return std::nullopt;
      }
    }
  }
  return made;
}

bool Recorder::General::has(const Recorder& recorder, const Words& words) const {
  std::vector<const Spec*> feeds;
  for (size_t at = 0; words[at] != word::wanted; at += 2) {
    if (words[at] == word::feed)
      feeds.push_back(&recorder.specs_[static_cast<size_t>(words[at + 1])]);
    if (words[at] >= 0) at += 1 + static_cast<size_t>(words[at + 1]);
  }
  const auto is = [&](const Number& number, int64_t value) {
    if (number.dim < 0) return value == number.offset;
    const Dim& dim = dims_[static_cast<size_t>(number.dim)];
    const int64_t extent = feeds[dim.feed]->shape[dim.axis];
    return extent >= 2 && value == number.scale * extent + number.offset;
  };
  for (size_t at = 0; words[at] != word::wanted; at += 2) {
    if (words[at] >= 0) {
      at += 1 + static_cast<size_t>(words[at + 1]);
      continue;
    }
    const auto found = numbers_.find(at);
    if (found == numbers_.end()) {
      if (words[at + 1] != words_[at + 1]) return false;
      continue;
    }
    const std::vector<Number>& numbers = found->second;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto which = static_cast<size_t>(words[at + 1]);
      const int64_t value = words[at] == word::feed ? recorder.specs_[which].shape[i]
                                                    : element(recorder.constants_[which], i);
      if (!is(numbers[i], value)) return false;
    }
  }
  return true;
}

graph::Graph Recorder::General::graph(const Recorder& recorder) const {
  graph::Graph made;
  made.name = "program of many shapes";
  std::vector<graph::ValueId> values;
  std::vector<ir::Expr> dims;
  for (size_t i = 0; i < dims_.size(); ++i) dims.emplace_back(ir::var(cat("n", i)));
  const auto node = [&](std::string_view op, std::vector<graph::ValueId> inputs,
                        ops::Attributes attributes = {}) {
    return recorder.write_node(made, op, std::move(inputs), std::move(attributes));
  };
  const auto whole = [&](int64_t number) {
    graph::Value value;
    value.name = cat("c", made.values.size());
    value.dtype = ir::DType::i64;
    value.constant = graph::source_of(ops::int64s({1}, {number}));
    return made.add_value(std::move(value));
  };
  // Feeds come where they are used first: those that dimensions are read from may come later.
  std::map<size_t, graph::ValueId> feeds;
  size_t count = 0, at = 0;
  for (; words_[at] != word::wanted; at += 2) {
    if (words_[at] >= 0) {
      at += 1 + static_cast<size_t>(words_[at + 1]);
      continue;
    }
    if (words_[at] != word::feed) continue;
    const Spec& spec = recorder.specs_[static_cast<size_t>(words_[at + 1])];
    graph::Value value;
    value.name = cat("i", count++);
    value.dtype = spec.dtype;
    value.shape_known = true;
    const auto found = numbers_.find(at);
    for (size_t axis = 0; axis < spec.shape.size(); ++axis) {
      const int dim = found == numbers_.end() ? -1 : found->second[axis].dim;
      value.shape.push_back(dim < 0 ? ir::index(spec.shape[axis]) : dims[static_cast<size_t>(dim)]);
    }
    made.inputs.push_back(feeds[at] = made.add_value(std::move(value)));
  }
  const auto constant = [&](size_t place) {
    const ops::TensorData& data = recorder.constants_[static_cast<size_t>(words_[place + 1])];
    const auto found = numbers_.find(place);
    if (found == numbers_.end()) {
      graph::Value value;
      value.name = cat("c", made.values.size());
      value.dtype = data.dtype;
      value.constant = graph::source_of(data);
      return made.add_value(std::move(value));
    }
    std::vector<graph::ValueId> parts;
    for (const Number& number : found->second) {
      if (number.dim < 0) {
        parts.push_back(whole(number.offset));
        continue;
      }
      const Dim& dim = dims_[static_cast<size_t>(number.dim)];
      const auto axis = static_cast<int64_t>(dim.axis);
      graph::ValueId part =
          node("Shape", {made.inputs[dim.feed]}, {{"start", axis}, {"end", axis + 1}});
      if (number.scale != 1) part = node("Mul", {part, whole(number.scale)});
      if (number.offset != 0) part = node("Add", {part, whole(number.offset)});
      parts.push_back(part);
    }
    graph::ValueId value =
        parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", int64_t{0}}});
    if (data.shape.empty()) value = node("Squeeze", {value});
    if (data.dtype == ir::DType::i32)
      value = node("Cast", {value}, {{"to", ops::onnx_of_dtype(ir::DType::i32)}});
    return value;
  };
  for (at = 0; words_[at] != word::wanted;) {
    if (words_[at] == word::feed) {
      values.push_back(feeds.at(at));
      at += 2;
    } else if (words_[at] == word::constant) {
      values.push_back(constant(at));
      at += 2;
    } else if (words_[at] == word::weight) {
      values.push_back(recorder.add_weight(made, words_[at + 1]));
      at += 2;
    } else {
      at = recorder.add_node(made, values, words_, at);
    }
  }
  for (size_t i = at + 2; i < words_.size(); i += 2) {
    const Spec& spec = recorder.specs_[static_cast<size_t>(words_[i + 1])];
    graph::Value output;
    output.name = cat("o", made.outputs.size());
    output.dtype = spec.dtype;
    recorder.add_output(made, values[static_cast<size_t>(words_[i])], std::move(output));
  }
  return made;
}

int Recorder::general_of(int program) {
  const Words words = programs_[static_cast<size_t>(program)];
  Skeleton& skeleton = skeletons_[General::skeleton(*this, words)];
  for (size_t i = 0; skeleton.general < 0 && i < skeleton.programs.size(); ++i) {
    auto made = General::of(*this, programs_[static_cast<size_t>(skeleton.programs[i])], words);
    if (!made) continue;
    skeleton.general = static_cast<int>(programs_.size());
    programs_.emplace_back();
    generals_.emplace(skeleton.general, std::make_shared<const General>(*std::move(made)));
  }
  if (skeleton.general >= 0)
    return generals_.at(skeleton.general)->has(*this, words) ? skeleton.general : -1;
  constexpr size_t most = 4;
  if (skeleton.programs.size() == most) skeleton.programs.erase(skeleton.programs.begin());
  skeleton.programs.push_back(program);
  return -1;
}

const Words& Recorder::words_of(int program) const {
  const Words& words = programs_[static_cast<size_t>(program)];
  return words.empty() ? generals_.at(program)->words() : words;
}

graph::Graph Recorder::general_graph(int program) const {
  return generals_.at(program)->graph(*this);
}

}  // namespace gossamer::tensor
