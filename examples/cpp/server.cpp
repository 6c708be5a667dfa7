// The process protocol in C++17, standard library only. layer_norm is wrong on purpose: eps stands outside of the root.
//   c++ -O2 -std=c++17 server.cpp -o server && pytest --pyargs spec_tests --backend="process:./server"
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Array { std::string dtype; std::vector<size_t> shape, offsets; std::vector<float> values; };
struct Message { std::map<std::string, std::string> metadata; std::map<std::string, Array> arrays; };
struct NotImplemented : std::runtime_error { using runtime_error::runtime_error; };

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
bool read(Message &m) {
  uint64_t size; std::cin.read(reinterpret_cast<char *>(&size), 8);
  if (!std::cin) { if (std::cin.gcount()) throw std::runtime_error("the input ends early"); return false; }
  if (size > 1 << 20) throw std::runtime_error("its header is too large");
  Header header{std::string(size, ' ')}; std::cin.read(header.text.data(), size); m = header.message();
  size_t end = 0; for (auto &[name, a] : m.arrays) end = std::max(end, a.offsets.size() == 2 ? a.offsets[1] : 0);
  std::vector<char> data(end); std::cin.read(data.data(), end);
  if (!std::cin) throw std::runtime_error("the input ends early");
  for (auto &[name, a] : m.arrays) { size_t count = 1; for (size_t n : a.shape) count *= n;
    const std::map<std::string, size_t> sizes{{"F64", 8}, {"I64", 8}, {"F32", 4}, {"I32", 4}, {"F16", 2}, {"BF16", 2}, {"BOOL", 1}};
    if (a.offsets.size() != 2 || a.offsets[0] > end || count > end || a.offsets[1] - a.offsets[0] != count * sizes.at(a.dtype)) throw std::runtime_error(name);
    if (a.dtype == "F32") { a.values.resize(count); if (count) memcpy(a.values.data(), data.data() + a.offsets[0], 4 * count); } }
  return true; }
std::string quote(const std::string &s) { std::string q = "\""; for (char c : s) { if (c == '"' || c == '\\') q += '\\'; q += c == '\n' ? ' ' : c; } return q + '"'; }
void write(std::ostream &out, const std::string &key, const std::string &value, const Array *a = nullptr) {
  std::string h = "{\"__metadata__\":{" + (key.empty() ? "" : quote(key) + ":" + quote(value)) + "}", shape;
  size_t bytes = a ? 4 * a->values.size() : 0;
  if (a) { for (size_t n : a->shape) shape += (shape.empty() ? "" : ",") + std::to_string(n);
    h += ",\"result\":{\"dtype\":\"F32\",\"shape\":[" + shape + "],\"data_offsets\":[0," + std::to_string(bytes) + "]}"; }
  h += '}'; h.resize((h.size() + 7) / 8 * 8, ' '); uint64_t size = h.size();
  out.write(reinterpret_cast<char *>(&size), 8) << h; if (a) out.write(reinterpret_cast<const char *>(a->values.data()), bytes); out.flush(); }
Array call(const std::string &op, Message &m) {
  bool given = m.arrays.count("weight") && (op == "rms_norm" || (op == "layer_norm" && m.arrays.count("bias")));
  Array y = m.arrays["x"]; const float *w = m.arrays["weight"].values.data(), *b = m.arrays["bias"].values.data();
  if (y.dtype != "F32" || !(given || op == "relu")) throw NotImplemented(op + " of " + y.dtype);
  size_t d = y.shape.empty() ? 1 : y.shape.back();
  for (float *row = y.values.data(); row < y.values.data() + y.values.size(); row += d) { double mean = 0, square = 0, eps = atof(m.metadata["eps"].c_str());
    for (size_t j = 0; j < d; j++) mean += op == "layer_norm" ? row[j] / double(d) : 0;
    for (size_t j = 0; j < d; j++) square += (row[j] - mean) * (row[j] - mean) / d;
    double scale = op == "layer_norm" ? 1 / (std::sqrt(square) + eps) /* wrong */ : 1 / std::sqrt(square + eps);
    for (size_t j = 0; j < d; j++) row[j] = op == "relu" ? (row[j] < 0 ? 0 : row[j]) : (row[j] - mean) * scale * w[j] + (b ? b[j] : 0); }
  return y;
}
int main() { const std::string description = R"({"protocol": 1, "name": "example-cpp", "version": "1", "dtypes": ["float32"], "operations": {
    "relu": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]},
    "layer_norm": {"arrays": ["x", "weight", "bias"], "keywords": ["eps"]}}})";
  std::cin.tie(nullptr); std::ios::sync_with_stdio(false);
  try { for (Message m; read(m); ) { const std::string request = m.metadata["request"];
    try {
      if (request == "quit") { write(std::cout, "", ""); return 0; }
      if (request == "describe") write(std::cout, "describe", description);
      else if (request != "call") write(std::cout, "error", "unknown request");
      else { Array y = call(m.metadata["operation"], m); write(std::cout, "", "", &y); }
    } catch (const NotImplemented &e) { write(std::cout, "not_implemented", e.what()); }
  } } catch (const std::exception &e) { std::cerr << "malformed request: " << e.what() << "\n"; return 2; }
}
