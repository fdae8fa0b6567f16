#include "codegen/text/writer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "codegen/text/functions.h"
#include "codegen/text/share_expressions.h"
#include "ir/build.h"

namespace gossamer::codegen::text {

using namespace ir;

namespace {

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Letters, digits and single underscores, starting with a letter.
std::string plain_name(std::string_view wish) {
  std::string name;
  for (char c : wish) {
    if (is_alnum(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  const bool letter = !name.empty() && (name[0] < '0' || name[0] > '9');
  return letter && !name.starts_with("gl_") ? name : "v" + name;
}

// Without the parentheses around the whole, where nothing stands beside it.
std::string bare(std::string text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

std::string float_text(double value) {
  char buffer[40];
  // Nine digits of the largest float are more than it.
  const bool largest = std::fabs(value) >= std::numeric_limits<float>::max();
  std::snprintf(buffer, sizeof buffer, largest ? "%.17g" : "%.9g", value);
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

std::string int_text(int64_t value) {
  if (value == std::numeric_limits<int32_t>::min()) return "(-2147483647 - 1)";
  const std::string text = std::to_string(value);
  return value < 0 ? "(" + text + ")" : text;
}

// Arguments of a call need no parentheses. WGSL takes `a < b, c >` for a list of a template: where
// something is greater, what is less keeps them.
void bare_arguments(std::vector<std::string>& arguments) {
  const auto greater = [](const std::string& argument) { return argument.contains(" >"); };
  const bool any = arguments.size() > 1 && std::ranges::any_of(arguments, greater);
  for (std::string& argument : arguments) {
    if (!any || !argument.contains(" < ")) argument = bare(std::move(argument));
  }
}

// Operands of an infix pattern keep their parentheses.
std::string apply(std::string_view pattern, std::vector<std::string> operands,
                  std::string_view type) {
  if (pattern[0] != '(') bare_arguments(operands);
  operands.resize(3);
  return fill(pattern, {{'0', operands[0]}, {'1', operands[1]}, {'2', operands[2]}, {'t', type}});
}

template <class Row, class Op>
const Row* find_row(std::span<const Row> rows, Op op, Type type) {
  const auto kind = static_cast<uint8_t>(1 << static_cast<int>(kind_of(type.dtype)));
  const uint8_t lanes = type.is_scalar() ? scalar : vector;
  for (const Row& row : rows) {
    if (row.op == op && (row.kinds & kind) && (row.lanes & lanes)) return &row;
  }
  return nullptr;
}

constexpr std::string_view components = "xyzw";

}  // namespace

Kind kind_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Kind::f32;
    case DType::i32:
    case DType::index:
      return Kind::i32;
    case DType::u32:
      return Kind::u32;
    case DType::boolean:
      return Kind::boolean;
    default:
      check_failed(__FILE_NAME__, __LINE__, "a legal type", std::string(name_of(dtype)));
  }
}

// Only WGSL has it.
std::string half_name(int lanes) { return lanes == 1 ? "f16" : cat("vec", lanes, "h"); }

std::string fill(std::string_view pattern,
                 std::initializer_list<std::pair<char, std::string_view>> values) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
      continue;
    }
    ++i;
    for (const auto& [mark, value] : values) {
      if (mark == pattern[i]) text += value;
    }
  }
  return text;
}

std::string Writer::name(const Node* node, std::string_view wish) {
  std::string& known = names_[node];
  if (known.empty()) {
    const std::string base = plain_name(wish);
    known = cat(base, "_", next_[base]++);
  }
  return known;
}
std::string Writer::name_of(const VarNode* var) { return name(var, var->name); }
std::string Writer::name_of(const BufferNode* buffer) { return name(buffer, buffer->name); }

std::string Writer::type_name(Type type) const {
  GS_CHECK(type.lanes <= 4, "vector of ", type.lanes, " lanes");
  const auto kind = static_cast<size_t>(kind_of(type.dtype));
  return std::string(dialect_.types[kind][static_cast<size_t>(type.lanes - 1)]);
}

std::string Writer::element_type(const BufferNode* buffer) const {
  const int width = places_.at(buffer).width;
  if (buffer->storage == DType::f16) return half_name(width);
  return type_name(Type(buffer->storage, width));
}

std::string Writer::constant(const Expr& e) {
  if (auto* imm = as<IntImm>(e)) {
    if (imm->type.dtype == DType::boolean) return imm->value ? "true" : "false";
    if (imm->type.dtype == DType::u32) return cat(static_cast<uint32_t>(imm->value), "u");
    return int_text(imm->value);
  }
  const double value = as<FloatImm>(e)->value;
  if (std::isnan(value)) return std::string(dialect_.nan);
  if (value == 0 && std::signbit(value)) return std::string(dialect_.negative_zero);
  if (std::isinf(value)) return cat(value < 0 ? "(-" : "(", dialect_.infinity, ")");
  return float_text(value);
}

std::string Writer::construct(Type type, const std::vector<Expr>& parts) {
  std::string list;
  std::vector<std::string> arguments;
  for (const Expr& part : parts) arguments.push_back(expr(part));
  bare_arguments(arguments);
  for (size_t i = 0; i < arguments.size(); ++i) list += (i ? ", " : "") + arguments[i];
  const bool logical = type.dtype == DType::boolean;
  return fill(logical ? dialect_.construct_boolean : dialect_.construct,
              {{'t', type_name(type)}, {'0', list}});
}

std::string Writer::cast(const std::string& value, Type from, Type to) const {
  const auto bit = [](Type type) { return 1 << static_cast<int>(kind_of(type.dtype)); };
  if (bit(from) == bit(to)) return value;
  const std::string type = type_name(to);
  for (const CastRow& row : dialect_.casts) {
    if ((row.from & bit(from)) && (row.to & bit(to)) &&
        (row.lanes & (to.is_scalar() ? scalar : vector)))
      return fill(row.pattern, {{'0', value}, {'t', type}});
  }
  return fill(dialect_.construct, {{'0', bare(value)}, {'t', type}});
}

// An operation that the dialect has no row for: a function.
template <class Op>
std::string Writer::call(Op op, Type type, std::vector<std::string> operands) {
  const auto function = define_function(op, type);
  GS_CHECK(function, ir::name_of(op), " of ", to_string(type), " cannot be written");
  if (defined_.insert(function->name).second) {
    define(function->name, function->params, function->body);
  }
  std::string text = function->name + "(";
  bare_arguments(operands);
  for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + operands[i];
  return text + ")";
}

void Writer::define(const std::string& name, const std::vector<Var>& params, const Expr& body) {
  std::string list;
  for (const Var& param : params) {
    alive_.push_back(param);
    set_name(param.get(), param->name);
    const std::string type = type_name(param->type);
    if (!list.empty()) list += ", ";
    list += fill(dialect_.parameter, {{'n', param->name}, {'t', type}});
  }
  const Buffer result = buffer("result", body->type.dtype, {}, ir::Scope::priv);
  Stmt s = share_expressions(ir::store(result, {}, body));
  std::string lines;
  while (auto* node = as<Let>(s)) {
    alive_.push_back(node->var);
    const std::string type = type_name(node->var->type), value = bare(expr(node->value));
    lines += "  " +
             fill(dialect_.let, {{'n', name_of(node->var.get())}, {'t', type}, {'e', value}}) +
             "\n";
    const Stmt rest = node->body;
    s = rest;
  }
  lines += "  return " + bare(expr(as<Store>(s)->value)) + ";\n";
  const std::string type = type_name(body->type);
  functions_ +=
      fill(dialect_.function, {{'n', name}, {'p', list}, {'t', type}}) + " {\n" + lines + "}\n";
}

std::string Writer::expr(const Expr& e) {
  const std::string type = type_name(e->type);
  if (auto* node = as<Unary>(e)) {
    const std::string a = expr(node->a);
    if (auto* row = find_row(dialect_.unary, node->op, node->a->type)) {
      return apply(row->pattern, {a}, type);
    }
    return call(node->op, node->a->type, {a});
  }
  if (auto* node = as<Binary>(e)) {
    const std::string a = expr(node->a), b = expr(node->b);
    if (auto* row = find_row(dialect_.binary, node->op, node->a->type)) {
      return apply(row->pattern, {a, b}, type);
    }
    return call(node->op, node->a->type, {a, b});
  }
  if (auto* node = as<Fma>(e)) {
    return apply(dialect_.fma, {expr(node->a), expr(node->b), expr(node->c)}, type);
  }
  if (auto* node = as<Dot>(e)) {
    return apply(dialect_.dot, {bare(expr(node->a)), bare(expr(node->b)), expr(node->c)}, type);
  }
  if (auto* node = as<Select>(e)) {
    auto* all = as<Broadcast>(node->condition);
    const bool whole = all && !dialect_.select_whole.empty();
    return apply(whole                 ? dialect_.select_whole
                 : e->type.is_scalar() ? dialect_.select_scalar
                                       : dialect_.select_vector,
                 {expr(whole ? all->a : node->condition), expr(node->yes), expr(node->no)}, type);
  }
  if (auto* node = as<Cast>(e)) {
    return cast(expr(node->a), node->a->type, e->type);
  }
  if (auto* node = as<Bitcast>(e)) {
    const int from = 1 << static_cast<int>(kind_of(node->a->type.dtype)),
              to = 1 << static_cast<int>(kind_of(e->type.dtype));
    for (const BitcastRow& row : dialect_.bitcasts) {
      if ((row.from & from) && (row.to & to)) {
        return fill(row.pattern, {{'0', bare(expr(node->a))}, {'t', type}});
      }
    }
    check_failed(__FILE_NAME__, __LINE__, "a bit cast that the dialect has", type);
  }
  if (auto* node = as<Load>(e)) return load(*node);
  if (auto* node = as<Ramp>(e)) {
    std::vector<Expr> steps;
    for (int i = 0; i < e->type.lanes; ++i) {
      steps.push_back(constant_int(node->base->type, node->stride * i));
    }
    if (is_const(node->base, 0)) return construct(e->type, steps);
    return cat("(", construct(e->type, {node->base}), " + ", construct(e->type, steps), ")");
  }
  if (auto* node = as<Broadcast>(e)) return construct(e->type, {node->a});
  if (auto* node = as<MakeVector>(e)) return construct(e->type, node->lanes);
  if (auto* node = as<Lane>(e)) {
    const std::string vector_text = expr(node->a);
    if (auto known = as_int(node->lane)) {
      return cat(vector_text, ".", components.substr(static_cast<size_t>(*known), 1));
    }
    return fill(dialect_.lane, {{'0', vector_text}, {'1', bare(expr(node->lane))}, {'t', type}});
  }
  if (auto* node = as<VarNode>(e)) return name_of(node);
  return constant(e);
}

std::string Writer::access(const BufferNode* buffer, const std::vector<Expr>& indices) {
  std::string text = name_of(buffer);
  if (places_.at(buffer).registers) {
    text += cat("_", *as_int(indices[0]));
  } else {
    text += "[" + bare(expr(indices[0])) + "]";
  }
  if (indices.size() == 1) return text;
  if (auto known = as_int(indices[1])) {
    return cat(text, ".", components.substr(static_cast<size_t>(*known), 1));
  }
  return fill(dialect_.lane_written,
              {{'0', text}, {'1', bare(expr(indices[1]))}, {'t', type_name(buffer->dtype)}});
}

std::string Writer::load(const Load& node) {
  const BufferNode* buffer = node.buffer.get();
  if (buffer->layout.memory == Memory::linear) {
    const std::string text = access(buffer, node.indices);
    return buffer->storage == DType::f16 ? cat(type_name(node.type), "(", text, ")") : text;
  }
  const std::string name = name_of(buffer), x = bare(expr(node.indices[0])),
                    y = bare(expr(node.indices[1]));
  if (buffer->layout.layers == 1) {
    return fill(dialect_.fetch, {{'n', name}, {'0', x}, {'1', y}});
  }
  const std::string layer = bare(expr(node.indices[2]));
  return fill(dialect_.fetch_layer, {{'n', name}, {'0', x}, {'1', y}, {'2', layer}});
}

std::string Writer::store(const Store& node) {
  std::string value = bare(expr(node.value));
  if (node.buffer->layout.memory == Memory::linear) {
    if (node.buffer->storage == DType::f16)
      value = cat(half_name(node.value->type.lanes), "(", value, ")");
    return cat(access(node.buffer.get(), node.indices), " = ", value, ";");
  }
  const auto layer = as_int(node.indices[2]);
  GS_CHECK(layer, "layer of a store to ", node.buffer->name, " is not constant");
  return fill(dialect_.write_layer, {{'0', std::to_string(*layer)}, {'e', value}});
}

std::string Writer::declare(const BufferNode* buffer, int indent) {
  const Place& place = places_.at(buffer);
  const std::string type = element_type(buffer), name = name_of(buffer);
  const std::string margin(static_cast<size_t>(indent), ' ');
  if (!place.registers) {
    const std::string count = std::to_string(place.elements);
    return margin + fill(dialect_.array, {{'n', name}, {'t', type}, {'c', count}}) + "\n";
  }
  std::string lines;
  for (int64_t i = 0; i < place.elements; ++i) {
    lines += margin + fill(dialect_.variable, {{'n', cat(name, "_", i)}, {'t', type}}) + "\n";
  }
  return lines;
}

std::string Writer::statements(const Stmt& top, int indent) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string lines;
  Stmt s = top;
  for (;;) {  // along chains of Lets and Allocs
    if (auto* node = as<Let>(s)) {
      const std::string type = type_name(node->var->type), value = bare(expr(node->value));
      const std::string name = name_of(node->var.get());
      lines += margin + fill(dialect_.let, {{'n', name}, {'t', type}, {'e', value}}) + "\n";
      const Stmt body = node->body;
      s = body;
    } else if (auto* node = as<Alloc>(s)) {
      lines += declare(node->buffer.get(), indent);
      const Stmt body = node->body;
      s = body;
    } else {
      break;
    }
  }
  if (auto* node = as<Block>(s)) {
    for (const Stmt& inner : node->stmts) lines += statements(inner, indent);
  } else if (auto* node = as<For>(s)) {
    const std::string name = name_of(node->var.get()), extent = expr(node->extent);
    lines += margin + fill(dialect_.loop, {{'n', name}, {'e', extent}}) + " {\n" +
             statements(node->body, indent + 2) + margin + "}\n";
  } else if (auto* node = as<While>(s)) {
    lines += margin + "while (" + bare(expr(node->condition)) + ") {\n" +
             statements(node->body, indent + 2) + margin + "}\n";
  } else if (auto* node = as<If>(s)) {
    lines += margin + "if (" + bare(expr(node->condition)) + ") {\n" +
             statements(node->yes, indent + 2) + margin + "}";
    if (node->no) lines += " else {\n" + statements(node->no, indent + 2) + margin + "}";
    lines += "\n";
  } else if (auto* node = as<Store>(s)) {
    lines += margin + store(*node) + "\n";
  } else if (as<Barrier>(s)) {
    lines += margin + std::string(dialect_.barrier) + "\n";
  } else {
    check_failed(__FILE_NAME__, __LINE__, "a statement of a shader", "");
  }
  return lines;
}

}  // namespace gossamer::codegen::text
