// Functions as a student writes them. layer_norm is wrong on purpose: eps stands outside of the root.
//   c++ -O2 -std=c++17 student.cpp -o student && pytest --pyargs spec_tests --backend="process:./student"
#include <cmath>
#include "spec_server.hpp"

Arrays relu(Message &m) {
  std::vector<float> y = m.arrays["x"].read<float>("F32");
  for (float &v : y) v = v < 0 ? 0 : v;
  return {{"result", Array::of("F32", m.arrays["x"].shape, y)}};
}

Arrays norm(Message &m, bool centred) {
  const std::vector<size_t> &shape = m.arrays["x"].shape;
  std::vector<float> y = m.arrays["x"].read<float>("F32"), w = m.arrays["weight"].read<float>("F32"), b(w.size());
  if (centred) b = m.arrays["bias"].read<float>("F32");
  const size_t d = w.size();
  const double eps = atof(m.metadata["eps"].c_str());
  for (float *row = y.data(); row < y.data() + y.size(); row += d) {
    double mean = 0, square = 0;
    for (size_t j = 0; j < d; j++) mean += centred ? row[j] / double(d) : 0;
    for (size_t j = 0; j < d; j++) square += (row[j] - mean) * (row[j] - mean) / d;
    const double scale = centred ? 1 / (std::sqrt(square) + eps) /* wrong */ : 1 / std::sqrt(square + eps);
    for (size_t j = 0; j < d; j++) row[j] = (row[j] - mean) * scale * w[j] + b[j];
  }
  return {{"result", Array::of("F32", shape, y)}};
}

int main() {
  return serve(R"({"protocol": 1, "name": "example-cpp", "version": "1", "dtypes": ["float32"], "operations": {
    "relu": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]},
    "layer_norm": {"arrays": ["x", "weight", "bias"], "keywords": ["eps"]}}})",
               {{"relu", relu}, {"rms_norm", [](Message &m) { return norm(m, false); }}, {"layer_norm", [](Message &m) { return norm(m, true); }}});
}
