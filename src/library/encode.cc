#include "library/encode.h"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/embedded/program.h"
#include "runtime/mapped_file.h"

namespace gossamer::library {
namespace {

using package::Number;

int64_t rounded(int64_t bytes) { return (bytes + GS_ALIGNMENT - 1) / GS_ALIGNMENT * GS_ALIGNMENT; }

// The sum that gs_sum in runtime/embedded/model.c checks.
uint64_t sum_of(std::span<const std::byte> bytes) {
  constexpr uint64_t factor = 0x100000001b3;
  uint64_t sum = 0xcbf29ce484222325;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    for (size_t byte = 8; byte-- > 0;)
      word = word << 8 | std::to_integer<uint64_t>(bytes[at + byte]);
    sum = (sum ^ word) * factor;
    sum ^= sum >> 29;
  }
  for (; at < bytes.size(); ++at) sum = (sum ^ std::to_integer<uint64_t>(bytes[at])) * factor;
  return sum & INT64_MAX;
}

// Floats that NumPy lacks are the integers of their bits.
std::string numpy_type(ir::DType dtype) {
  const int bytes = ir::byte_size(dtype);
  if (dtype == ir::DType::boolean) return "|b1";
  const char kind = dtype == ir::DType::f32 || dtype == ir::DType::f64 || dtype == ir::DType::f16
                        ? 'f'
                    : ir::is_signed_int(ir::carrier_of(dtype)) ? 'i'
                                                               : 'u';
  return cat(bytes == 1 ? "|" : "<", std::string(1, kind), bytes);
}

class Encoder {
 public:
  Encoder(const package::Module& module, std::span<const std::byte> stored, bool beside,
          std::span<const std::string> shaders)
      : module_(module),
        stored_(stored),
        beside_(beside),
        shaders_(shaders),
        gpu_(module.target == TargetKind::webgpu) {}

  Result<Encoded> encode() {
    words_.resize(GS_HEADER_WORDS);
    GS_TRY(check_types());
    name_dims();
    begin(GS_VARIABLES_AT);
    words_[GS_VARIABLES] = static_cast<int64_t>(module_.dims.size());
    for (const package::Dim& dim : module_.dims) word(dim.input < 0 ? -1 : dim_named(dim.name));
    words_[GS_DIMS] = static_cast<int64_t>(encoded_.dims.size());
    add_ports(module_.inputs, GS_INPUTS, GS_INPUTS_AT, false);
    add_ports(module_.outputs, GS_OUTPUTS, GS_OUTPUTS_AT, true);
    GS_TRY(add_weights());
    add_slots();
    add_checks();
    add_launches(module_.init, GS_INIT, GS_INIT_AT, false);
    add_launches(module_.run, GS_RUN, GS_RUN_AT, false);
    if (gpu_) {
      add_launches(module_.init, GS_INIT, GS_FAST_INIT_AT, true);
      add_launches(module_.run, GS_RUN, GS_FAST_RUN_AT, true);
      add_shaders();
      add_spent();
    }
    words_[GS_PLAN_VALUES] = module_.plan_values;
    GS_ASSIGN(const std::vector<int64_t> steps, steps_of(module_.steps));
    begin(GS_STEPS_AT);
    words_[GS_STEPS] = static_cast<int64_t>(steps.size());
    words_.insert(words_.end(), steps.begin(), steps.end());
    for (const std::string& need : module_.needs)
      words_[GS_NEEDS] = need == "cpu-avx2"          ? GS_NEEDS_AVX2
                         : need == "cpu-avx512"      ? GS_NEEDS_AVX512
                         : need == "cpu-avx512-vnni" ? GS_NEEDS_AVX512_VNNI
                         : need == "cpu-avx-vnni"    ? GS_NEEDS_AVX_VNNI
                                                     : words_[GS_NEEDS];
    encoded_.memory_bytes = words_[GS_STATIC_BYTES] + 4 * 64 + 256 +
                            rounded(words_[GS_SLOTS] * 24) + 2 * rounded(words_[GS_VARIABLES] * 8) +
                            rounded(words_[GS_PLAN_VALUES] * 8) + rounded(words_[GS_ARGUMENTS] * 8);
    encoded_.words = std::move(words_);
    return std::move(encoded_);
  }

