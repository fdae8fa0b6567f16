#include "ops/builder.h"

#include <cmath>

#include "ir/print.h"
#include "ir/rewrite.h"

namespace gossamer::ops {
namespace {

std::string types_text(TypeSet types) {
  std::string text;
  for (unsigned i = 0; i < static_cast<unsigned>(DType::index); ++i) {
    if (types & (1u << i))
      text += cat(text.empty() ? "" : ", ", ir::name_of(static_cast<DType>(i)));
  }
  return text;
}

const AttributeDef* find_attribute(const OpDef& def, std::string_view name) {
  for (const AttributeDef& attribute : def.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

// A definition reads its inputs as their ranks should be. Where a model's are others, the first
// misfit is kept here while `define` runs, and becomes its error.
thread_local std::string* misfit = nullptr;
void note_misfit(std::string message) {
  GS_CHECK(misfit, message);
  if (misfit->empty()) *misfit = std::move(message);
}

}  // namespace

const Expr& Tensor::dim(int axis) const {
  if (axis < 0) axis += rank();
  if (axis >= 0 && axis < rank()) return buffer->shape[static_cast<size_t>(axis)];
  note_misfit(cat(buffer->name, " has rank ", rank(), ", it needs an axis ", axis));
  // Never destroyed: destructors of thread-local objects do not link for wasm.
  static thread_local const Expr* const one = new Expr(ir::index(1));
  return *one;
}
Expr Tensor::at(Point point) const {
  if (static_cast<int>(point.size()) == rank()) {
    return ir::load(buffer, {point.begin(), point.end()});
  }
  note_misfit(cat(buffer->name, " has rank ", rank(), ", it should have ", point.size()));
  return ir::zero(dtype());
}
Expr Tensor::operator()(std::initializer_list<Expr> point) const {
  return at(Point(point.begin(), point.size()));
}

Item Item::sequence(std::vector<Tensor> elements) {
  Item item;
  item.kind = Kind::sequence;
  item.elements = std::move(elements);
  return item;
}
Item Item::packed_sequence(Packed packed) {
  Item item;
  item.kind = Kind::sequence;
  item.packed = std::move(packed);
  return item;
}
std::vector<Tensor*> Item::tensors() {
  std::vector<Tensor*> all;
  if (tensor) all.push_back(&tensor);
  for (Tensor& element : elements) all.push_back(&element);
  if (packed) all.push_back(&packed->data);
  if (packed && packed->sizes) all.push_back(&packed->sizes);
  return all;
}
Item Item::nothing() {
  Item item;
  item.kind = Kind::nothing;
  return item;
}

Builder::Builder(const OpDef& def, std::string node_name, const std::vector<Tensor>& inputs,
                 Attributes attributes, int output_count)
    : Builder(def, std::move(node_name), std::vector<Item>(inputs.begin(), inputs.end()),
              std::move(attributes), output_count) {}

Builder::Builder(const OpDef& def, std::string node_name, std::vector<Item> inputs,
                 Attributes attributes, int output_count)
    : def_(def),
      node_name_(std::move(node_name)),
      inputs_(std::move(inputs)),
      attributes_(std::move(attributes)),
      output_count_(output_count) {
  outputs.resize(static_cast<size_t>(output_count));
  for (Item& item : inputs_) {
    for (const Tensor* tensor : item.tensors()) know(*tensor);
  }
}

Result<> Builder::define() {
  GS_TRY(check_inputs());
  GS_TRY(check_attributes());
  std::string found;
  std::string* outer = std::exchange(misfit, &found);
  Result<> status = def_.define(*this);
  misfit = outer;
  if (!found.empty()) return error(std::move(found));
  GS_TRY(status);
  GS_TRY(reads_);
  for (int i = 0; i < output_count_; ++i) {
    if (!outputs[static_cast<size_t>(i)] && !items.contains(i)) {
      if (i == 0) return error("makes no output");
      return error(cat("output ", i, " is not supported"), "use only the first outputs");
    }
  }
  return {};
}

Result<> Builder::check_inputs() const {
  const std::vector<InputDef>& known = def_.inputs;
  bool variadic = !known.empty() && known.back().arity == InputDef::variadic;
  if (inputs_.size() > known.size() && !variadic) {
    return error(cat("has ", inputs_.size(), " inputs, at most ", known.size(), " are known"));
  }
  for (size_t i = 0; i < known.size(); ++i) {
    // An optional that holds nothing stands for an absent input.
    bool absent = i >= inputs_.size() || !inputs_[i] ||
                  (inputs_[i].kind == Item::Kind::nothing && known[i].form != InputDef::any);
    if (absent && known[i].arity != InputDef::optional) {
      return error(cat("input ", i, " (", known[i].name, ") is missing"));
    }
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const InputDef& input = known[std::min(i, known.size() - 1)];
    const Item& item = inputs_[i];
    if (item.is_sequence() && input.form == InputDef::tensor)
      return error(cat("input ", input.name, " is a sequence; it takes a tensor"));
    if (item.tensor && input.form == InputDef::sequence)
      return error(cat("input ", input.name, " is a tensor; it takes a sequence"));
    const auto check = [&](const Tensor& tensor) -> Result<> {
      if (input.types & only(tensor.dtype())) return {};
      return error(cat("input ", input.name, " has type ", ir::name_of(tensor.dtype()),
                       "; it takes ", types_text(input.types)));
    };
    if (item.tensor) GS_TRY(check(item.tensor));
    for (const Tensor& element : item.elements) GS_TRY(check(element));
    if (item.packed) GS_TRY(check(item.packed->data));
  }
  return {};
}

Result<> Builder::check_attributes() const {
  for (const auto& [name, value] : attributes_) {
    const AttributeDef* known = find_attribute(def_, name);
    if (!known) return error(cat("attribute `", name, "` is unknown in version ", def_.since));
    const Attribute& fallback = known->fallback;
    if (std::holds_alternative<std::monostate>(fallback)) continue;
    bool whole_for_number =
        std::holds_alternative<double>(fallback) && std::holds_alternative<int64_t>(value);
    if (fallback.index() != value.index() && !whole_for_number) {
      return error(cat("attribute `", name, "` has another type than expected"));
    }
  }
  for (const AttributeDef& known : def_.attributes) {
    if (known.needed && !attributes_.contains(known.name)) {
      return error(cat("attribute `", known.name, "` is missing"));
    }
  }
  return {};
}

void Builder::know(const Tensor& tensor) {
  if (tensor && tensor.host) known_[tensor.buffer.get()] = *tensor.host;
  if (tensor && tensor.bytes) strings_[tensor.buffer.get()] = {tensor.bytes, tensor.lengths};
}

int Builder::input_count() const { return static_cast<int>(inputs_.size()); }
const Tensor& Builder::input(int i) const { return item(i).tensor; }
const Item& Builder::item(int i) const {
  static const Item absent;
  return i >= 0 && i < input_count() ? inputs_[static_cast<size_t>(i)] : absent;
}
bool Builder::has(int i) const { return static_cast<bool>(input(i)); }
int Builder::output_count() const { return output_count_; }
bool Builder::wants(int output) const { return output < output_count_; }

Result<std::vector<Expr>> Builder::host(int i) const {
  const Tensor& tensor = input(i);
  size_t known = std::min(static_cast<size_t>(i), def_.inputs.size() - 1);
  if (!tensor) return error(cat("input `", def_.inputs[known].name, "` is missing"));
  if (!tensor.host) {
    return error(cat("`", def_.inputs[known].name, "` must be known when compiling"),
                 "make it a constant, or compute it from shapes");
  }
  return *tensor.host;
}

Result<std::vector<int64_t>> Builder::host_ints(int i) const {
  GS_ASSIGN(std::vector<Expr> elements, host(i));
  std::vector<int64_t> numbers;
  for (const Expr& element : elements) {
    auto known = ir::as_int(simplify(element));
    if (!known) {
      return error(cat("`", def_.inputs[static_cast<size_t>(i)].name,
                       "` must be a constant, it is ", ir::print(element)));
    }
    numbers.push_back(*known);
  }
  return numbers;
}

Attribute Builder::attribute(std::string_view name) const {
  auto found = attributes_.find(name);
  if (found != attributes_.end()) return found->second;
  const AttributeDef* known = find_attribute(def_, name);
  GS_CHECK(known, def_.name, " declares no attribute ", name);
  return known->fallback;
}
std::optional<Attribute> Builder::given(std::string_view name) const {
  auto found = attributes_.find(name);
  if (found == attributes_.end()) return std::nullopt;
  return found->second;
}
bool Builder::has_attribute(std::string_view name) const {
  return !std::holds_alternative<std::monostate>(attribute(name));
}
int64_t Builder::integer(std::string_view name) const {
  Attribute value = attribute(name);
  const auto* number = std::get_if<int64_t>(&value);
  return number ? *number : 0;
}
double Builder::number(std::string_view name) const {
  Attribute value = attribute(name);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  return 0;
}
std::string Builder::text(std::string_view name) const {
  Attribute value = attribute(name);
  const auto* text = std::get_if<std::string>(&value);
  return text ? *text : std::string();
}
std::vector<int64_t> Builder::integers(std::string_view name) const {
  Attribute value = attribute(name);
  const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
  return numbers ? *numbers : std::vector<int64_t>();
}
std::vector<double> Builder::numbers(std::string_view name) const {
  Attribute value = attribute(name);
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  return numbers ? *numbers : std::vector<double>();
}
std::vector<std::string> Builder::texts(std::string_view name) const {
  Attribute value = attribute(name);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  return texts ? *texts : std::vector<std::string>();
}
const TensorData* Builder::tensor(std::string_view name) const {
  auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : std::get_if<TensorData>(&found->second);
}
Result<int> Builder::axis(std::string_view name, int rank) const {
  int64_t axis = integer(name);
  if (axis < -rank || axis >= rank) {
    return error(cat("`", name, "` ", axis, " is out of range for rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void Builder::output(int i, Tensor tensor) {
  if (wants(i)) outputs[static_cast<size_t>(i)] = std::move(tensor);
}
void Builder::output_item(int i, Item item) {
  if (item.tensor) return output(i, std::move(item.tensor));
  if (wants(i)) items[i] = std::move(item);
}

std::unexpected<Diagnostic> Builder::error(std::string message, std::string hint) const {
  return fail_at(cat("[", def_.name, "] \"", node_name_, "\""), std::move(message),
                 std::move(hint));
}

Result<> Builder::require(Expr condition, std::string message) {
  condition = simplify(condition);
  if (auto known = ir::as_int(condition)) {
    if (*known) return {};
    return error(std::move(message));
  }
  for (const Check& check : checks) {
    if (ir::equal(check.condition, condition)) return {};
  }
  checks.push_back(
      {std::move(condition), cat("[", def_.name, "] \"", node_name_, "\": ", message)});
  return {};
}

Expr Builder::simplify(const Expr& expr) const { return ir::simplify(expr, bounds); }
bool Builder::same(const Expr& a, const Expr& b) const { return ir::prove_equal(a, b, bounds); }

// An extent that a run decides, rather than a dimension of an input or a sum of some: it may well
// turn out to be 1.
bool Builder::decided_late(const Expr& extent) const {
  bool late = false;
  ir::visit(extent, [&](const Expr& e) {
    const auto* binary = ir::as<ir::Binary>(e);
    const auto* select = ir::as<ir::Select>(e);
    // An extent that two dimensions were broadcast to is like one.
    const bool chosen = select && !ir::equal(select->condition, select->no == 1.0);
    late = late || chosen || e->kind == ir::NodeKind::Cast ||
           (binary && (binary->op == ir::BinaryOp::min || binary->op == ir::BinaryOp::max));
    return !late;
  });
  return late;
}

namespace {

// Whether `wide` is an extent that `narrow` was broadcast to.
bool covers(const Expr& wide, const Expr& narrow) {
  const auto* select = ir::as<ir::Select>(wide);
  return select && (ir::equal(select->yes, narrow) || ir::equal(select->no, narrow)) &&
         (ir::equal(select->condition, select->no == 1.0));
}

}  // namespace

Result<Expr> Builder::broadcast_extent(const Expr& x, const Expr& y, const std::string& message) {
  if (ir::is_const(y, 1) || same(x, y) || covers(x, y)) return x;
  if (ir::is_const(x, 1) || covers(y, x)) return y;
  // Neither has more than one element.
  if (bounds.of(x).high <= 1 && bounds.of(y).high <= 1) return simplify(ir::min(x, y));
  if (decided_late(x) != decided_late(y)) {
    // The other side's extent is a dimension of an input, which the late one has or is 1.
    const Expr& late = decided_late(x) ? x : y;
    const Expr& known = decided_late(x) ? y : x;
    GS_TRY(require(late == known || late == 1.0, message));
    return known;
  }
  const auto known_x = ir::as_int(x), known_y = ir::as_int(y);
  if (known_x && known_y) return error(message);
  GS_TRY(require(known_x   ? x == y || y == 1.0
                 : known_y ? x == y || x == 1.0
                           : x == y || x == 1.0 || y == 1.0,
                 message));
  if (known_x) return x;
  if (known_y) return y;
  return named("broadcast", simplify(ir::select(x == 1.0, y, x)));
}

Result<Shape> Builder::broadcast(const Shape& a, const Shape& b) {
  auto text = [](const Shape& shape) {
    std::string list;
    for (const Expr& dim : shape) list += cat(list.empty() ? "" : ", ", ir::print(dim));
    return "[" + list + "]";
  };
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const std::string message = cat("shapes ", text(a), " and ", text(b), " do not broadcast");
  Shape shape = longer;
  size_t shift = longer.size() - shorter.size();
  for (size_t i = shift; i < longer.size(); ++i) {
    GS_ASSIGN(shape[i], broadcast_extent(longer[i], shorter[i - shift], message));
  }
  return shape;
}

Result<Shape> Builder::broadcast(std::span<const Tensor> tensors) {
  Shape shape;
  for (const Tensor& tensor : tensors) {
    if (!tensor) continue;
    GS_ASSIGN(shape, broadcast(shape, tensor.shape()));
  }
  return shape;
}

Expr Builder::broadcast_place(const Expr& extent, const Expr& at) const {
  if (ir::is_const(extent, 1)) return ir::index(0);
  if (ir::as_int(extent)) return at;
  const auto* axis = ir::as<ir::VarNode>(at);
  const auto whole = axis ? extent_of_axis_.find(axis) : extent_of_axis_.end();
  const bool known = whole != extent_of_axis_.end();
  const bool may_be_one = known ? !same(whole->second, extent) : decided_late(extent);
  return may_be_one ? ir::select(extent == 1.0, ir::index(0), at) : at;
}

Expr Builder::at_broadcast(const Tensor& tensor, Point point) const {
  size_t rank = static_cast<size_t>(tensor.rank());
  if (tensor.host && tensor.host->size() == 1) {
    if (auto known = ir::as_int((*tensor.host)[0])) return ir::constant_int(tensor.dtype(), *known);
    if (auto known = ir::as_float((*tensor.host)[0])) return ir::constant(tensor.dtype(), *known);
  }
  if (rank > point.size()) return tensor.at(point);
  std::vector<Expr> at(point.end() - static_cast<std::ptrdiff_t>(rank), point.end());
  for (size_t i = 0; i < rank; ++i) {
    at[i] = broadcast_place(tensor.shape()[i], at[i]);
  }
  return tensor.at(at);
}

}  // namespace gossamer::ops
