// From a kernel's loop program to a Function: where each buffer lies, which instructions each node
// takes.
#pragma once

#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codegen/plan_function.h"
#include "codegen/wasm/function.h"
#include "codegen/wasm/instructions.h"
#include "codegen/wasm/linear.h"
#include "ir/nodes.h"

namespace gossamer::codegen::wasm {

// Where a buffer lies.
struct Place {
  enum class Kind : uint8_t { memory, locals };
  Kind kind = Kind::memory;
  bool ordered = false;  // the kernel writes it and reads it
  uint32_t settled = 0;  // its order (Function::load) once nothing writes it any more
  ValueId base = 0;      // memory: its address
  // locals: `lanes` consecutive elements in each, the first group in locals[0].
  int lanes = 1;
  std::vector<LocalId> locals;
};

// How a kernel uses a buffer of its own.
struct Usage {
  bool constant = true;  // every index is known
  bool aligned = true;   // vectors begin at multiples of a piece
  bool vectors = false;
  bool read = false, written = false;
  int64_t elements = 0;  // one past the last index known
};
std::unordered_map<const ir::BufferNode*, Usage> usage_of(const ir::Stmt& body);

class Lowering {
 public:
  Lowering(Function& function, Relaxed relaxed)
      : f_(function), make_(function, relaxed), addresses_(function) {}

  void kernel(const ir::Kernel& kernel);
  void plan(const PlanFunction& plan, int segment);
  int64_t scratch_bytes() const { return scratch_bytes_; }

 private:
  struct Binding {
    bool is_linear = false;
    Linear linear;
    Pieces pieces;
  };
  struct Known {
    Pieces pieces;
    RegionId region;
    uint32_t version;
    bool guarded;
  };

  void stmt(const ir::Stmt& s);
  void for_loop(const ir::For& loop);
  // A digit of the item (codegen/digits.h): the local that has it from one item to the next, and
  // its value in the one under way.
  static constexpr int64_t max_index = std::numeric_limits<int32_t>::max();
  struct Counter {
    const ir::VarNode* var;
    LocalId local;
    ValueId extent;  // 0: the last digit
    int64_t last = max_index;
    ValueId now = 0;
  };
  std::vector<Counter> start_counting(const ir::For& loop);
  void count(const std::vector<Counter>& counters);
  void while_loop(const ir::While& loop);
  void branch(const ir::If& s);
  void let(const ir::Let& s);
  void alloc(const ir::Alloc& s);
  void store(const ir::Store& s);
  void store_piece(ir::DType dtype, ValueId base, const Linear& bytes, ValueId piece, int count);
  void store_item(Op op, Address address, ValueId value, int lane = 0);
  void settle(Pieces& pieces);
  bool reads_local(ValueId id, LocalId local) const;
  void store_local(const ir::Store& s, Place& place);

  ValueId scalar(const ir::Expr& e);
  Pieces vector(const ir::Expr& e);
  Pieces value(const ir::Expr& e);                     // of either; remembers shared subtrees
  const Pieces* known_value(const ir::Expr& e) const;  // null where it was not computed yet
  Pieces compute(const ir::Expr& e);
  Pieces compute_binary(const ir::Expr& e);
  Pieces compute_select(const ir::Expr& e);
  std::optional<Pieces> compute_extreme(const ir::Select& select);
  // Of a few bits of neighbouring bytes: a piece holds 16 of them until they become floats.
  std::optional<Pieces> compute_small_numbers(const ir::Expr& e);
  Pieces arms(ValueId condition, const ir::Expr& yes, const ir::Expr& no);
  Pieces ramp(const ir::Ramp& e);
  Pieces make_vector(const ir::MakeVector& e);
  ValueId lane(const ir::Lane& e);
  Linear linear(const ir::Expr& e);
  bool has_load(const ir::Expr& e);

  Pieces load(const ir::Load& e);
  Pieces load_local(const ir::Load& e, const Place& place);
  Pieces load_contiguous(const ir::Load& e, const Place& place, const ir::Expr& first);
  // Of four bytes an element and a stride of at most three, in either direction.
  Pieces load_strided(const ir::Load& e, const Place& place, const ir::Ramp& ramp);
  ValueId load_scalar(ir::DType dtype, const Place& place, const Linear& bytes);
  Pieces gather(ir::DType dtype, const std::vector<std::pair<const Place*, Linear>>& lanes);
  // Neighbours in memory that are read as one word; nullopt: it is nothing like that.
  struct Word {
    const Place* place;
    Linear bytes;
  };
  std::optional<Word> word_in_memory(const ir::Expr& e);
  std::vector<Linear> lane_indices(const ir::Expr& index);
  Address address(const Place& place, const Linear& bytes);
  uint32_t order_of(const Place& place) const {
    return !place.ordered ? 0 : place.settled ? place.settled : f_.order();
  }
  const Place* memory_of(const ir::Expr& e);  // the place of a scalar load from memory, else null

  Function& f_;
  Instructions make_;
  AddressMaker addresses_;
  std::unordered_map<const ir::VarNode*, Binding> vars_;
  std::unordered_map<const ir::VarNode*, ValueId> counted_;
  std::unordered_map<const ir::BufferNode*, Place> places_;
  std::unordered_map<const ir::BufferNode*, Usage> usage_;
  std::unordered_map<const ir::ExprNode*, Known> known_;
  std::unordered_map<const ir::ExprNode*, bool> has_load_;
  std::vector<ir::Expr> expanded_;  // keys of the above stay alive
  bool guarded_ = false;            // loads may be out of bounds and must not trap
  int64_t scratch_bytes_ = 0;
};

}  // namespace gossamer::codegen::wasm
