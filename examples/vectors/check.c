/* Check a function against a file of test vectors, in C99 without dependencies: cc check.c -o check -lm && ./check softmax.safetensors
   The header is searched as the library safetensors writes it: without blanks, with dtype, shape and data_offsets in this order. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void softmax(float *y, const float *x, size_t rows, size_t width) { /* the function to check: replace it by your own */
  for (size_t i = 0; i < rows; i++, x += width, y += width) {
    float largest = x[0], sum = 0;
    for (size_t j = 1; j < width; j++) largest = fmaxf(largest, x[j]);
    for (size_t j = 0; j < width; j++) sum += y[j] = expf(x[j] - largest);
    for (size_t j = 0; j < width; j++) y[j] /= sum;
  }
}

static char *header, *data;
static const char *text(int number, const char *key) { /* an entry of a vector's metadata */
  static char name[64], value[1 << 14];
  snprintf(name, sizeof name, "\"%d.%s\":\"", number, key);
  char *found = strstr(header, name);
  if (!found) return "";
  found += strlen(name);
  snprintf(value, sizeof value, "%.*s", (int)strcspn(found, "\""), found);
  return value;
}
static float *floats(int number, const char *array, size_t *count, size_t *width) { /* its elements; its size, and that of its last axis */
  char name[64];
  snprintf(name, sizeof name, "\"%d.%s\":{\"dtype\":\"F32\",\"shape\":[", number, array);
  char *at = strstr(header, name);
  if (!at) return NULL;
  *count = *width = 1;
  for (at += strlen(name); *at != ']'; at += *at == ',') *count *= *width = strtoull(at, &at, 10);
  return (float *)(data + strtoull(strchr(at, '[') + 1, NULL, 10));
}

int main(int argc, char **argv) {
  FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
  uint64_t size;
  if (!f || fread(&size, 8, 1, f) != 1 || size > 1 << 28) { fprintf(stderr, "usage: check FILE.safetensors\n"); return 2; }
  header = calloc(size + 1, 1); data = malloc(1 << 28); /* the offsets are of aligned arrays, as the library writes them */
  if (!header || !data || fread(header, 1, size, f) != size || !fread(data, 1, 1 << 28, f)) return 2;
  int total = atoi(strstr(header, "\"count\":\"") + 9), checked = 0, failed = 0;
  for (int number = 0; number < total; number++) {
    size_t count, width, n;
    float *x = floats(number, "x", &count, &width), *low = floats(number, "low", &n, &n), *high = floats(number, "high", &n, &n);
    if (!x || atoi(text(number, "keywords.axis")) != -1) continue; /* the function has float32 and the last axis alone */
    float *y = malloc(4 * count + 1); size_t i = 0;
    if (count) softmax(y, x, count / width, width);
    while (i < count && ((low[i] <= y[i] && y[i] <= high[i]) || (low[i] == -INFINITY && high[i] == INFINITY))) i++; /* no claim there */
    checked++;
    if (i < count && ++failed) printf("vector %d, law %s: element %zu is %.9g, not in [%.9g, %.9g]\n", number, text(number, "law"), i, y[i], low[i], high[i]);
    if (i < count) printf("  so do: %s\n", text(number, "catches"));
    free(y);
  }
  printf("softmax: %d of %d vectors checked, %d failed\n", checked, total, failed);
  return failed ? 1 : 0;
}
