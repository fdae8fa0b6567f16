#include "onnx/proto.h"

#include "onnx/file_kind.h"

namespace gossamer::onnx {
namespace {

// A node of two bytes in a file takes a few hundred in memory, so their number is bounded.
constexpr int64_t max_parts = 2'000'000;

class Parser {
 public:
  Result<> parse(Bytes bytes, ProtoModel& model);
  Result<> parse(Bytes bytes, ProtoTensor& tensor);

  // Calls `take(field)` for every field of a message.
  template <class Take>
  Result<> each_field(Bytes bytes, Take&& take) {
    MessageReader reader(bytes);
    Field field;
    while (true) {
      GS_ASSIGN(bool more, reader.next(field));
      if (!more) return {};
      GS_TRY(take(field));
    }
  }
  // Appends a message to a list and parses it.
  template <class T>
  Result<> add(std::vector<T>& list, const Field& field) {
    if (++parts_ > max_parts) return fail(cat("has more than ", max_parts, " parts"));
    return parse(field.bytes, list.emplace_back());
  }

 private:
  Result<> parse(Bytes bytes, ProtoGraph& graph);
  Result<> parse(Bytes bytes, ProtoSparse& tensor);
  Result<> parse(Bytes bytes, ProtoNode& node);
  Result<> parse(Bytes bytes, ProtoAttribute& attribute);
  Result<> parse(Bytes bytes, ProtoValue& value);
  Result<> parse(Bytes bytes, ProtoDim& dim);
  Result<> parse(Bytes bytes, ProtoOpset& opset);
  Result<> parse(Bytes bytes, ProtoFunction& function);
  Result<> parse_type(Bytes bytes, ProtoValue& value, int depth);
  Result<> parse_tensor_type(Bytes bytes, ProtoValue& value);
  Result<> add_body(ProtoAttribute& attribute, Bytes bytes);
  Result<> add_text(std::vector<std::string_view>& list, const Field& field) {
    if (++parts_ > max_parts) return fail(cat("has more than ", max_parts, " parts"));
    list.push_back(field.text());
    return {};
  }

  int64_t parts_ = 0;
  int depth_ = 0;
};

Result<> Parser::parse(Bytes bytes, ProtoModel& model) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::varint)) model.ir_version = field.integer();
    if (field.type != WireType::bytes) return {};
    switch (field.number) {
      case 7:
        if (model.graph) return fail("has two graphs");
        return parse(field.bytes, model.graph.emplace());
      case 8:
        return add(model.opsets, field);
      case 25:
        return add(model.functions, field);
      default:
        break;
    }
    return {};
  });
}

Result<> Parser::parse(Bytes bytes, ProtoGraph& graph) {
  if (++depth_ > max_graph_depth) {
    return fail(cat("nests graphs more than ", max_graph_depth, " deep"));
  }
  GS_TRY(each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.type != WireType::bytes) return {};
    switch (field.number) {
      case 1:
        return add(graph.nodes, field);
      case 2:
        graph.name = field.text();
        return {};
      case 5:
        return add(graph.initializers, field);
      case 11:
        return add(graph.inputs, field);
      case 12:
        return add(graph.outputs, field);
      case 13:
        return add(graph.values, field);
      case 15:
        return add(graph.sparse_initializers, field);
      default:
        break;
    }
    return {};
  }));
  --depth_;
  return {};
}

Result<> Parser::parse(Bytes bytes, ProtoSparse& tensor) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::bytes)) return parse(field.bytes, tensor.values);
    if (field.is(2, WireType::bytes)) return parse(field.bytes, tensor.indices);
    if (field.number == 3) return append_varints(field, tensor.dims);
    return {};
  });
}

Result<> Parser::parse(Bytes bytes, ProtoNode& node) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.type != WireType::bytes) return {};
    switch (field.number) {
      case 1:
        return add_text(node.inputs, field);
      case 2:
        return add_text(node.outputs, field);
      case 3:
        node.name = field.text();
        return {};
      case 4:
        node.op = field.text();
        return {};
      case 5:
        return add(node.attributes, field);
      case 7:
        node.domain = field.text();
        return {};
      case 8:
        node.overload = field.text();
        return {};
      default:
        break;
    }
    return {};
  });
}

Result<> Parser::add_body(ProtoAttribute& attribute, Bytes bytes) {
  attribute.bodies.push_back(std::make_unique<ProtoGraph>());
  return parse(bytes, *attribute.bodies.back());
}

