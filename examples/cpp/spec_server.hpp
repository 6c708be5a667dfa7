// The process protocol in C++17, standard library only: include it, and let main return serve(description, functions).
// A function returns its results by their names, or throws NotImplemented, or throws the Value of an operation without arrays.
#pragma once
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
const std::map<std::string, size_t> SIZES{{"F64", 8}, {"I64", 8}, {"F32", 4}, {"I32", 4}, {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"BOOL", 1}, {"I8", 1}, {"U8", 1}};
struct NotImplemented : std::runtime_error { using runtime_error::runtime_error; };
struct Value { long long value; };
struct Array { std::string dtype; std::vector<size_t> shape, offsets; std::vector<char> data; // its elements, little-endian
  template <class T> std::vector<T> read(const std::string &stated) const { // as x.read<float>("F32")
    if (dtype != stated) throw NotImplemented("arrays of " + dtype);
    std::vector<T> values(data.size() / sizeof(T)); if (!values.empty()) memcpy(values.data(), data.data(), data.size());
    return values; }
  template <class T> static Array of(const std::string &dtype, const std::vector<size_t> &shape, const std::vector<T> &values) {
    const char *start = reinterpret_cast<const char *>(values.data());
    return Array{dtype, shape, {}, std::vector<char>(start, start + values.size() * sizeof(T))}; } };
using Arrays = std::map<std::string, Array>;
struct Message { std::map<std::string, std::string> metadata; Arrays arrays; };
using Function = std::function<Arrays(Message &)>;

struct Header { // reads the JSON of a header: the texts of a request are ASCII without escapes
  std::string text; size_t at = 0;
  char peek() { at = std::min(text.find_first_not_of(" \n\r\t,:", at), text.size()); return text.c_str()[at]; }
  bool next(char c) { return peek() == c && ++at; }
  void expect(char c) { if (!next(c)) throw std::runtime_error("malformed header"); }
  std::string word() { expect('"'); size_t end = text.find_first_of("\"\\", at), from = at; at = end; expect('"'); return text.substr(from, end - from); }
  std::vector<size_t> numbers() { std::vector<size_t> all; size_t used;
    for (expect('['); !next(']'); at += used) { if (!isdigit(peek())) expect('0'); all.push_back(std::stoull(text.substr(at), &used)); }
    return all; }
  Message message() { Message m;
    for (expect('{'); !next('}'); ) { std::string name = word(), key; expect('{');
      for (auto &a = m.arrays[name]; !next('}'); ) { key = word();
        if (name == "__metadata__") m.metadata[key] = word();
        else if (key == "dtype") a.dtype = word();
        else (key == "shape" ? a.shape : a.offsets) = numbers(); } }
    m.arrays.erase("__metadata__");
    if (peek() || at != text.size()) throw std::runtime_error("malformed header");
    return m; }
};
inline bool read(Message &m) {
  uint64_t size; std::cin.read(reinterpret_cast<char *>(&size), 8);
  if (!std::cin) { if (std::cin.gcount()) throw std::runtime_error("the input ends early"); return false; }
  if (size > 1 << 20) throw std::runtime_error("its header is too large");
  Header header{std::string(size, ' ')}; std::cin.read(header.text.data(), size); m = header.message();
  size_t end = 0; for (auto &[name, a] : m.arrays) end = std::max(end, a.offsets.size() == 2 ? a.offsets[1] : 0);
  std::vector<char> data(end); std::cin.read(data.data(), end);
  if (!std::cin) throw std::runtime_error("the input ends early");
  for (auto &[name, a] : m.arrays) { size_t count = 1; for (size_t n : a.shape) count *= n;
    if (a.offsets.size() != 2 || a.offsets[0] > end || count > end || a.offsets[1] - a.offsets[0] != count * SIZES.at(a.dtype)) throw std::runtime_error(name);
    a.data.assign(data.begin() + a.offsets[0], data.begin() + a.offsets[1]); }
  return true; }
inline std::string quote(const std::string &s) { std::string q = "\""; for (char c : s) { if (c == '"' || c == '\\') q += '\\'; q += c == '\n' ? ' ' : c; } return q + '"'; }
inline void write(std::ostream &out, const std::string &key, const std::string &value, const Arrays &results = {}) {
  std::string h = "{\"__metadata__\":{" + (key.empty() ? "" : quote(key) + ":" + quote(value)) + "}"; size_t at = 0;
  for (auto &[name, a] : results) { std::string shape; for (size_t n : a.shape) shape += (shape.empty() ? "" : ",") + std::to_string(n);
    h += "," + quote(name) + ":{\"dtype\":" + quote(a.dtype) + ",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + a.data.size()) + "]}";
    at += a.data.size(); }
  h += '}'; h.resize((h.size() + 7) / 8 * 8, ' '); uint64_t size = h.size();
  out.write(reinterpret_cast<char *>(&size), 8) << h; for (auto &[name, a] : results) out.write(a.data.data(), a.data.size()); out.flush(); }
inline int serve(const std::string &description, const std::map<std::string, Function> &functions) {
  std::ios::sync_with_stdio(false); std::cin.tie(nullptr);
  std::ostream out(std::cout.rdbuf()); std::cout.rdbuf(std::cerr.rdbuf()); // what std::cout is given goes to standard error
  try { for (Message m; read(m); ) { const std::string request = m.metadata["request"], operation = m.metadata["operation"];
    try {
      if (request == "quit") { write(out, "", ""); return 0; }
      if (request == "describe") write(out, "describe", description);
      else if (request != "call") write(out, "error", "unknown request");
      else if (!functions.count(operation)) throw NotImplemented(operation);
      else write(out, "", "", functions.at(operation)(m));
    } catch (const NotImplemented &e) { write(out, "not_implemented", e.what());
    } catch (const Value &v) { write(out, "value", std::to_string(v.value)); }
  } } catch (const std::exception &e) { std::cerr << "malformed request: " << e.what() << "\n"; return 2; }
  return 0; }
