#include <cerrno>
#include <cstdlib>
#include <limits>

#include "ir/parse.h"
#include "ir/parser.h"
#include "ir/scalar.h"
#include "ir/text.h"

namespace gossamer::ir::text {
namespace {

const std::unordered_map<std::string_view, UnaryOp>& unary_functions() {
  static const std::unordered_map<std::string_view, UnaryOp> map{
#define GS_UNARY(name, spelling) {#name, UnaryOp::name},
#define GS_BINARY(name, spelling, kind)
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
  };
  return map;
}

const std::unordered_map<std::string_view, BinaryOp>& infix_operators() {
  static const std::unordered_map<std::string_view, BinaryOp> map{
#define GS_UNARY(name, spelling)
#define GS_BINARY(name, spelling, kind) {spelling, BinaryOp::name},
#include "ir/ops.def"
#undef GS_UNARY
#undef GS_BINARY
  };
  return map;
}

bool all_digits(std::string_view s) {
  return !s.empty() && s.size() <= 5 && s.find_first_not_of("0123456789") == std::string_view::npos;
}

// Nodes exactly as written: the builders would fold constants.
template <class T>
T* node(Type type) {
  return new T(type);
}

}  // namespace

std::unexpected<Diagnostic> Parser::error(std::string message) const {
  return fail(cat("line ", peek().line, ": ", message));
}

bool Parser::at(std::string_view text, size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == Token::Kind::word || token.kind == Token::Kind::symbol) &&
         token.text == text;
}

bool Parser::accept(std::string_view text) {
  if (!at(text)) return false;
  ++at_;
  return true;
}

Result<> Parser::expect(std::string_view text) {
  if (accept(text)) return {};
  return error(cat("expected '", text, "', found '", peek().text, "'"));
}

Result<std::string> Parser::name(std::string_view what) {
  if (peek().kind != Token::Kind::word) {
    return error(cat("expected ", what, ", found '", peek().text, "'"));
  }
  return tokens_[at_++].text;
}

Result<int64_t> Parser::integer(std::string_view what) {
  const bool negative = accept("-");
  const Token& token = peek();
  if (token.kind != Token::Kind::number || token.text.find_first_of(".e") != std::string::npos ||
      !token.suffix.empty()) {
    return error(cat("expected ", what, ", found '", token.text, "'"));
  }
  errno = 0;
  const long long value = std::strtoll(((negative ? "-" : "") + token.text).c_str(), nullptr, 10);
  if (errno != 0) return error(cat(what, " ", token.text, " is too large"));
  ++at_;
  return value;
}

bool Parser::type_named(std::string_view word, Type* type) {
  if (auto dtype = dtype_named(word)) {
    *type = *dtype;
    return true;
  }
  const size_t x = word.rfind('x');
  if (x == std::string_view::npos || !all_digits(word.substr(x + 1))) return false;
  auto dtype = dtype_named(word.substr(0, x));
  const int lanes = std::atoi(std::string(word.substr(x + 1)).c_str());
  if (!dtype || lanes < 2 || lanes > 65535) return false;
  *type = Type(*dtype, lanes);
  return true;
}

Result<Type> Parser::type() {
  GS_ASSIGN(std::string word, name("a type"));
  Type result;
  if (!type_named(word, &result)) return error(cat("unknown type '", word, "'"));
  return result;
}

Result<Expr> Parser::combined(BinaryOp op, Expr a, Expr b) {
  const Type type = a->type;
  if (type != b->type) {
    return error(cat("'", spelling_of(op), "' of ", to_string(type), " and ", to_string(b->type)));
  }
  const bool is_boolean = type.dtype == DType::boolean;
  if (is_logical(op) ? !is_boolean
                     : !is_comparison(op) && (is_boolean || type.dtype == DType::string)) {
    return error(cat("'", spelling_of(op), "' of ", to_string(type)));
  }
  if (is_bitwise(op) && !is_int(type.dtype)) {
    return error(cat("'", spelling_of(op), "' of ", to_string(type)));
  }
  auto* made = node<Binary>(is_comparison(op) ? type.with_dtype(DType::boolean) : type);
  made->op = op;
  made->a = std::move(a);
  made->b = std::move(b);
  return Expr(made);
}