Result<> Parser::parse(Bytes bytes, ProtoAttribute& attribute) {
  using Kind = ProtoAttribute::Kind;
  Kind seen = ProtoAttribute::undefined;  // files of IR version 1 have no `type` field
  GS_TRY(each_field(bytes, [&](const Field& field) -> Result<> {
    bool text = field.type == WireType::bytes;
    switch (field.number) {
      case 1:
        if (text) attribute.name = field.text();
        return {};
      case 2:
        if (field.type != WireType::fixed32) return {};
        attribute.number = field.number32();
        seen = ProtoAttribute::real;
        return {};
      case 3:
        if (field.type != WireType::varint) return {};
        attribute.value = field.integer();
        seen = ProtoAttribute::integer;
        return {};
      case 4:
        if (text) attribute.string = field.text(), seen = ProtoAttribute::text;
        return {};
      case 5:
        if (!text) return {};
        seen = ProtoAttribute::tensor;
        attribute.data = std::make_unique<ProtoTensor>();
        return parse(field.bytes, *attribute.data);
      case 6:
      case 11:
        if (!text) return {};
        seen = field.number == 6 ? ProtoAttribute::graph : ProtoAttribute::graphs;
        return add_body(attribute, field.bytes);
      case 7:
        seen = ProtoAttribute::reals;
        return append_floats(field, attribute.numbers);
      case 8:
        seen = ProtoAttribute::integers;
        return append_varints(field, attribute.values);
      case 9:
        if (!text) return {};
        seen = ProtoAttribute::texts;
        return add_text(attribute.strings, field);
      case 10:
        seen = ProtoAttribute::tensors;
        return {};
      case 20:
        if (field.type == WireType::varint && field.scalar <= ProtoAttribute::types) {
          attribute.kind = static_cast<Kind>(field.scalar);
        }
        return {};
      case 21:
        if (text) attribute.reference = field.text();
        return {};
      case 22:
        seen = ProtoAttribute::sparse_tensor;
        attribute.sparse = std::make_unique<ProtoSparse>();
        return parse(field.bytes, *attribute.sparse);
      default:
        break;
    }
    return {};
  }));
  if (attribute.kind == ProtoAttribute::undefined) attribute.kind = seen;
  return {};
}

Result<> Parser::parse(Bytes bytes, ProtoTensor& tensor) {
  tensor.message = bytes;
  return each_field(bytes, [&](const Field& field) -> Result<> {
    bool text = field.type == WireType::bytes;
    switch (field.number) {
      case 1:
        return append_varints(field, tensor.dims);
      case 2:
        if (field.type == WireType::varint) tensor.data_type = static_cast<int>(field.scalar);
        return {};
      case 8:
        if (text) tensor.name = field.text();
        return {};
      case 9:
        if (text) tensor.raw = field.bytes;
        return {};
      case 13: {
        if (!text) return {};
        auto& entry = tensor.external_data.emplace_back();
        return each_field(field.bytes, [&](const Field& part) -> Result<> {
          if (part.is(1, WireType::bytes)) entry.first = part.text();
          if (part.is(2, WireType::bytes)) entry.second = part.text();
          return {};
        });
      }
      case 14:
        if (field.type == WireType::varint) tensor.external = field.scalar == 1;
        return {};
      default:
        break;
    }
    return {};
  });
}

Result<> Parser::parse(Bytes bytes, ProtoValue& value) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::bytes)) value.name = field.text();
    if (field.is(2, WireType::bytes)) return parse_type(field.bytes, value, 0);
    if (!field.is(4, WireType::bytes)) return {};
    std::string_view key, text;
    GS_TRY(each_field(field.bytes, [&](const Field& entry) -> Result<> {
      if (entry.is(1, WireType::bytes)) key = entry.text();
      if (entry.is(2, WireType::bytes)) text = entry.text();
      return {};
    }));
    if (key == kind_key) value.kind = text;
    if (key == folded_key) value.folded = true;
    return {};
  });
}

