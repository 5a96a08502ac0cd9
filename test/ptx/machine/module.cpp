// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <bit>
#include <cctype>
#include <cstdlib>

namespace ptx {

namespace {
struct type_name {
  char const* name;
  type is;
  unsigned bits;
};
constexpr type_name names[] = {
    {"pred", type::pred, 1},    {"b8", type::b8, 8},          {"b16", type::b16, 16},
    {"b32", type::b32, 32},     {"b64", type::b64, 64},       {"b128", type::b128, 128},
    {"u8", type::u8, 8},        {"u16", type::u16, 16},       {"u32", type::u32, 32},
    {"u64", type::u64, 64},     {"s8", type::s8, 8},          {"s16", type::s16, 16},
    {"s32", type::s32, 32},     {"s64", type::s64, 64},       {"f16", type::f16, 16},
    {"f32", type::f32, 32},     {"f64", type::f64, 64},       {"bf16", type::bf16, 16},
    {"f16x2", type::f16x2, 32}, {"bf16x2", type::bf16x2, 32},
};
}  // namespace

type type_of(std::string_view name) {
  for (auto const& n : names)
    if (name == n.name) return n.is;
  return type::none;
}
unsigned bits_of(type t) {
  for (auto const& n : names)
    if (t == n.is) return n.bits;
  return 0;
}

namespace {

struct token {
  enum class kind : std::uint8_t { word, number, string, mark, end };
  kind is = kind::end;
  std::string_view text;
  int line = 0;
};

class lexer {
 public:
  explicit lexer(std::string_view text) : text_(text) {}
  token next() {
    skip_blank();
    if (at_ == text_.size()) return {token::kind::end, {}, line_};
    std::size_t const first = at_;
    char const c = text_[at_];
    auto made = [&](token::kind k) { return token{k, text_.substr(first, at_ - first), line_}; };
    if (c == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
        if (text_[at_] == '\\') ++at_;
      ++at_;
      return made(token::kind::string);
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      while (at_ < text_.size() &&
             (is_word(text_[at_]) || text_[at_] == '.' ||
              ((text_[at_] == '+' || text_[at_] == '-') && is_exponent(first))))
        ++at_;
      return made(token::kind::number);
    }
    if (is_word(c) || c == '.') {
      while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' || is_double_colon()))
        at_ += text_[at_] == ':' ? 2 : 1;
      return made(token::kind::word);
    }
    ++at_;
    return made(token::kind::mark);
  }
  std::size_t position() const { return at_; }
  std::string_view between(std::size_t first, std::size_t last) const {
    return text_.substr(first, last - first);
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
  }
  bool is_double_colon() const {
    return text_[at_] == ':' && at_ + 1 < text_.size() && text_[at_ + 1] == ':';
  }
  bool is_exponent(std::size_t first) const {
    bool const hex = text_.substr(first, 2) == "0x" || text_.substr(first, 2) == "0f" ||
                     text_.substr(first, 2) == "0d";
    return !hex && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  }
  void skip_blank() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        for (; at_ < text_.size() && text_.substr(at_, 2) != "*/"; ++at_)
          line_ += text_[at_] == '\n';
        at_ += 2;
      } else {
        return;
      }
    }
  }
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

class parser {
 public:
  explicit parser(std::string_view text) : lexer_(text) { advance(); }

  module run() {
    while (now_.is != token::kind::end) top_level();
    return std::move(module_);
  }

