// Groups: stages under one launch.
//
// Stages with the same points share all loops: several outputs of one map. Stages over the same
// rows share the loops of the rows: a softmax is a maximum, a sum and a quotient a row. What one
// stage of a group makes and others read is held by the invocation, or, where it is more than a
// value a row, read back from memory by the invocation that wrote it. Kernels that do not depend on
// each other may share a launch, too: each has workgroups of its own, beside those of the others.
// Stages over the same tiles have a workgroup a tile, which computes one after the other and shares
// what they make (tile.h). Attention is one walk over its keys (online.h).
#pragma once

#include <string>
#include <vector>

#include "ops/stage.h"

namespace gossamer::schedule {

// An axis of a stage that tells rows apart; with a quotient, its points in runs of that many.
struct RowAxis {
  int axis = 0;
  int64_t quotient = 1;
  friend bool operator==(const RowAxis&, const RowAxis&) = default;
};

struct Member {
  ops::Stage stage;
  std::vector<RowAxis> rows;  // in the order that all members have
  bool written = true;        // in memory after the launch
};

enum class GroupForm : uint8_t { single, points, rows, concurrent, tile, online };

// An output in an input's memory: each point is read by the invocation alone that writes it.
struct InPlace {
  ir::Buffer input, output;
};

// The runs that a launch is for, where products of few rows (tiling.h) are computed in another way.
enum class RowCount : uint8_t { any, few, more };

struct Group {
  GroupForm form = GroupForm::single;
  std::vector<Member> members;  // in the order in which they run
  std::vector<InPlace> in_place = {};
  std::vector<Group> concurrent =
      {};            // in the form of that name: whose members these are, in order
  size_t outer = 0;  // in the form `tile`: how many axes, the first ones, number the tiles
  RowCount number = RowCount::any;
  ir::Expr rows = {};  // of a run, over the dimensions, where `number` is not `any`
  // 1 in runs that launch it, 0 in others (long_rounds.h); unset: in all. GPUs in hardware launch
  // all but those of `long_rounds`.
  ir::Expr rounds = {};
  bool long_rounds = false;
  std::string key = {};  // key_of (schedule/choice.h), of a group that is finished

  const ops::Stage& last() const { return members.back().stage; }
};

// 1 in runs with a count of more than `most`, 0 in others: how often they launch a kernel.
ir::Expr is_more(const ir::Expr& count, int64_t most);

Group single_group(ops::Stage stage);

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

}  // namespace gossamer::schedule