 private:
  void word(int64_t value) { words_.push_back(value); }
  void number(Number number) {
    word(number.planned);
    word(number.value);
  }
  void begin(int table) {
    words_[static_cast<size_t>(table)] = static_cast<int64_t>(words_.size());
  }
  int64_t text(const std::string& text) {
    const auto at = static_cast<int64_t>(encoded_.texts.size());
    encoded_.texts += text;
    encoded_.texts += '\0';
    return at;
  }
  int64_t slot_of(int tensor) const { return module_.tensors[static_cast<size_t>(tensor)].slot; }

  // Memory holds what the caller gives as it is, but for a GPU's.
  Result<> check_types() const {
    if (gpu_) return {};
    const auto check = [&](const std::string& name, ir::DType dtype, int tensor) -> Result<> {
      const ir::DType storage = module_.tensors[static_cast<size_t>(tensor)].storage;
      if (ir::carrier_of(dtype) == ir::carrier_of(storage) ||
          ir::byte_size(dtype) == ir::byte_size(storage))
        return {};
      return fail_at(cat("tensor \"", name, "\""), "has a type that libraries do not convert");
    };
    for (const auto* ports : {&module_.inputs, &module_.outputs})
      for (const package::Port& port : *ports) GS_TRY(check(port.name, port.dtype, port.tensor));
    for (const package::Weight& weight : module_.weights)
      GS_TRY(check(weight.name, weight.dtype, weight.tensor));
    return {};
  }

  void name_dims() {
    for (const package::Port& input : module_.inputs)
      for (const std::string& symbol : input.symbols)
        if (!symbol.empty() && dim_named(symbol) < 0) encoded_.dims.push_back(symbol);
    for (const package::Dim& dim : module_.dims)
      if (dim.input >= 0 && dim_named(dim.name) < 0) encoded_.dims.push_back(dim.name);
  }
  int64_t dim_named(const std::string& name) const {
    const auto found = std::find(encoded_.dims.begin(), encoded_.dims.end(), name);
    return found == encoded_.dims.end() ? -1 : found - encoded_.dims.begin();
  }

  void add_ports(const std::vector<package::Port>& ports, int count, int table, bool outputs) {
    std::vector<int64_t> extents;
    for (const package::Port& port : ports) {
      extents.push_back(static_cast<int64_t>(words_.size()));
      for (size_t axis = 0; axis < port.shape.size(); ++axis) {
        if (outputs) {
          number(port.shape[axis]);
          continue;
        }
        const bool named = axis < port.symbols.size() && !port.symbols[axis].empty();
        word(named ? dim_named(port.symbols[axis]) : -1);
        word(named ? 0 : port.shape[axis].value);
      }
    }
    begin(table);
    words_[static_cast<size_t>(count)] = static_cast<int64_t>(ports.size());
    for (size_t at = 0; at < ports.size(); ++at) {
      const package::Port& port = ports[at];
      word(slot_of(port.tensor));
      word(ir::byte_size(port.dtype));
      word(static_cast<int64_t>(port.shape.size()));
      word(extents[at]);
      word(text(port.name));
      word(outputs && std::ranges::any_of(port.shape, [](Number n) { return n.planned; }));
      word(text(numpy_type(port.dtype)));
      word(kind_of(port.dtype));
      word(stored_kind(port.tensor, port.dtype));
    }
  }

  static int64_t kind_of(ir::DType dtype) {
    using enum ir::DType;
    static const std::map<ir::DType, int64_t> kinds{
        {i8, GS_I8},   {u8, GS_U8},     {i16, GS_I16},     {u16, GS_U16}, {i32, GS_I32},
        {u32, GS_U32}, {i64, GS_I64},   {u64, GS_U64},     {f32, GS_F32}, {f64, GS_F64},
        {f16, GS_F16}, {bf16, GS_BF16}, {boolean, GS_BOOL}};
    return kinds.at(ir::carrier_of(dtype));
  }
  // Off a GPU what is not stored as it is has as many bytes.
  int64_t stored_kind(int tensor, ir::DType dtype) const {
    return kind_of(gpu_ ? module_.tensors[static_cast<size_t>(tensor)].storage : dtype);
  }
  bool on_gpu(size_t slot) const { return gpu_ && module_.slots[slot].device == 0; }