Result<Expr> Parser::applied(UnaryOp op, Expr a) {
  const Type type = a->type;
  const bool fits = op == UnaryOp::logical_not ? type.dtype == DType::boolean
                    : op == UnaryOp::bit_not   ? is_int(type.dtype)
                                               : is_int(type.dtype) || is_float(type.dtype);
  if (!fits) return error(cat(name_of(op), " of ", to_string(type)));
  auto* made = node<Unary>(gives_boolean(op) ? type.with_dtype(DType::boolean) : type);
  made->op = op;
  made->a = std::move(a);
  return Expr(made);
}

Result<Expr> Parser::expr(int strength) {
  if (++depth_ > deepest_nesting) return error("nested too deeply");
  GS_ASSIGN(Expr left, unary_operand());
  while (peek().kind == Token::Kind::symbol) {
    auto found = infix_operators().find(peek().text);
    if (found == infix_operators().end()) break;
    const int own = precedence(found->second);
    if (own == 0 || own < strength) break;
    ++at_;
    GS_ASSIGN(Expr right, expr(own + 1));
    GS_ASSIGN(left, combined(found->second, std::move(left), std::move(right)));
    if (is_comparison(found->second) && peek().kind == Token::Kind::symbol) {
      auto next = infix_operators().find(peek().text);
      if (next != infix_operators().end() && is_comparison(next->second)) {
        return error("comparisons do not chain");
      }
    }
  }
  --depth_;
  return left;
}

Result<Expr> Parser::unary_operand() {
  if (peek().kind != Token::Kind::symbol) return operand();
  if (at("-")) {
    ++at_;
    const bool number = peek().kind == Token::Kind::number || peek().text.ends_with(".inf");
    if (number) return literal(true);
    GS_ASSIGN(Expr a, expr(unary_precedence));
    return applied(UnaryOp::neg, std::move(a));
  }
  if (at("!") || at("~")) {
    const UnaryOp op = accept("!") ? UnaryOp::logical_not : (++at_, UnaryOp::bit_not);
    GS_ASSIGN(Expr a, expr(unary_precedence));
    return applied(op, std::move(a));
  }
  return operand();
}

Result<Expr> Parser::literal(bool negative) {
  const Token token = peek();
  ++at_;
  const bool special = token.kind == Token::Kind::word;
  const bool fraction = special || token.text.find_first_of(".e") != std::string::npos;
  DType dtype = fraction ? DType::f32 : DType::index;
  const std::string type_text =
      special ? token.text.substr(0, token.text.rfind('.')) : token.suffix;
  if (!type_text.empty()) {
    auto named = dtype_named(type_text);
    if (!named || is_float(*named) != fraction) {
      return error(cat("'", token.text, token.suffix, "' is no number"));
    }
    dtype = *named;
  }
  if (fraction) {
    double value;
    if (special) {
      value = token.text.ends_with(".inf") ? std::numeric_limits<double>::infinity()
                                           : std::numeric_limits<double>::quiet_NaN();
    } else {
      value = std::strtod(token.text.c_str(), nullptr);
    }
    auto* made = node<FloatImm>(dtype);
    made->value = round_to(dtype, negative ? -value : value);
    return Expr(made);
  }
  errno = 0;
  const unsigned long long magnitude = std::strtoull(token.text.c_str(), nullptr, 10);
  if (errno != 0) return error(cat(token.text, " is too large"));
  const int64_t value = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  auto* made = node<IntImm>(dtype);
  made->value = value;
  Expr result(made);
  const bool sign_lost = dtype != DType::u64 && magnitude != 0 && (value < 0) != negative;
  if (sign_lost || Scalar::of_int(dtype, value).i != value) {
    return error(cat(negative ? "-" : "", token.text, " does not fit ", name_of(dtype)));
  }
  return result;
}

