#include "runtime/manifest.h"

#include <tuple>

#include "runtime/manifest_checks.h"

namespace gossamer::runtime {
namespace {

using package::Number;
using Item = rapidjson::SizeType;

// How the types of manifest.def are read.
struct Text {};
struct Plain {};
struct Flag {};
struct Dtype {};
struct Target {};
struct Count {
  int64_t least, most;
};
struct Index {  // `more` than 0: up to how many there are
  const char* list;
  int64_t more = 0;
};
enum class NumberKind : uint8_t { size, range, scalar, integer };
struct Extents {};
struct Pair {
  Index item;
};
template <class Rule>
struct List {
  Rule item;
};
struct One {};
struct Many {};
struct Flat {};
struct Fed {};
struct Known {};
struct Sets {};
struct Steps {};

// Reads the fields in the order of manifest.def, as web/runtime/src/package/manifest_rows.ts does.
class Reader {
 public:
  explicit Reader(const Json& json) : root_(json, "package", problem_) {}
  Result<Manifest> read();

 private:
#define GS_RULE_text Text()
#define GS_RULE_plain Plain()
#define GS_RULE_flag Flag()
#define GS_RULE_dtype Dtype()
#define GS_RULE_target Target()
#define GS_RULE_count(least, most) Count(least, most)
#define GS_RULE_size Count(0, any_count - 1)
#define GS_RULE_index(list) Index(#list)
#define GS_RULE_upto(list) Index(#list, 1)
#define GS_RULE_number NumberKind::size
#define GS_RULE_range NumberKind::range
#define GS_RULE_scalar NumberKind::scalar
#define GS_RULE_integer NumberKind::integer
#define GS_RULE_extents Extents()
#define GS_RULE_span(list) Pair(Index(#list, 1))
#define GS_RULE_pair(list) Pair(Index(#list))
#define GS_RULE_list(type) List(GS_RULE_##type)
#define GS_RULE_record(Name) One()
#define GS_RULE_records(Name) Many()
#define GS_RULE_flat(Name) Flat()
#define GS_RULE_fed(Name) Fed()
#define GS_RULE_known(Name) Known()
#define GS_RULE_sets Sets()
#define GS_RULE_steps Steps()
#define GS_PRESENT_always true
#define GS_PRESENT_lenient(absent) from.has(key)
#define GS_PRESENT_unless(absent) from.has(key)
#define GS_PRESENT_some from.has(key)
#define GS_PRESENT_when(condition) condition(from)
#define GS_READ(type, name, presence, to) \
  if (const char* const key = #name; GS_PRESENT_##presence) read(from, key, GS_RULE_##type, to);
#define F(type, name, presence, doc) GS_READ(type, name, presence, record.name)
#define R(type, key, name, presence, doc) GS_READ(type, key, presence, record.name)
#define P(type, key, a, b, presence, doc) GS_READ(type, key, presence, std::tie(record.a, record.b))
#define X(type, key, presence, doc) GS_READ(type, key, presence, key)
#define M(Type, name, initial)
#define GS_RECORD(Name, ROWS) \
  void read_fields(const Fields& from, package::Name& record) { ROWS }
#define GS_STEP(kind, key, ROWS)
#define GS_MANIFEST(ROWS)
#include "package/manifest.def"

#define GS_RECORD(Name, ROWS)
#define GS_STEP(step, key, ROWS)             \
  if (from.has(#key)) {                      \
    record.kind = package::Step::Kind::step; \
    ROWS return;                             \
  }
#define GS_MANIFEST(ROWS)
  void read_fields(const Fields& from, package::Step& record) {
#include "package/manifest.def"
    from.wrong("*", "a step that this run time knows");
  }

#define GS_RECORD(Name, ROWS)
#define GS_STEP(kind, key, ROWS)
#define GS_MANIFEST(ROWS) ROWS
  void read_manifest() {
    const Fields& from = root_;
    package::Module& record = module_;
    std::string format;
    int version = 0;
    std::vector<FileEntry>& files = manifest_.files;
    std::optional<package::Plan> plan;
#include "package/manifest.def"
  }
#undef F
#undef R
#undef P
#undef X
#undef M

  using Key = Fields::Key;
  static void read(const Fields& from, Key key, Text, std::string& to) { to = from.text(key); }
  static void read(const Fields& from, Key key, Plain, std::string& to) {
    to = from.plain_name(key);
  }
  static void read(const Fields& from, Key key, Flag, bool& to) { to = from.flag(key); }
  static void read(const Fields& from, Key key, Dtype, ir::DType& to) { to = from.dtype(key); }
  static void read(const Fields& from, Key key, Target, TargetKind& to) {
    const auto known = target_named(from.text(key));
    to = known.value_or(TargetKind::webgpu);  // which is not a side
  }
  template <class T>
  static void read(const Fields& from, Key key, Count limits, T& to) {
    to = static_cast<T>(from.count(key, limits.most + 1, limits.least));
  }
  void read(const Fields& from, Key key, Index index, int& to) const {
    to = static_cast<int>(from.count(key, size_of(index.list) + index.more));
  }
  void read(const Fields& from, Key key, NumberKind kind, Number& to) const {
    const bool narrow = kind == NumberKind::range || kind == NumberKind::scalar;
    const bool is_signed = kind == NumberKind::scalar || kind == NumberKind::integer;
    const int64_t below =
        narrow && module_.target != TargetKind::cpu ? int64_t{1} << 31 : any_count;
    to = from.number(key, plan_values_, below, is_signed ? -below : 0);
  }
  void read(const Fields& from, Key key, Extents,
            std::tuple<std::vector<Number>&, std::vector<std::string>&> to) const {
    auto& [shape, symbols] = to;
    from.list(key, [&](const Fields& list, Item at) {
      const bool symbol = fed_ && list.find(at)->IsString();
      symbols.push_back(symbol ? list.text(at) : "");
      Number& extent = shape.emplace_back(-1);
      if (!symbol) read(list, at, NumberKind::size, extent);
    });
  }
  void read(const Fields& from, Key key, Pair pair, std::tuple<int&, int&> to) const {
    from.list(
        key,
        [&](const Fields& list, Item at) {
          read(list, at, pair.item, at == 0 ? std::get<0>(to) : std::get<1>(to));
        },
        2);
  }
  void read(const Fields& from, Key key, Pair pair, std::optional<std::pair<int, int>>& to) const {
    auto& [first, second] = to.emplace();
    read(from, key, pair, std::tie(first, second));
  }
  template <class Rule, class T>
  void read(const Fields& from, Key key, List<Rule> rule, std::vector<T>& to) const {
    from.list(key,
              [&](const Fields& list, Item at) { read(list, at, rule.item, to.emplace_back()); });
  }
  template <class T>
  void read(const Fields& from, Key key, One, std::optional<T>& to) {
    read_fields(from.fields(key), to.emplace());
  }
  template <class T>
  void read(const Fields& from, Key key, Many, std::vector<T>& to) {
    from.objects(key, [&](const Fields& one) { read_fields(one, to.emplace_back()); });
  }
  template <class T>
  void read(const Fields& from, Key /*key*/, Flat, T& to) {
    read_fields(from, to);
  }
  void read(const Fields& from, Key key, Fed, std::vector<package::Port>& to) {
    fed_ = true;
    read(from, key, Known(), to);
    fed_ = false;
  }
  template <class T>
  void read(const Fields& from, Key key, Known, std::vector<T>& to) {
    plan_values_ = 0;
    read(from, key, Many(), to);
    plan_values_ = module_.plan_values;
  }
  void read(const Fields& from, Key key, Sets, std::vector<std::pair<int, Number>>& to) const {
    from.list(key, [&](const Fields& list, Item outer) {
      auto& set = to.emplace_back(0, 0);
      list.list(
          outer,
          [&](const Fields& pair, Item at) {
            if (at == 0)
              read(pair, at, Index("dims"), set.first);
            else
              read(pair, at, NumberKind::integer, set.second);
          },
          2);
    });
  }
  void read(const Fields& from, Key key, Steps, std::vector<package::Step>& to) {
    if (!from.find(key)) from.wrong(key, "a list of steps");
    if (depth_ > deepest_step) from.wrong(key, cat("at most ", deepest_step, " steps deep"));
    if (depth_ > deepest_step) return;
    ++depth_;
    read(from, key, Many(), to);
    --depth_;
  }

  // Slots in textures, and others.
  bool texture(const Fields& slot) const {
    const Json* const device = slot.find("device");
    return target_of(module_.target).memory == TargetMemory::textures &&
           (!device || integer_of(*device) != 1);
  }
  bool linear(const Fields& slot) const { return !texture(slot); }
  // What an index may name.
  int64_t size_of(const char* key) const {
    const std::string_view list = key;
    if (list == "segments") return module_.plan_segments;
    if (list == "plans") return module_.plan_values > 0 ? module_.plan_segments : 0;
    if (list == "devices") return root_.has("side") ? 2 : 1;
    const Json* const found = root_.find(key);
    return found && found->IsArray() ? found->Size() : 0;
  }

  std::string problem_;
  Fields root_;
  Manifest manifest_;
  package::Module& module_ = manifest_.module;
  int64_t plan_values_ = 0;  // that numbers may name
  bool fed_ = false;         // ports are inputs
  int depth_ = 0;            // of steps
};

Result<Manifest> Reader::read() {
  const Json* const format = root_.find("format");
  if (problem_.empty() && (!format || !format->IsString() || *format != "gossamer-package"))
    return fail("this is not a package of Gossamer");
  const Json* const version = root_.find("version");
  const std::optional<int64_t> known = version ? integer_of(*version) : std::nullopt;
  if (problem_.empty() &&
      (!known || *known < package::oldest_version || *known > package::format_version))
    return fail(cat("the package has format version ", known ? cat(*known) : "that is no number",
                    ", this run time reads versions ", package::oldest_version, " to ",
                    package::format_version),
                "compile the model again");
  const std::string named = root_.text("target");
  const auto target = target_named(named);
  if (problem_.empty() && !target)
    return fail(cat("the package is compiled for ", named, ", which no run time knows"));
  if (target) module_.target = *target;
  // Limits of what comes before it.
  if (root_.has("plan")) {
    package::Plan plan;
    read_fields(root_.fields("plan"), plan);
    module_.plan_values = plan.values;
    module_.plan_segments = plan.segments;
    plan_values_ = plan.values;
  }
  if (problem_.empty()) read_manifest();
  if (problem_.empty()) check_manifest(root_, manifest_);
  if (!problem_.empty()) return fail(problem_, "the package is damaged: compile the model again");
  return std::move(manifest_);
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                      text.size());
  if (document.HasParseError())
    return fail(cat("this is not JSON, from byte ", document.GetErrorOffset()),
                "the package is damaged: compile the model again");
  return Reader(document).read();
}

}  // namespace gossamer::runtime