  // Slots that hold one weight and nothing else, ever: kernels read it where it lies.
  std::set<int64_t> constant_slots() const {
    std::map<int64_t, int> tensors;
    for (const package::Tensor& tensor : module_.tensors) ++tensors[tensor.slot];
    std::set<int64_t> written;
    for (const auto* launches : {&module_.init, &module_.run}) {
      for (const package::Launch& launch : *launches) {
        const auto writes = module_.kernels[static_cast<size_t>(launch.kernel)].writes;
        for (int at = 0; at < writes; ++at)
          written.insert(
              slot_of(launch.tensors[launch.tensors.size() - 1 - static_cast<size_t>(at)]));
      }
    }
    for (const package::Port& input : module_.inputs) written.insert(slot_of(input.tensor));
    std::set<int64_t> constant;
    for (const package::Weight& weight : module_.weights) {
      const int64_t slot = slot_of(weight.tensor);
      if (tensors[slot] == 1 && !written.contains(slot) && !on_gpu(static_cast<size_t>(slot)))
        constant.insert(slot);
    }
    return constant;
  }

  Result<> add_weights() {
    const std::set<int64_t> constant = constant_slots();
    std::map<std::string, runtime::StoredTensor, std::less<>> stored;
    if (!module_.weights.empty()) {
      GS_ASSIGN(stored, runtime::parse_safetensors(stored_));
    }
    size_t bytes = 2 * GS_SLACK;
    for (const package::Weight& weight : module_.weights) {
      const auto found = stored.find(weight.name);
      if (found == stored.end()) return fail_at(weight.name, "is not among the weights");
      bytes += static_cast<size_t>(rounded(static_cast<int64_t>(found->second.bytes.size())));
    }
    encoded_.weights.reserve(bytes);
    encoded_.weights.resize(GS_SLACK);
    std::vector<int64_t> copies;
    for (const package::Weight& weight : module_.weights) {
      const std::span<const std::byte> from = stored.find(weight.name)->second.bytes;
      const auto offset = static_cast<int64_t>(encoded_.weights.size()) - GS_SLACK;
      encoded_.placed.push_back({offset + GS_SLACK, from, weight.dtype});
      encoded_.weights.insert(encoded_.weights.end(), from.begin(), from.end());
      encoded_.weights.resize(
          static_cast<size_t>(rounded(static_cast<int64_t>(encoded_.weights.size()))));
      const int64_t slot = slot_of(weight.tensor);
      if (constant.contains(slot))
        constant_at_[slot] = {offset, static_cast<int64_t>(from.size())};
      else
        copies.insert(copies.end(),
                      {slot, offset, static_cast<int64_t>(from.size()), kind_of(weight.dtype),
                       stored_kind(weight.tensor, weight.dtype)});
    }
    encoded_.weights.resize(encoded_.weights.size() + GS_SLACK);
    begin(GS_WEIGHTS_AT);
    words_[GS_WEIGHTS] = static_cast<int64_t>(copies.size() / GS_WEIGHT_WORDS);
    words_.insert(words_.end(), copies.begin(), copies.end());
    words_[GS_WEIGHT_BYTES] = static_cast<int64_t>(encoded_.weights.size());
    words_[GS_WEIGHT_SUM] = beside_ ? static_cast<int64_t>(sum_of(encoded_.weights)) : 0;
    return {};
  }

