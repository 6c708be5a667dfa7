/* Kernels as a student writes them. layer_norm is wrong on purpose: eps stands outside of the root. Build and try it with
     cc -O2 student.c -o student -lm && pytest --pyargs spec_tests --backend="process:./student" */
#include <math.h>
#include "spec_server.h"

static void softmax(float *y, const float *x, size_t d) {
  float largest = x[0], sum = 0;
  for (size_t j = 1; j < d; j++) largest = fmaxf(largest, x[j]);
  for (size_t j = 0; j < d; j++) sum += y[j] = expf(x[j] - largest);
  for (size_t j = 0; j < d; j++) y[j] /= sum;
}

static void rms_norm(float *y, const float *x, const float *weight, size_t d, double eps) {
  double square = 0;
  for (size_t j = 0; j < d; j++) square += (double)x[j] * x[j];
  double scale = 1 / sqrt(square / d + eps);
  for (size_t j = 0; j < d; j++) y[j] = (float)(x[j] * scale * weight[j]);
}

static void layer_norm(float *y, const float *x, const float *weight, const float *bias, size_t d, double eps) {
  double mean = 0, variance = 0;
  for (size_t j = 0; j < d; j++) mean += x[j] / (double)d;
  for (size_t j = 0; j < d; j++) variance += (x[j] - mean) * (x[j] - mean) / d;
  double scale = 1 / (sqrt(variance) + eps); /* wrong */
  for (size_t j = 0; j < d; j++) y[j] = (float)((x[j] - mean) * scale * weight[j] + bias[j]);
}

spec_answer spec_call(const char *operation, const spec_message *in, spec_message *out) {
  const spec_array *x = spec_find(in, "x"), *weight = spec_find(in, "weight"), *bias = spec_find(in, "bias");
  if (!x || strcmp(x->dtype, "F32")) return (spec_answer){"not_implemented", "x is an array of float32"};
  float *y = spec_add(out, "result", "F32", x->rank, x->shape), *values = x->data;
  size_t d = x->rank && x->count ? x->shape[x->rank - 1] : 1, rows = x->count / d;
  double eps = atof(spec_get(in, "eps"));
  if (!strcmp(operation, "relu"))
    for (size_t i = 0; i < x->count; i++) y[i] = values[i] < 0 ? 0 : values[i];
  else if (!strcmp(operation, "softmax"))
    for (size_t i = 0; i < rows; i++) softmax(y + i * d, values + i * d, d);
  else if (!strcmp(operation, "rms_norm") && weight)
    for (size_t i = 0; i < rows; i++) rms_norm(y + i * d, values + i * d, weight->data, d, eps);
  else if (!strcmp(operation, "layer_norm") && weight && bias)
    for (size_t i = 0; i < rows; i++) layer_norm(y + i * d, values + i * d, weight->data, bias->data, d, eps);
  else
    return (spec_answer){"not_implemented", operation};
  return (spec_answer){0, 0};
}

int main(void) {
  return spec_serve("{\"protocol\": 1, \"name\": \"student-c\", \"version\": \"1\", \"dtypes\": [\"float32\"], \"operations\": {"
                    "\"relu\": {\"arrays\": [\"x\"]}, \"softmax\": {\"arrays\": [\"x\"]},"
                    "\"rms_norm\": {\"arrays\": [\"x\", \"weight\"], \"keywords\": [\"eps\"]},"
                    "\"layer_norm\": {\"arrays\": [\"x\", \"weight\", \"bias\"], \"keywords\": [\"eps\"]}}}");
}
