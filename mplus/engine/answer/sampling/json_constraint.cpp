#include "mplus/engine/answer/sampling/json_constraint.h"

#include <algorithm>

namespace mplus::engine {
namespace {

using ValueKind = JsonShape::ValueKind;

constexpr std::size_t kMostSpace = 24;  // white space in a row: a model could go on with it for ever
constexpr std::size_t kMostDepth = 64;

// Where a text stands inside a value.
struct Frame {
  enum class At {
    value,    // before it
    literal,  // `text` up to `place` is there
    string,   // inside the quotes; `place`: see Text
    number,   // `place`: see Digits
    object_begin,
    object_key,
    object_colon,
    object_after,
    object_next,
    array_begin,
    array_after,
  };
  At at = At::value;
  const JsonShape* shape = nullptr;
  std::size_t place = 0;
  std::size_t count = 0;  // properties passed, or items
  bool free_key = false;  // it is none of the properties'
};

// Places in a string: 0, behind a backslash, four hex digits to come, bytes of a character to come.
constexpr std::size_t kPlain = 0, kEscape = 1, kHex = 2 /* … 5 */, kCharacter = 6 /* … 8 */;
// Places in a number.
constexpr int kSign = 0, kZero = 1, kWhole = 2, kPoint = 3, kFraction = 4, kExponent = 5, kExponentSign = 6,
              kExponentDigits = 7;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool number_may_end(std::size_t place) {
  return place == kZero || place == kWhole || place == kFraction || place == kExponentDigits;
}

// −1: this byte cannot be there.
int next_in_number(std::size_t place, char c, bool integer) {
  const auto digits_to = [&](int next) { return is_digit(c) ? next : -1; };
  const bool has_exponent = !integer && (c == 'e' || c == 'E');
  switch (static_cast<int>(place)) {
    case kSign:
      return c == '0' ? kZero : digits_to(kWhole);
    case kZero:
      return has_exponent ? kExponent : !integer && c == '.' ? kPoint : -1;
    case kWhole:
      return has_exponent ? kExponent : !integer && c == '.' ? kPoint : digits_to(kWhole);
    case kPoint:
      return digits_to(kFraction);
    case kFraction:
      return has_exponent ? kExponent : digits_to(kFraction);
    case kExponent:
      return c == '+' || c == '-' ? kExponentSign : digits_to(kExponentDigits);
    default:
      return digits_to(kExponentDigits);
  }
}

// A byte inside a string, its closing quote not among them.
int next_in_string(std::size_t place, unsigned char c) {
  if (place >= kCharacter) {
    if ((c & 0xc0) != 0x80) return -1;
    return static_cast<int>(place == kCharacter ? kPlain : place - 1);
  }
  if (place == kEscape) {
    if (c == 'u') return kHex;
    return std::string_view("\"\\/bfnrt").find(static_cast<char>(c)) == std::string_view::npos
               ? -1
               : static_cast<int>(kPlain);
  }
  if (place >= kHex) {
    const bool hex = is_digit(static_cast<char>(c)) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!hex) return -1;
    return static_cast<int>(place == kHex + 3 ? kPlain : place + 1);
  }
  if (c == '\\') return kEscape;
  if (c < 0x20) return -1;
  if (c < 0x80) return kPlain;
  if (c >= 0xc2 && c < 0xe0) return kCharacter;
  if (c >= 0xe0 && c < 0xf0) return kCharacter + 1;
  if (c >= 0xf0 && c < 0xf5) return kCharacter + 2;
  return -1;
}

class JsonConstraint final : public Constraint {
 public:
  explicit JsonConstraint(JsonShapePtr shape) : shape_(std::move(shape)) {
    begin_value(State{}, shape_.get(), states_);
  }