Result<Expr> Parser::operand() {
  const Token& token = peek();
  if (token.kind == Token::Kind::number) return literal(false);
  if (accept("(")) {
    GS_ASSIGN(Expr inner, expr());
    GS_TRY(expect(")"));
    return inner;
  }
  if (token.kind != Token::Kind::word) {
    return error(cat("expected an expression, found '", token.text, "'"));
  }
  if (token.text == "true" || token.text == "false") {
    auto* made = node<IntImm>(DType::boolean);
    made->value = token.text == "true";
    ++at_;
    return Expr(made);
  }
  if (token.text.ends_with(".inf") || token.text.ends_with(".nan")) return literal(false);
  const std::string word = token.text;
  if (at("(", 1) || (word == "bitcast" && at("<", 1))) {
    ++at_;
    return call(word);
  }
  if (at("[", 1)) {
    auto known = buffers_.find(word);
    if (known == buffers_.end() || known->second.empty()) {
      return error(cat("unknown buffer '", word, "'"));
    }
    ++at_;
    return load(known->second.back());
  }
  auto known = vars_.find(word);
  if (known == vars_.end() || known->second.empty()) {
    return error(cat("unknown variable '", word, "'"));
  }
  ++at_;
  return Expr(known->second.back());
}

Result<std::vector<Expr>> Parser::expr_list(std::string_view close) {
  std::vector<Expr> exprs;
  while (!at(close)) {
    if (!exprs.empty()) GS_TRY(expect(","));
    GS_ASSIGN(Expr one, expr());
    exprs.push_back(std::move(one));
  }
  ++at_;
  return exprs;
}

Result<std::vector<Expr>> Parser::index_list() {
  GS_TRY(expect("["));
  GS_ASSIGN(std::vector<Expr> indices, expr_list("]"));
  for (const Expr& i : indices) {
    if (i->type.dtype != DType::index) {
      return error(cat("an index of type ", to_string(i->type)));
    }
  }
  return indices;
}

Result<Expr> Parser::load(const Buffer& buffer) {
  GS_ASSIGN(std::vector<Expr> indices, index_list());
  int lanes = 1;
  for (const Expr& i : indices) lanes = std::max<int>(lanes, i->type.lanes);
  Type type(buffer->dtype, lanes);
  if (accept(":")) {
    GS_ASSIGN(type, this->type());
  }
  auto* made = node<Load>(type);
  made->buffer = buffer;
  made->indices = std::move(indices);
  return Expr(made);
}