 private:
  // ---- tokens ----
  void advance() {
    now_ = lexer_.next();
    end_of_now_ = lexer_.position();
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw error("PTX line " + std::to_string(now_.line) + ": " + what + " at '" +
                std::string(now_.text) + "'");
  }
  bool is(std::string_view text) const {
    return now_.text == text && now_.is != token::kind::string;
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    advance();
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) fail("'" + std::string(text) + "' expected");
  }
  std::string word() {
    if (now_.is != token::kind::word) fail("a name expected");
    std::string found(now_.text);
    advance();
    return found;
  }
  void skip_to(std::string_view text) {
    while (now_.is != token::kind::end && !take(text)) advance();
  }

  // ---- numbers ----
  struct number {
    std::int64_t bits = 0;
    unsigned float_bits = 0;
  };
  number take_number() {
    bool const minus = take("-");
    if (!minus) take("+");
    std::string const s(now_.text);
    if (now_.is != token::kind::number) fail("a number expected");
    advance();
    number n;
    if (s.size() == 10 && (s[1] == 'f' || s[1] == 'F') && s[0] == '0') {
      n.bits = std::int64_t(std::strtoul(s.c_str() + 2, nullptr, 16)), n.float_bits = 32;
      if (minus) n.bits ^= 0x80000000;
    } else if (s.size() == 18 && (s[1] == 'd' || s[1] == 'D') && s[0] == '0') {
      n.bits = std::int64_t(std::strtoull(s.c_str() + 2, nullptr, 16)), n.float_bits = 64;
      if (minus) n.bits ^= INT64_MIN;
    } else if (s.find('.') != s.npos) {
      double const value = std::strtod(s.c_str(), nullptr);
      n.bits = std::bit_cast<std::int64_t>(minus ? -value : value), n.float_bits = 64;
    } else {
      n.bits = std::int64_t(std::strtoull(s.c_str(), nullptr, 0));
      if (minus) n.bits = -n.bits;
    }
    return n;
  }

  // ---- declarations ----
  void top_level() {
    if (take(".version")) return advance();
    if (is(".target")) {
      advance();
      module_.target = word();
      while (take(",")) word();
      return;
    }
    if (take(".address_size")) return advance();
    if (take(".file")) {  // number "name" [, number, number]
      advance(), advance();
      while (take(",")) advance();
      return;
    }
    if (take(".section")) return skip_to("}");
    if (take(".pragma")) return skip_to(";");
    bool is_extern = false;
    for (;;) {
      if (take(".extern"))
        is_extern = true;
      else if (!take(".visible") && !take(".weak") && !take(".common"))
        break;
    }
    if (take(".entry")) return take_function(true, is_extern);
    if (take(".func")) return take_function(false, is_extern);
    if (take(".alias")) return skip_to(";");
    variable v = take_variable();
    v.is_extern = is_extern;
    expect(";");
    module_.variables.push_back(std::move(v));
  }
  bool take_space(space& s) {
    if (take(".global")) return s = space::global, true;
    if (take(".const")) return s = space::constant, true;
    if (take(".shared")) return s = space::shared, true;
    if (take(".local")) return s = space::local, true;
    if (take(".param")) return s = space::param, true;
    return false;
  }
  /// .space .align n .type name[n] = ...
  variable take_variable() {
    variable v;
    if (!take_space(v.where)) fail("a declaration expected");
    unsigned element = 0;
    for (;;) {
      if (take(".align")) {
        v.align = unsigned(take_number().bits);
      } else if (take(".attribute")) {
        expect("(");
        v.is_managed |= is(".managed");
        skip_to(")");
      } else if (take(".ptr")) {
      } else if (is(".v2") || is(".v4")) {
        vector_ = now_.text[2] - '0';
        advance();
      } else if (is(".global") || is(".const") || is(".shared") || is(".local")) {
        advance();  // of a pointer, behind .ptr
      } else if (now_.text.size() > 1 && now_.text[0] == '.' &&
                 type_of(now_.text.substr(1)) != type::none) {
        element = bits_of(type_of(now_.text.substr(1))) / 8 * unsigned(vector_);
        vector_ = 1;
        advance();
      } else {
        break;
      }
    }
    if (v.align < element) v.align = element;
    v.name = word();
    v.bytes = element;
    while (take("[")) {
      if (is("]"))
        v.bytes = 0;
      else
        v.bytes *= std::uint64_t(take_number().bits);
      expect("]");
    }
    if (take("=")) take_initial(v, element);
    return v;
  }
  void take_initial(variable& v, unsigned element) {
    v.data.resize(v.bytes);
    std::uint64_t at = 0;
    auto one = [&](auto& again) -> void {
      if (take("{")) {
        while (!take("}")) again(again), take(",");
        return;
      }
      if (now_.is == token::kind::word) {  // a variable's address, generic(name) or mask(name)
        bool const call = is("generic");
        std::string name = word();
        if (call) expect("("), name = word(), expect(")");
        std::int64_t const added = take("+") ? take_number().bits : 0;
        v.pointers.push_back({at, name, added});
      } else {
        number const n = take_number();
        for (unsigned b = 0; b < element && at + b < v.bytes; ++b)
          v.data[at + b] = std::uint8_t(std::uint64_t(n.bits) >> (8 * b));
      }
      at += element;
    };
    one(one);
  }
  std::vector<variable> take_params() {
    std::vector<variable> found;
    if (!take("(")) return found;
    while (!take(")")) {
      if (is(".reg")) fail("parameters in registers are not supported");
      found.push_back(take_variable());
      take(",");
    }
    return found;
  }
  void take_function(bool is_entry, bool is_extern) {
    function f;
    f.is_entry = is_entry, f.is_extern = is_extern;
    if (!is_entry) f.returns = take_params();
    f.name = word();
    f.params = take_params();
    while (now_.is == token::kind::word && now_.text[0] == '.') {  // .maxntid and the like
      bool const bare = is(".noreturn") || is(".explicitcluster");
      advance();
      if (!bare)
        while (now_.is == token::kind::number || is(",")) advance();
    }
    if (take(";")) {
      f.is_extern = true;
    } else {
      function_ = &f;
      f.scopes.push_back({});
      scope_ = 0;
      source_ = 0;
      expect("{");
      body();
    }
    module_.functions.push_back(std::move(f));
  }

  // ---- bodies ----
  scope& here() { return function_->scopes[std::size_t(scope_)]; }
  void body() {
    while (!take("}")) {
      if (now_.is == token::kind::end) fail("'}' expected");
      if (take("{")) {
        int const outer = scope_;
        function_->scopes.push_back({outer, {}, {}, {}});
        scope_ = int(function_->scopes.size()) - 1;
        body();
        scope_ = outer;
      } else if (is(".loc")) {
        take_location();
      } else if (take(".reg")) {
        take_registers();
      } else if (take(".pragma")) {
        skip_to(";");
      } else if (is(".shared") || is(".local") || is(".param") || is(".global") || is(".const")) {
        variable v = take_variable();
        expect(";");
        function_->variables.push_back(std::move(v));
      } else {
        take_statement();
      }
    }
  }
  void take_location() {  // .loc file line column [, function_name ...]
    advance(), advance();
    source_ = int(take_number().bits);
    advance();
    while (take(",")) {
      word();
      if (now_.is == token::kind::word) word();
      if (take("+")) advance();
      if (now_.is == token::kind::number) advance(), advance(), advance();
    }
  }
  void take_registers() {
    unsigned vector = 1;
    if (is(".v2") || is(".v4")) vector = unsigned(now_.text[2] - '0'), advance();
    if (vector != 1) fail("vector registers are not supported");
    type const t = type_of(now_.text.substr(1));
    advance();
    do {
      std::string const name = word();
      bool const many = take("<");
      if (many) take_number(), expect(">");
      here().declared[name] = {t, many};
    } while (take(","));
    expect(";");
  }
  void take_statement() {
    statement s;
    s.line = now_.line, s.scope = scope_, s.source = source_;
    std::size_t const first = end_of_now_ - now_.text.size();
    if (take("@")) {
      s.guard_negated = take("!");
      s.guard = word();
    }
    std::string const op = word();
    if (take(":")) {  // a label, or a table of labels
      if (is(".branchtargets")) {
        advance();
        auto& table = here().tables[op];
        while (!take(";")) table.push_back(word()), take(",");
      } else if (is(".callprototype")) {
        skip_to(";");
      } else {
        here().labels[op] = std::uint32_t(function_->code.size());
      }
      return;
    }
    for (std::size_t at = 0; at <= op.size();) {
      std::size_t const dot = op.find('.', at);
      std::string part = op.substr(at, dot == op.npos ? op.npos : dot - at);
      if (at == 0)
        s.opcode = std::move(part);
      else
        s.suffix.push_back(std::move(part));
      if (dot == op.npos) break;
      at = dot + 1;
    }
    while (!is(";")) {
      s.operands.push_back(take_operand());
      if (!take(",") && !is(";")) fail("',' or ';' expected");
    }
    s.text = lexer_.between(first, end_of_now_);
    expect(";");
    function_->code.push_back(std::move(s));
  }
  operand take_operand() {
    operand o;
    if (take("{") || is("(")) {
      bool const call = take("(");
      o.is = operand::kind::vector;
      while (!take(call ? ")" : "}")) o.parts.push_back(take_operand()), take(",");
      return o;
    }
    if (take("[")) {
      o.is = operand::kind::address;
      if (now_.is == token::kind::word)
        o.name = word();
      else
        o.value = take_number().bits;
      if (take("+"))
        o.value += take_number().bits;
      else if (is("-"))
        o.value += take_number().bits;
      if (is(",")) fail("an address of several parts is not supported");
      expect("]");
      return o;
    }
    if (take("!")) o.negated = true;
    if (now_.is == token::kind::number || is("-") || is("+")) {
      number const n = take_number();
      o.is = operand::kind::number, o.value = n.bits, o.float_bits = n.float_bits;
      return o;
    }
    std::string const name = word();
    if (name == "_")
      o.is = operand::kind::sink;
    else
      o.is = operand::kind::name, o.name = name;
    if (take("|")) o.second = word();
    if (take("+")) o.value = take_number().bits;
    return o;
  }

  lexer lexer_;
  token now_;
  std::size_t end_of_now_ = 0;
  module module_;
  function* function_ = nullptr;
  int scope_ = 0, source_ = 0, vector_ = 1;
};

}  // namespace

module parse(std::string_view text) { return parser(text).run(); }

}  // namespace ptx