  bool allows(std::string_view bytes) const override {
    std::vector<State> states = states_;
    return advance(states, bytes);
  }
  void take(std::string_view bytes) override { advance(states_, bytes); }
  bool may_end() const override {
    return std::any_of(states_.begin(), states_.end(), [](const State& state) {
      return state.frames.empty() || (state.frames.size() == 1 && state.frames[0].at == Frame::At::number &&
                                      number_may_end(state.frames[0].place));
    });
  }

 private:
  // One way to read the text so far: values inside values.
  struct State {
    std::vector<Frame> frames;  // empty: the value has ended
    std::size_t space = 0;      // white space in a row
  };
  using States = std::vector<State>;

  static bool advance(States& states, std::string_view bytes) {
    States next;
    for (const char c : bytes) {
      next.clear();
      for (State& state : states) step(std::move(state), c, next);
      states.swap(next);
      if (states.empty()) return false;
    }
    return true;
  }

  // All ways into a value of this shape, which stands behind what is there.
  static void begin_value(State state, const JsonShape* shape, States& out) {
    if (state.frames.size() >= kMostDepth) return;
    if (shape->kind == ValueKind::choice) {
      for (const JsonShape* choice : shape->choices) begin_value(state, choice, out);
      return;
    }
    state.frames.push_back({.shape = shape});
    out.push_back(std::move(state));
  }

  static void end_value(State state, States& out) {
    state.frames.pop_back();
    if (!state.frames.empty()) {
      Frame& outer = state.frames.back();
      outer.at = outer.shape->kind == ValueKind::object ? Frame::At::object_after : Frame::At::array_after;
    }
    out.push_back(std::move(state));
  }

  static void step(State state, char c, States& out) {
    if (state.frames.empty()) return;  // nothing follows a whole value
    const Frame::At at = state.frames.back().at;
    const bool between = at != Frame::At::literal && at != Frame::At::string && at != Frame::At::number &&
                         at != Frame::At::object_key;
    if (between && is_space(c)) {
      // None before the first value: an answer begins with it.
      const bool first = state.frames.size() == 1 && at == Frame::At::value;
      if (!first && ++state.space <= kMostSpace) out.push_back(std::move(state));
      return;
    }
    state.space = 0;
    switch (at) {
      case Frame::At::value:
        return step_value(std::move(state), c, out);
      case Frame::At::literal:
        return step_literal(std::move(state), c, out);
      case Frame::At::string:
        return step_string(std::move(state), c, out);
      case Frame::At::number:
        return step_number(std::move(state), c, out);
      case Frame::At::array_begin:
      case Frame::At::array_after:
        return step_array(std::move(state), c, out);
      default:
        return step_object(std::move(state), c, out);
    }
  }

  static void step_value(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    switch (frame.shape->kind) {
      case ValueKind::literal:
        frame.at = Frame::At::literal;
        return step_literal(std::move(state), c, out);
      case ValueKind::string:
        if (c != '"') return;
        frame.at = Frame::At::string;
        break;
      case ValueKind::number:
      case ValueKind::integer:
        if (c != '-' && !is_digit(c)) return;
        frame.at = Frame::At::number;
        frame.place = static_cast<std::size_t>(c == '-' ? kSign : c == '0' ? kZero : kWhole);
        break;
      case ValueKind::object:
        if (c != '{') return;
        frame.at = Frame::At::object_begin;
        break;
      case ValueKind::array:
        if (c != '[') return;
        frame.at = Frame::At::array_begin;
        break;
      case ValueKind::choice:
        return;  // begin_value has chosen
    }
    out.push_back(std::move(state));
  }

  static void step_literal(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    if (frame.shape->literal[frame.place] != c) return;
    if (++frame.place == frame.shape->literal.size()) return end_value(std::move(state), out);
    out.push_back(std::move(state));
  }

  static void step_string(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    if (frame.place == kPlain && c == '"') return end_value(std::move(state), out);
    const int next = next_in_string(frame.place, static_cast<unsigned char>(c));
    if (next < 0) return;
    frame.place = static_cast<std::size_t>(next);
    out.push_back(std::move(state));
  }

