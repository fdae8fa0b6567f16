#include "stages/group.h"

#include <algorithm>

#include "ir/build.h"
#include "stages/access.h"

namespace gossamer::stages {
namespace {

bool contains(const std::vector<ir::Buffer>& buffers, const ir::Buffer& buffer) {
  return std::ranges::any_of(buffers, [&](const ir::Buffer& one) { return one.same(buffer); });
}

}  // namespace

ir::Expr is_more(const ir::Expr& count, int64_t most) {
  return ir::min(ir::max(count - ir::index(most), ir::index(0)), ir::index(1));
}

Group single_group(Stage stage) { return {{{std::move(stage)}}}; }

bool is_single(const Group& group) { return group.members.size() == 1; }

bool over_rows(const Group& group) {
  return group.concurrent.empty() && std::ranges::count(group.members, At::launch, &Member::at) > 1;
}

bool is_walk(const Group& group) { return group.members.back().at == At::walk; }

bool has_tiles(const Group& group) { return group.members.back().at == At::tile || is_walk(group); }

bool has_points(const Group& group) { return group.concurrent.empty() && !has_tiles(group); }

std::vector<ir::Buffer> inputs_of(const Group& group) {
  std::vector<ir::Buffer> inputs, made;
  for (const Member& member : group.members) {
    for (const ir::Buffer& input : inputs_of(member.stage)) {
      if (!contains(made, input) && !contains(inputs, input)) inputs.push_back(input);
    }
    made.push_back(member.stage.output);
  }
  return inputs;
}

std::vector<ir::Buffer> outputs_of(const Group& group) {
  std::vector<ir::Buffer> outputs;
  for (const Member& member : group.members) {
    const ir::Buffer& made = member.stage.output;  // several may lie in one
    if (member.written && !made.same(group.last().output) && !contains(outputs, made))
      outputs.push_back(made);
    if (member.stage.table) outputs.push_back(member.stage.table);
  }
  outputs.push_back(group.last().output);
  return outputs;
}

std::string title_of(const Group& group) {
  std::string title;
  for (const Member& member : group.members)
    title += cat(title.empty() ? "" : " + ", member.stage.name);
  return title;
}

std::string origin_of(const Group& group) {
  std::string origin;
  for (const Member& member : group.members) {
    const std::string& one = member.stage.origin;
    if (one.empty() || origin.find(one) != std::string::npos) continue;
    // A later stage's origin may say more: "Softmax + Reshape" after "Softmax".
    if (one.find(origin) != std::string::npos) {
      origin = one;
    } else {
      origin += cat(" + ", one);
    }
  }
  return origin;
}

std::vector<int> columns_of(const Member& member) {
  std::vector<int> columns;
  for (size_t i = 0; i < member.stage.axes.size(); ++i) {
    const auto row = std::ranges::find(member.rows, static_cast<int>(i), &RowAxis::axis);
    const bool is_row = row != member.rows.end() && row->quotient == 1;
    if (!is_row && !ir::is_const(member.stage.extents[i], 1))
      columns.push_back(static_cast<int>(i));
  }
  return columns;
}

}  // namespace gossamer::stages