  void add_slots() {
    begin(GS_SLOTS_AT);
    words_[GS_SLOTS] = static_cast<int64_t>(module_.slots.size());
    int64_t bytes = GS_SLACK;
    for (size_t at = 0; at < module_.slots.size(); ++at) {
      const package::Slot& slot = module_.slots[at];
      const auto constant = constant_at_.find(static_cast<int64_t>(at));
      if (constant != constant_at_.end()) {
        word(GS_SLOT_CONSTANT);
        number(constant->second.second);
        word(0);
        word(constant->second.first);
        continue;
      }
      word(on_gpu(at) ? GS_SLOT_GPU : GS_SLOT_MEMORY);
      number(slot.bytes);
      word(slot.segment);
      word(0);
      if (slot.bytes.planned)
        encoded_.has_dynamic_memory = true;
      else if (!on_gpu(at))
        bytes += rounded(slot.bytes.value + GS_SLACK);
    }
    words_[GS_STATIC_BYTES] = bytes;
  }

  void add_checks() {
    std::vector<int64_t> messages;
    for (const package::Check& check : module_.checks) messages.push_back(text(check.message));
    begin(GS_CHECKS_AT);
    words_[GS_CHECKS] = static_cast<int64_t>(messages.size());
    for (size_t at = 0; at < messages.size(); ++at) {
      number(module_.checks[at].value);
      word(module_.checks[at].segment);
      word(module_.checks[at].most);
      word(messages[at]);
    }
  }

  // `fast`: as GPUs in hardware want them.
  void add_launches(const std::vector<package::Launch>& launches, int count, int table, bool fast) {
    std::vector<int64_t> where;
    for (const package::Launch& launch : launches) {
      const package::Call call = fast && launch.hardware
                                     ? *launch.hardware
                                     : package::Call{launch.kernel, launch.scalars, launch.range};
      where.push_back(static_cast<int64_t>(words_.size()));
      word(call.kernel);
      number(call.range);
      word(static_cast<int64_t>(launch.tensors.size()));
      word(static_cast<int64_t>(call.scalars.size()));
      for (int tensor : launch.tensors) word(slot_of(tensor));
      for (Number scalar : call.scalars) number(scalar);
      words_[GS_ARGUMENTS] = std::max(
          words_[GS_ARGUMENTS], static_cast<int64_t>(launch.tensors.size() + call.scalars.size()));
    }
    begin(table);
    words_[static_cast<size_t>(count)] = static_cast<int64_t>(where.size());
    words_.insert(words_.end(), where.begin(), where.end());
  }

  void add_shaders() {
    std::vector<int64_t> rows;
    std::map<std::string_view, int64_t> texts;  // kernels that differ in their schedule alone
    int64_t beside = 0;
    for (size_t at = 0; at < module_.kernels.size(); ++at) {
      const package::KernelInfo& kernel = module_.kernels[at];
      const bool is_shader = kernel.device == 0;
      const auto [found, is_new] =
          texts.emplace(is_shader ? std::string_view(shaders_[at]) : "", 0);
      if (is_shader && is_new) found->second = text(shaders_[at]);
      rows.insert(rows.end(), {is_shader ? found->second : -1,
                               is_shader ? static_cast<int64_t>(shaders_[at].size()) : beside++,
                               kernel.buffers, kernel.writes, kernel.scalars});
    }
    begin(GS_SHADERS_AT);
    words_[GS_SHADERS] = static_cast<int64_t>(module_.kernels.size());
    words_.insert(words_.end(), rows.begin(), rows.end());
  }

  // What weights are packed from, say.
  void add_spent() {
    std::set<int64_t> needed;
    for (const auto* ports : {&module_.inputs, &module_.outputs})
      for (const package::Port& port : *ports) needed.insert(slot_of(port.tensor));
    for (const package::Launch& launch : module_.run)
      for (const int tensor : launch.tensors) needed.insert(slot_of(tensor));
    add_needed(module_.steps, needed);
    begin(GS_SPENT_AT);
    for (size_t at = 0; at < module_.slots.size(); ++at) {
      if (!on_gpu(at) || module_.slots[at].bytes.planned ||
          needed.contains(static_cast<int64_t>(at)))
        continue;
      word(static_cast<int64_t>(at));
      ++words_[GS_SPENT];
    }
  }
  void add_needed(const std::vector<package::Step>& steps, std::set<int64_t>& needed) const {
    for (const package::Step& step : steps) {
      if (step.tensor >= 0) needed.insert(slot_of(step.tensor));
      if (step.to >= 0) needed.insert(slot_of(step.to));
      add_needed(step.body, needed);
      add_needed(step.otherwise, needed);
    }
  }