Result<Expr> Parser::call(const std::string& function) {
  if (function == "bitcast") {
    GS_TRY(expect("<"));
    GS_ASSIGN(Type to, type());
    GS_TRY(expect(">"));
    GS_TRY(expect("("));
    GS_ASSIGN(Expr a, expr());
    GS_TRY(expect(")"));
    if (byte_size(to.dtype) * to.lanes != byte_size(a->type.dtype) * a->type.lanes) {
      return error(cat("bitcast of ", to_string(a->type), " to ", to_string(to)));
    }
    auto* made = node<Bitcast>(to);
    made->a = std::move(a);
    return Expr(made);
  }
  GS_TRY(expect("("));
  if (function == "ramp") {
    GS_ASSIGN(Expr base, expr());
    GS_TRY(expect(","));
    GS_ASSIGN(int64_t stride, integer("a stride"));
    GS_TRY(expect(","));
    GS_ASSIGN(int64_t lanes, integer("a number of lanes"));
    GS_TRY(expect(")"));
    if (!base->type.is_scalar() || !is_int(base->type.dtype) || lanes < 1 || lanes > 65535) {
      return error(cat("ramp of ", to_string(base->type), " with ", lanes, " lanes"));
    }
    auto* made = node<Ramp>(base->type.with_lanes(static_cast<int>(lanes)));
    made->base = std::move(base);
    made->stride = stride;
    return Expr(made);
  }
  GS_ASSIGN(std::vector<Expr> args, expr_list(")"));
  auto takes = [&](size_t count) -> Result<> {
    if (args.size() == count) return {};
    return error(cat(function, " takes ", count, " operands, not ", args.size()));
  };
  auto same_types = [&](size_t first) {
    for (size_t i = first; i < args.size(); ++i) {
      if (args[i]->type != args[first]->type) return false;
    }
    return true;
  };
  if (auto unary = unary_functions().find(function); unary != unary_functions().end()) {
    GS_TRY(takes(1));
    return applied(unary->second, args[0]);
  }
  if (auto binary = infix_operators().find(function); binary != infix_operators().end()) {
    GS_TRY(takes(2));
    return combined(binary->second, args[0], args[1]);
  }
  if (function == "fma") {
    GS_TRY(takes(3));
    if (!same_types(0)) return error("fma of different types");
    auto* made = node<Fma>(args[0]->type);
    made->a = args[0];
    made->b = args[1];
    made->c = args[2];
    return Expr(made);
  }
  if (function == "dot2" || function == "dot4") {
    GS_TRY(takes(3));
    const int64_t terms = function == "dot2" ? 2 : 4;
    if (!is_dot(args[0]->type, args[1]->type, args[2]->type, terms))
      return error(cat(function, " of ", to_string(args[0]->type), ", ", to_string(args[1]->type),
                       ", ", to_string(args[2]->type)));
    auto* made = node<Dot>(args[2]->type);
    made->a = args[0];
    made->b = args[1];
    made->c = args[2];
    made->terms = terms;
    return Expr(made);
  }
  if (function == "select") {
    GS_TRY(takes(3));
    if (args[0]->type != args[1]->type.with_dtype(DType::boolean) || !same_types(1)) {
      return error(cat("select of ", to_string(args[0]->type), ", ", to_string(args[1]->type), ", ",
                       to_string(args[2]->type)));
    }
    auto* made = node<Select>(args[1]->type);
    made->condition = args[0];
    made->yes = args[1];
    made->no = args[2];
    return Expr(made);
  }
  if (function == "lane") {
    GS_TRY(takes(2));
    if (args[1]->type != Type(DType::index)) return error("a lane number is a scalar index");
    auto* made = node<Lane>(args[0]->type.with_lanes(1));
    made->a = args[0];
    made->lane = args[1];
    return Expr(made);
  }
  if (function == "vec") {
    if (args.empty() || !same_types(0) || !args[0]->type.is_scalar()) {
      return error("vec takes scalars of one type");
    }
    auto* made = node<MakeVector>(args[0]->type.with_lanes(static_cast<int>(args.size())));
    made->lanes = std::move(args);
    return Expr(made);
  }
  if (Type to; type_named(function, &to)) {
    GS_TRY(takes(1));
    if (args[0]->type.lanes != to.lanes) {
      return error(cat("cast of ", to_string(args[0]->type), " to ", to_string(to)));
    }
    auto* made = node<Cast>(to);
    made->a = args[0];
    return Expr(made);
  }
  if (function[0] == 'x' && all_digits(std::string_view(function).substr(1))) {
    GS_TRY(takes(1));
    const int lanes = std::atoi(function.c_str() + 1);
    if (!args[0]->type.is_scalar() || lanes < 1 || lanes > 65535) {
      return error(cat(function, " of ", to_string(args[0]->type)));
    }
    auto* made = node<Broadcast>(args[0]->type.with_lanes(lanes));
    made->a = args[0];
    return Expr(made);
  }
  return error(cat("unknown function '", function, "'"));
}

}  // namespace gossamer::ir::text

namespace gossamer::ir {

Result<Expr> parse_expr(std::string_view source, const std::vector<Var>& vars,
                        const std::vector<Buffer>& buffers) {
  GS_ASSIGN(std::vector<text::Token> tokens, text::lex(source));
  text::Parser parser(std::move(tokens));
  for (const Var& v : vars) parser.declare(v);
  for (const Buffer& b : buffers) parser.declare(b);
  GS_ASSIGN(Expr result, parser.expr());
  if (!parser.at_end()) return parser.error("text after the expression");
  return result;
}

}  // namespace gossamer::ir
