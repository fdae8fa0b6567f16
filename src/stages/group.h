// Groups: stages under one launch.
//
// Each member says where in the launch it is computed, from which follows who holds what it makes
// for other members. Kernels that do not depend on each other may share a launch, too: each is a
// group with workgroups of its own, which follow those of the one before.
#pragma once

#include <string>
#include <vector>

#include "stages/stage.h"

namespace gossamer::stages {

// An axis of a stage that tells rows apart; with a quotient, its points in runs of that many.
struct RowAxis {
  int axis = 0;
  int64_t quotient = 1;
  friend bool operator==(const RowAxis&, const RowAxis&) = default;
};

// Where a member is computed, and who holds what it makes.
enum class At : uint8_t {
  launch,  // in loops of its own inside those of the launch, which all such members share: they are
           // over the same rows. A value a row is held in registers; columns are in memory, and
           // read back by the invocation that wrote them
  point,   // at each point of the next member with loops of its own: a variable
  tile,    // in loops of its own over the axes inside of a tile, by a workgroup: in group memory
  walk,    // in the steps of a walk over keys (online.h)
};

struct Member {
  Stage stage;
  std::vector<RowAxis> rows = {};  // in the order that all members have
  bool written = true;             // in memory after the launch
  At at = At::launch;              // computed
};

// An output in an input's memory: each point is read by the invocation alone that writes it.
struct InPlace {
  ir::Buffer input, output;
};

// The runs that a launch is for, where products of few rows (tiling.h) are computed in another way.
enum class RowCount : uint8_t { any, few, more };

struct Group {
  std::vector<Member> members;  // in the order in which they run
  std::vector<InPlace> in_place = {};
  std::vector<Group> concurrent = {};  // groups under one launch, whose members these are, in order
  size_t outer = 0;  // of members in a tile: how many axes, the first ones, number the tiles
  RowCount number = RowCount::any;
  ir::Expr rows = {};  // of a run, over the dimensions, where `number` is not `any`
  // 1 in runs that launch it, 0 in others (long_rounds.h); unset: in all. GPUs in hardware launch
  // all but those of `long_rounds`.
  ir::Expr rounds = {};
  bool long_rounds = false;
  std::string key = {};  // key_of (records/choice.h), of a group that is finished

  const Stage& last() const { return members.back().stage; }
};

// 1 in runs with a count of more than `most`, 0 in others: how often they launch a kernel.
ir::Expr is_more(const ir::Expr& count, int64_t most);

Group single_group(Stage stage);

// Whether it is one stage.
bool is_single(const Group& group);
// Whether several members have loops of their own, over the same rows.
bool over_rows(const Group& group);
// Whether it is a walk over keys.
bool is_walk(const Group& group);
// Whether it computes tiles of several stages, which workgroups or work items hold.
bool has_tiles(const Group& group);

// Whether a search may choose its point, and records store it.
bool has_points(const Group& group);

// What the group reads, and what it writes: the last stage's output last. Of its kernel, inputs
// whose place an output takes are no parameters.
std::vector<ir::Buffer> inputs_of(const Group& group);
std::vector<ir::Buffer> outputs_of(const Group& group);

// The axes with more points than one that do not tell rows apart: a value a row has none.
std::vector<int> columns_of(const Member& member);

// "softmax.max + softmax.sum + softmax"
std::string title_of(const Group& group);
// Of all members, see Stage::origin.
std::string origin_of(const Group& group);

}  // namespace gossamer::stages