  // A number ends where something else begins, which belongs to what is around it.
  static void step_number(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    const int next = next_in_number(frame.place, c, frame.shape->kind == ValueKind::integer);
    if (next >= 0) {
      frame.place = static_cast<std::size_t>(next);
      out.push_back(std::move(state));
      return;
    }
    if (!number_may_end(frame.place)) return;
    States ended;
    end_value(std::move(state), ended);
    for (State& one : ended) step(std::move(one), c, out);
  }

  static void step_array(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    const bool begins = frame.at == Frame::At::array_begin;
    if (c == ']' && frame.count >= frame.shape->least) return end_value(std::move(state), out);
    if (frame.count >= frame.shape->most) return;
    ++frame.count;
    const JsonShape* items = frame.shape->items;
    if (!begins) {
      if (c == ',') begin_value(std::move(state), items, out);
      return;
    }
    States values;
    begin_value(std::move(state), items, values);
    for (State& value : values) step(std::move(value), c, out);
  }

  // Whether all that is required is there with the first n properties passed.
  static bool is_complete(const JsonShape& shape, std::size_t passed) {
    return std::none_of(
        shape.properties.begin() + static_cast<std::ptrdiff_t>(std::min(passed, shape.properties.size())),
        shape.properties.end(), [](const JsonShape::Property& property) { return property.required; });
  }

  static void step_object(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    const JsonShape& shape = *frame.shape;
    switch (frame.at) {
      case Frame::At::object_begin:
      case Frame::At::object_after:
        if (c == '}' && is_complete(shape, frame.count)) return end_value(std::move(state), out);
        if (frame.at == Frame::At::object_after) {
          if (c != ',' || (frame.count >= shape.properties.size() && !shape.additional)) return;
          frame.at = Frame::At::object_next;
          out.push_back(std::move(state));
          return;
        }
        [[fallthrough]];
      case Frame::At::object_next:
        if (c == '"') begin_keys(state, out);
        return;
      case Frame::At::object_key:
        return step_key(std::move(state), c, out);
      case Frame::At::object_colon: {
        if (c != ':') return;
        const JsonShape* value = frame.free_key ? shape.additional : shape.properties[frame.count - 1].shape;
        return begin_value(std::move(state), value, out);
      }
      default:
        return;
    }
  }

  // The quote of a key: each property that may come now is a way, those in between must not be required.
  static void begin_keys(const State& state, States& out) {
    const Frame& frame = state.frames.back();
    const JsonShape& shape = *frame.shape;
    for (std::size_t i = frame.count; i < shape.properties.size(); ++i) {
      State way = state;
      Frame& own = way.frames.back();
      own.at = Frame::At::object_key;
      own.count = i + 1;
      own.free_key = false;
      own.place = 1;
      out.push_back(std::move(way));
      if (shape.properties[i].required) return;
    }
    if (!shape.additional) return;
    State way = state;
    Frame& own = way.frames.back();
    own.at = Frame::At::object_key;
    own.free_key = true;
    own.place = kPlain;
    out.push_back(std::move(way));
  }

  static void step_key(State state, char c, States& out) {
    Frame& frame = state.frames.back();
    if (frame.free_key) {
      if (frame.place == kPlain && c == '"') {
        frame.at = Frame::At::object_colon;
      } else {
        const int next = next_in_string(frame.place, static_cast<unsigned char>(c));
        if (next < 0) return;
        frame.place = static_cast<std::size_t>(next);
      }
    } else {
      const std::string& key = frame.shape->properties[frame.count - 1].key;
      if (key[frame.place] != c) return;
      if (++frame.place == key.size()) frame.at = Frame::At::object_colon;
    }
    out.push_back(std::move(state));
  }

  JsonShapePtr shape_;
  States states_;
};

}  // namespace

std::unique_ptr<Constraint> json_constraint(JsonShapePtr shape) {
  return std::make_unique<JsonConstraint>(std::move(shape));
}

}  // namespace mplus::engine
