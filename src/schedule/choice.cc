#include "schedule/choice.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <set>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/lower.h"
#include "schedule/stage_in.h"

namespace gossamer::schedule {
namespace {

using ir::Expr;

template <class T>
struct Field {
  std::string_view name;
  std::variant<int T::*, int64_t T::*, bool T::*> place;
};

constexpr std::array<Field<Tiling>, 19> tiling_fields{{
    {"vector_axis", &Tiling::vector_axis},
    {"lanes", &Tiling::lanes},
    {"vectors", &Tiling::vectors},
    {"row_axis", &Tiling::row_axis},
    {"joined_axis", &Tiling::joined_axis},
    {"rows", &Tiling::rows},
    {"reduce_axis", &Tiling::reduce_axis},
    {"reduce_block", &Tiling::reduce_block},
    {"partial", &Tiling::partial},
    {"unroll", &Tiling::unroll},
    {"group_size", &Tiling::group_size},
    {"group_rows", &Tiling::group_rows},
    {"group_vectors", &Tiling::group_vectors},
    {"ahead", &Tiling::ahead},
    {"parts", &Tiling::parts},
    {"part_vectors", &Tiling::part_vectors},
    {"chunk", &Tiling::chunk},
    {"share", &Tiling::share},
    {"cache", &Tiling::cache},
}};
constexpr std::array<Field<RowTiling>, 5> row_fields{{
    {"row_lanes", &RowTiling::row_lanes},
    {"column_lanes", &RowTiling::column_lanes},
    {"threads", &RowTiling::threads},
    {"group_rows", &RowTiling::group_rows},
    {"unroll", &RowTiling::unroll},
}};

template <class T>
int64_t get(const T& point, const Field<T>& field) {
  return std::visit([&](auto place) { return static_cast<int64_t>(point.*place); }, field.place);
}

template <class T>
void set(T& point, const Field<T>& field, int64_t value) {
  std::visit(
      [&](auto place) {
        using Value = std::remove_reference_t<decltype(point.*place)>;
        point.*place = static_cast<Value>(value);
      },
      field.place);
}

template <class T, size_t n>
std::string text_of(const T& point, const std::array<Field<T>, n>& fields) {
  std::string text;
  for (const Field<T>& field : fields) {
    if (get(point, field) != get(T{}, field)) text += cat(" ", field.name, "=", get(point, field));
  }
  return text;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

template <class T, size_t n>
Result<Point> read(T point, const std::array<Field<T>, n>& fields,
                   const std::vector<std::string_view>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = std::min(word.find('='), word.size());
    const auto field = std::ranges::find(fields, word.substr(0, equals), &Field<T>::name);
    if (field == fields.end())
      return fail(cat("a point of ", words[0], " has no field \"", word.substr(0, equals), "\""));
    int64_t value = 0;
    const std::string_view number = word.substr(std::min(equals + 1, word.size()));
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || value < -1 ||
        value > (1 << 30))
      return fail(cat("\"", number, "\" is no value of ", field->name));
    set(point, *field, value);
  }
  return Point(std::move(point));
}

// The text of a group's stages, with buffers and dimensions by number.
class Text {
 public:
  GroupText of(const Group& group) {
    std::string text;
    for (const Member& member : group.members) {
      ops::Stage stage = member.stage;
      stage.name = stage.origin = stage.side = "";
      for (const ir::Buffer& input : ops::inputs_of(stage)) number(input);
      number(stage.output);
      for (const ir::Var& var : ops::own_variables(stage)) own_.insert(var.get());
      ops::replace_inputs(stage, buffers_);
      stage.output = buffers_.at(stage.output.get());
      ops::visit_exprs(stage, ops::any_role, [&](Expr& expr) { expr = numbered(expr); });
      text += cat(ops::print(stage), member.written ? "written\n" : "");
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

// Whether a point speaks of axes and sizes that a schedule of the stage can have at all.
Result<> in_range(const ops::Stage& stage, const Capabilities& caps, const Tiling& t) {
  if (t.pattern != pattern_of(stage))
    return fail(cat("a stage of pattern ", name_of(pattern_of(stage)), " has no point of ",
                    name_of(t.pattern)));
  const auto rank = static_cast<int>(stage.axes.size());
  for (int axis : {t.vector_axis, t.row_axis, t.joined_axis}) {
    if (axis < -1 || axis >= rank) return fail(cat("the stage has no axis ", axis));
  }
  if (t.reduce_axis < -1 || t.reduce_axis >= static_cast<int>(stage.reduce_axes.size()))
    return fail(cat("the stage has no reduction axis ", t.reduce_axis));
  if (t.joined_axis >= 0 && t.joined_axis + 1 != t.row_axis)
    return fail("joined_axis is not the axis before row_axis");
  // Rows shorter than a vector have the longest that they hold.
  const bool fits = t.lanes >= 4 && t.lanes <= std::max(4, caps.vector_lanes) &&
                    std::has_single_bit(static_cast<unsigned>(t.lanes));
  if (t.lanes != 1 && !fits)
    return fail(cat("vectors have ", caps.vector_lanes, " lanes, not ", t.lanes));
  for (int64_t value :
       {int64_t{t.vectors}, int64_t{t.rows}, int64_t{t.reduce_block}, int64_t{t.unroll},
        int64_t{t.group_rows}, int64_t{t.group_vectors}, int64_t{t.part_vectors}}) {
    if (value < 1 || value > 64) return fail(cat(value, " is not between 1 and 64"));
  }
  if (t.parts < 1 || t.parts > caps.max_group_size)
    return fail(cat(t.parts, " is not between 1 and ", caps.max_group_size));
  if (t.cache < -1 || t.cache > 1) return fail(cat("a product has no factor ", t.cache));
  if (t.group_size < 1 || t.group_size > caps.max_group_size || t.chunk < 1)
    return fail("a workgroup or a work item of that size is impossible");
  return {};
}

Result<> in_range(const Capabilities& caps, const RowTiling& t) {
  for (int lanes : {t.row_lanes, t.column_lanes}) {
    if (lanes != 1 && lanes != caps.vector_lanes)
      return fail(cat("vectors have ", caps.vector_lanes, " lanes, not ", lanes));
  }
  if (t.row_lanes > 1 && t.column_lanes > 1) return fail("lanes are of rows or of columns");
  if (t.threads < 1 || t.group_rows < 1 || t.threads * int64_t{t.group_rows} > caps.max_group_size)
    return fail(cat("a workgroup of ", t.group_rows, " x ", t.threads, " invocations"));
  if (t.unroll < 1 || t.unroll > 64) return fail(cat(t.unroll, " is not between 1 and 64"));
  return {};
}

}  // namespace

std::string to_string(const Point& point) {
  if (const auto* rows = std::get_if<RowTiling>(&point)) return "rows" + text_of(*rows, row_fields);
  const Tiling& tiling = std::get<Tiling>(point);
  return std::string(name_of(tiling.pattern)) + text_of(tiling, tiling_fields);
}

Result<Point> parse_point(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return fail("a point begins with its pattern");
  if (words[0] == "rows") return read(RowTiling{}, row_fields, words);
  Tiling tiling;
  for (Pattern pattern : {Pattern::map, Pattern::reduce, Pattern::window, Pattern::contraction,
                          Pattern::scan, Pattern::scatter}) {
    if (name_of(pattern) != words[0]) continue;
    tiling.pattern = pattern;
    return read(tiling, tiling_fields, words);
  }
  return fail(cat("there is no pattern \"", words[0], "\""),
              "there are map, reduce, window, contraction, scan, scatter and rows");
}

int64_t field_of(const Point& point, std::string_view name) {
  if (const auto* rows = std::get_if<RowTiling>(&point))
    return get(*rows, *std::ranges::find(row_fields, name, &Field<RowTiling>::name));
  return get(std::get<Tiling>(point),
             *std::ranges::find(tiling_fields, name, &Field<Tiling>::name));
}

void set_field(Point& point, std::string_view name, int64_t value) {
  if (auto* rows = std::get_if<RowTiling>(&point))
    return set(*rows, *std::ranges::find(row_fields, name, &Field<RowTiling>::name), value);
  set(std::get<Tiling>(point), *std::ranges::find(tiling_fields, name, &Field<Tiling>::name),
      value);
}

Point default_point(const Group& group, const Capabilities& capabilities) {
  if (group.form == GroupForm::rows) return default_row_tiling(group, capabilities);
  return default_tiling(group.last(), capabilities);
}

Result<ScheduledGroup> schedule_at(const Group& group, const Capabilities& capabilities,
                                   const Point& point) {
  if (const auto* rows = std::get_if<RowTiling>(&point)) {
    if (group.form != GroupForm::rows) return fail("the group is not over rows");
    GS_TRY(in_range(capabilities, *rows));
    return schedule_at(group, capabilities, *rows);
  }
  if (group.form == GroupForm::rows) return fail("the group is over rows");
  const Tiling& tiling = std::get<Tiling>(point);
  GS_TRY(in_range(group.last(), capabilities, tiling));
  return schedule_at(group, capabilities, tiling);
}

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
                                const ops::Stage& stage, const Capabilities& capabilities,
                                const Capabilities* hardware, int rule) {
  std::optional<int> recorded;
  if (records && hardware) recorded = (records->*question)(stage, *hardware, rule);
  if (records && !recorded) recorded = (records->*question)(stage, capabilities, rule);
  return recorded;
}

}  // namespace gossamer::schedule