  // What gs_element reads.
  static Result<int64_t> count_kind(const package::Tensor& tensor, ir::DType dtype) {
    const bool small = ir::carrier_of(dtype) != dtype;
    if (small || dtype == ir::DType::f16 || dtype == ir::DType::bf16)
      return fail_at(
          cat("tensor \"", tensor.name, "\""),
          "is read by the model's control flow, which libraries do for plain types only");
    return kind_of(dtype);
  }

  Result<std::vector<int64_t>> steps_of(const std::vector<package::Step>& steps) const {
    using Kind = package::Step::Kind;
    std::vector<int64_t> words;
    const auto add = [&](std::initializer_list<int64_t> more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    for (const package::Step& step : steps) {
      const Number n = step.number;
      switch (step.kind) {
        case Kind::launch:
          add({GS_STEP_LAUNCH, step.first, step.last});
          break;
        case Kind::read: {
          const package::Tensor& tensor = module_.tensors[static_cast<size_t>(step.tensor)];
          int64_t input = -1;
          ir::DType dtype = tensor.storage;
          for (size_t at = 0; at < module_.inputs.size(); ++at) {
            if (module_.inputs[at].tensor != step.tensor) continue;
            input = static_cast<int64_t>(at);
            if (gpu_) dtype = module_.inputs[at].dtype;
          }
          GS_ASSIGN(const int64_t kind, count_kind(tensor, dtype));
          add({GS_STEP_READ, tensor.slot, kind, step.dim, step.count, input});
        } break;
        case Kind::plan:
          add({GS_STEP_PLAN, step.segment});
          break;
        case Kind::set:
          add({GS_STEP_SET, static_cast<int64_t>(step.sets.size())});
          for (const auto& [dim, value] : step.sets) add({dim, value.planned, value.value});
          break;
        case Kind::branch: {
          GS_ASSIGN(const std::vector<int64_t> yes, steps_of(step.body));
          GS_ASSIGN(const std::vector<int64_t> no, steps_of(step.otherwise));
          add({GS_STEP_BRANCH, n.planned, n.value, static_cast<int64_t>(yes.size())});
          words.insert(words.end(), yes.begin(), yes.end());
          add({static_cast<int64_t>(no.size())});
          words.insert(words.end(), no.begin(), no.end());
        } break;
        case Kind::loop: {
          GS_ASSIGN(const std::vector<int64_t> body, steps_of(step.body));
          add({GS_STEP_LOOP, n.planned, n.value, step.dim, step.condition,
               static_cast<int64_t>(body.size())});
          words.insert(words.end(), body.begin(), body.end());
        } break;
        case Kind::copy: {
          if (!gpu_) return fail("the model computes on two devices, libraries on one");
          const package::Tensor& from = module_.tensors[static_cast<size_t>(step.tensor)];
          const package::Tensor& to = module_.tensors[static_cast<size_t>(step.to)];
          add({GS_STEP_COPY, from.slot, kind_of(from.storage), to.slot, kind_of(to.storage),
               from.elements.planned, from.elements.value, to.elements.planned, to.elements.value});
        } break;
      }
    }
    return words;
  }

  const package::Module& module_;
  std::span<const std::byte> stored_;
  bool beside_;
  std::span<const std::string> shaders_;
  bool gpu_;
  Encoded encoded_;
  std::vector<int64_t> words_;
  std::map<int64_t, std::pair<int64_t, int64_t>> constant_at_;  // of a slot: offset, bytes
};

}  // namespace

Result<Encoded> encode(const package::Module& module, std::span<const std::byte> stored,
                       bool beside, std::span<const std::string> shaders) {
  return Encoder(module, stored, beside, shaders).encode();
}

}  // namespace gossamer::library
