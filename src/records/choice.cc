#include "records/choice.h"

#include <xxhash.h>

#include <set>

#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::records {
namespace {

using ir::Expr;
using stages::Group;
using stages::Member;
using target::Capabilities;

// The text of a group's stages, with buffers and dimensions by number.
class Text {
 public:
  GroupText of(const Group& group) {
    std::string text;
    for (const Member& member : group.members) {
      stages::Stage stage = member.stage;
      stage.name = stage.origin = stage.side = "";
      for (const ir::Buffer& input : stages::inputs_of(stage)) number(input);
      number(stage.output);
      for (const ir::Var& var : stages::own_variables(stage)) own_.insert(var.get());
      stages::replace_inputs(stage, buffers_);
      stage.output = buffers_.at(stage.output.get());
      stages::visit_exprs(stage, stages::any_role, [&](Expr& expr) { expr = numbered(expr); });
      text += cat(stages::print(stage), member.written ? "written\n" : "");
    }
    return {std::move(layouts_), std::move(text)};
  }

 private:
  void number(const ir::Buffer& buffer) {
    if (buffers_.contains(buffer.get())) return;
    auto* node = new ir::BufferNode(*buffer);
    node->name = cat("b", buffers_.size());
    for (Expr& extent : node->shape) extent = numbered(extent);
    const ir::Buffer fresh(node);
    layouts_ +=
        cat(node->name, " ", ir::name_of(node->storage), " ", to_string(node->layout), "\n");
    buffers_.emplace(buffer.get(), fresh);
  }

  Expr numbered(const Expr& expr) {
    ir::visit(expr, [&](const Expr& e) {
      const auto* var = ir::as<ir::VarNode>(e);
      if (var && !own_.contains(var) && !dims_.contains(var))
        dims_.emplace(var, ir::var(cat("s", dims_.size()), e->type));
      return true;
    });
    return ir::substitute(expr, dims_);
  }

  ir::BufferMap buffers_;
  ir::VarMap dims_;
  std::set<const ir::VarNode*> own_;
  std::string layouts_;
};

}  // namespace

GroupText text_of(const Group& group) { return Text().of(group); }

std::string key_of(const Group& group) {
  if (!group.key.empty()) return group.key;
  const GroupText text = text_of(group);
  return hash_of(text.layouts + text.stages);
}

std::string hash_of(std::string_view text) {
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  std::string key;
  for (int shift = 60; shift >= 0; shift -= 4) key += "0123456789abcdef"[(hash >> shift) & 15];
  return key;
}

std::string class_of(const Capabilities& capabilities) {
  const std::string target(name_of(capabilities.kind));
  if (capabilities.multiply_adds) return target + ".relaxed";
  const int bits = 32 * capabilities.vector_lanes;
  if (capabilities.kind == TargetKind::cpu && bits != 512) return cat(target, ".", bits);
  if (!has_adapters(capabilities.kind)) return target;
  return target + (capabilities.hardware ? ".hardware" : ".software");
}

std::optional<int> recorded_for(const PointSource* records, StageQuestion question,
                                const stages::Stage& stage, const Capabilities& capabilities,
                                const Capabilities* hardware, int rule) {
  std::optional<int> recorded;
  if (records && hardware) recorded = (records->*question)(stage, *hardware, rule);
  if (records && !recorded) recorded = (records->*question)(stage, capabilities, rule);
  return recorded;
}

}  // namespace gossamer::records
