// The operator entry: one value says everything about an operator.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "ir/type.h"

namespace gossamer::ops {

// A dense tensor in memory, row-major: attributes, test cases, constants.
struct TensorData {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;           // little-endian; boolean one byte each
  std::vector<std::string> strings = {};  // dtype string only
  int64_t element_count() const;
};
TensorData floats(std::vector<int64_t> shape, std::vector<float> values);
TensorData int64s(std::vector<int64_t> shape, std::vector<int64_t> values);
TensorData int32s(std::vector<int64_t> shape, std::vector<int32_t> values);
TensorData int8s(std::vector<int64_t> shape, std::vector<int8_t> values);
TensorData uint8s(std::vector<int64_t> shape, std::vector<uint8_t> values);
// Of a small type: the codes of floats, the values of integers.
TensorData codes(ir::DType dtype, std::vector<int64_t> shape, std::vector<int> values);
TensorData booleans(std::vector<int64_t> shape, std::vector<uint8_t> values);
TensorData strings(std::vector<int64_t> shape, std::vector<std::string> values);

// The two tensors that one of strings lies in (base/strings.h).
struct StringsData {
  TensorData bytes, lengths;
};
StringsData split_strings(const TensorData& data);
// Errors: a length beyond the width.
Result<TensorData> join_strings(const TensorData& bytes, const TensorData& lengths);

using AttributeValue =
    std::variant<std::monostate, int64_t, double, std::string, std::vector<int64_t>,
                 std::vector<double>, std::vector<std::string>, TensorData>;
// A variant, and a map of such by name, whose special members stand in opdef.cc: a hundred files
// make, copy and destroy them, and would each compile all of that again.
struct Attribute : AttributeValue {
  Attribute();
  template <typename T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Attribute> &&
             std::is_constructible_v<AttributeValue, T>)
  Attribute(T&& value) : AttributeValue(std::forward<T>(value)) {}
  Attribute(const Attribute&);
  Attribute(Attribute&&) noexcept;
  Attribute& operator=(const Attribute&);
  Attribute& operator=(Attribute&&) noexcept;
  ~Attribute();
};
struct Attributes : std::map<std::string, Attribute, std::less<>> {
  Attributes();
  Attributes(std::initializer_list<value_type>);
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();
};

class Builder;

// A set of element types, as a bit mask over ir::DType.
using TypeSet = uint32_t;
constexpr TypeSet only(ir::DType dtype) { return 1u << static_cast<unsigned>(dtype); }
extern const TypeSet any_float, any_signed, any_unsigned, any_int, any_number, any_type,
    integer_index, boolean_only, strings_only;
// What operators take that only move elements.
extern const TypeSet any_element;
// Types of a byte or less that tensors hold and kernels convert (ir/type.h); any_type has them.
extern const TypeSet small_floats, small_ints;

struct InputDef {
  std::string name;
  TypeSet types;
  enum Arity : uint8_t { required, optional, variadic } arity = required;
  // A sequence: any number of tensors, of the types; `any`: a tensor, a sequence or an optional.
  enum Form : uint8_t { tensor, sequence, any } form = tensor;
};
struct AttributeDef {
  std::string name;
  Attribute fallback = {};  // monostate: no default (absent unless `needed`)
  bool needed = false;
};

// A test case of an operator: random inputs of these shapes and types unless `inputs` gives values.
struct Case {
  std::string name;
  std::vector<std::vector<int64_t>> shapes = {};  // an input with shape {-1} is absent
  Attributes attributes = {};
  // Overrides shapes where it has bytes; a later entry without any leaves the random one.
  std::vector<TensorData> inputs = {};
  ir::DType dtype =
      ir::DType::f32;  // of the random inputs that can have it, others get the first type they take
  double low = -2, high = 2;  // range of random values
  int outputs = 0;            // how many to ask for; 0: all of the entry
  int length = -1;            // of the sequence that is the first input: so many of the tensors
};

using Cases = std::vector<Case>;

// An entry's cases, made for those who ask. Pages never do, so compiler.wasm has none of them.
class CaseSource {
 public:
  CaseSource() = default;
  template <typename Make>
    requires std::is_invocable_r_v<Cases, Make&>
  CaseSource([[maybe_unused]] Make make) {
#ifndef __wasm__
    make_ = std::move(make);
#endif
  }
  Cases operator()() const { return make_ ? make_() : Cases(); }

 private:
  std::function<Cases()> make_;
};

// The operator of the catalog that an operator on dequantised tensors is when its result is
// quantised.
struct QuantizedForm {
  std::string domain = {}, name;
  // The operator's first inputs; each is a tensor, its scale and its zero point there. The function
  // says along which axis an operand of this rank may have parameters of its own for each index;
  // none where it takes single ones.
  std::vector<std::function<int64_t(const Attributes&, int rank)>> operands;
  // Behind them are the scale and zero point of the result, and at this place an i32 tensor that is
  // added to the sums: the operator's input after the operands. -1 for none.
  int addend = -1;
};

// Members without a default are mandatory: leaving one out does not compile.
// A line about an operator. As with cases, compiler.wasm has none.
class Doc {
 public:
  Doc() = default;
  template <typename Text>
    requires std::is_convertible_v<Text, std::string> && (!std::is_same_v<std::decay_t<Text>, Doc>)
  Doc([[maybe_unused]] Text&& text) {
#ifndef __wasm__
    text_ = std::forward<Text>(text);
#endif
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct OpDef {
  std::string name;  // ONNX's
  Doc doc;
  std::string domain = {};  // "" is ai.onnx
  int since;  // newest version, the only one defined; older ones are upgraded by the reader
  std::vector<InputDef> inputs;
  std::vector<std::string> outputs = {"Y"};  // names; a trailing one may be unused
  std::vector<AttributeDef> attributes = {};
  std::vector<std::string> regions = {};  // attributes that are graphs, all optional
  std::function<Result<>(Builder&)> define;
  std::optional<QuantizedForm> quantized = {};
  CaseSource cases;
};

// ONNX's TensorProto.DataType codes (1 is f32, 7 is i64, ...), as `to` and `dtype` attributes have
// them.
std::optional<ir::DType> dtype_of_onnx(int64_t code);
// The code of a type that tensors have; 0 for index.
int64_t onnx_of_dtype(ir::DType dtype);

// A catalog is a value: catalog.cc concatenates the families, a user's program may add entries of
// its own.
class Catalog {
 public:
  Catalog() = default;
  explicit Catalog(std::vector<OpDef> entries);
  const OpDef* find(std::string_view domain, std::string_view name) const;
  std::span<const OpDef> entries() const { return entries_; }
  void add(OpDef entry);  // replaces one of the same name and domain

 private:
  std::vector<OpDef> entries_;
  std::map<std::string, size_t, std::less<>> by_name_;
};
const Catalog& builtin_catalog();

}  // namespace gossamer::ops