// A tensor, or an optional or a sequence of another type.
Result<> Parser::parse_type(Bytes bytes, ProtoValue& value, int depth) {
  return each_field(bytes, [&](const Field& type) -> Result<> {
    if (type.type != WireType::bytes) return {};
    if (type.number == 1) {
      value.is_tensor = true;
      return parse_tensor_type(type.bytes, value);
    }
    const bool optional = type.number == 9 && depth == 0;
    if (!optional && (type.number != 4 || value.is_sequence)) return {};
    (optional ? value.is_optional : value.is_sequence) = true;
    return each_field(type.bytes, [&](const Field& element) -> Result<> {
      if (!element.is(1, WireType::bytes)) return {};
      return parse_type(element.bytes, value, depth + 1);
    });
  });
}

Result<> Parser::parse_tensor_type(Bytes bytes, ProtoValue& value) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::varint)) value.element_type = static_cast<int>(field.scalar);
    if (!field.is(2, WireType::bytes)) return {};
    value.has_shape = true;
    return each_field(field.bytes, [&](const Field& dim) -> Result<> {
      return dim.is(1, WireType::bytes) ? add(value.dims, dim) : Result<>();
    });
  });
}

Result<> Parser::parse(Bytes bytes, ProtoDim& dim) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::varint)) dim.value = field.integer();
    if (field.is(2, WireType::bytes)) dim.param = field.text();
    return {};
  });
}

Result<> Parser::parse(Bytes bytes, ProtoOpset& opset) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::bytes)) opset.domain = field.text();
    if (field.is(2, WireType::varint)) opset.version = field.integer();
    return {};
  });
}

Result<> Parser::parse(Bytes bytes, ProtoFunction& function) {
  return each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.type != WireType::bytes) return {};
    switch (field.number) {
      case 1:
        function.name = field.text();
        return {};
      case 4:
        return add_text(function.inputs, field);
      case 5:
        return add_text(function.outputs, field);
      case 6:
        return add_text(function.attributes, field);
      case 7:
        return add(function.nodes, field);
      case 9:
        return add(function.opsets, field);
      case 10:
        function.domain = field.text();
        return {};
      case 11:
        return add(function.defaults, field);
      case 13:
        function.overload = field.text();
        return {};
      default:
        break;
    }
    return {};
  });
}

}  // namespace

std::string name_of_dim(const ProtoDim& dim, std::string_view input, size_t axis) {
  return dim.param.empty() ? cat(input, "_", axis) : std::string(dim.param);
}

Result<ProtoModel> parse_model(Bytes bytes) {
  if (const auto other = other_kind(bytes))
    return fail(cat("the file is ", other->what, ", not an ONNX model"), other->hint);
  ProtoModel model;
  GS_TRY(Parser().parse(bytes, model));
  if (model.graph) return model;
  return fail("the file has no graph: it is not an ONNX model, or truncated",
              "give the model, not its weights or test data; check that the file was copied "
              "completely");
}

// Both start with a name and the kind of what they hold (1 a tensor, 3 a sequence), and hold it in
// the fields that follow.
Result<ProtoItem> parse_sequence(Bytes bytes) {
  ProtoItem item;
  item.is_sequence = true;
  Parser parser;
  uint64_t kind = 0;
  GS_TRY(parser.each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::bytes)) item.name = field.text();
    if (field.is(2, WireType::varint)) kind = field.scalar;
    return field.is(3, WireType::bytes) ? parser.add(item.tensors, field) : Result<>();
  }));
  if (kind > 1) return fail("is a sequence of what is no tensor");
  return item;
}

Result<ProtoItem> parse_optional(Bytes bytes) {
  ProtoItem item;
  Parser parser;
  uint64_t kind = 0;
  GS_TRY(parser.each_field(bytes, [&](const Field& field) -> Result<> {
    if (field.is(1, WireType::bytes)) item.name = field.text();
    if (field.is(2, WireType::varint)) kind = field.scalar;
    if (field.is(3, WireType::bytes) && kind == 1) return parser.add(item.tensors, field);
    if (!field.is(5, WireType::bytes) || kind != 3) return {};
    const std::string_view name = item.name;
    GS_ASSIGN(item, parse_sequence(field.bytes));
    if (!name.empty()) item.name = name;
    return {};
  }));
  if (kind != 0 && kind != 1 && kind != 3) return fail("is an optional of what is no tensor");
  return item;
}

Result<ProtoTensor> parse_tensor(Bytes bytes) {
  ProtoTensor tensor;
  GS_TRY(Parser().parse(bytes, tensor));
  return tensor;
}

}  // namespace gossamer::onnx
