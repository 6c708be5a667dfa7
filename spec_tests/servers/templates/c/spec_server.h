/* The process protocol of spec-tests in C99, header only: include it, define spec_call, and let main call spec_serve. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { MAX_NAMES = 256, MAX_RANK = 16, TEXT = 128 };
typedef struct { char name[TEXT], dtype[TEXT]; int rank; size_t shape[MAX_RANK], count, start, bytes; void *data; } spec_array;
typedef struct { int arrays, entries; spec_array array[MAX_NAMES]; char key[MAX_NAMES][TEXT], value[MAX_NAMES][TEXT]; } spec_message;
typedef struct { const char *key, *text; } spec_answer; /* {0, 0}: the results are in `out`; else "not_implemented", "error", "value" */
spec_answer spec_call(const char *operation, const spec_message *in, spec_message *out); /* you write this */

static const char *spec_at, *spec_end; /* what is left of the header */
static void spec_fail(const char *why) { fprintf(stderr, "malformed request: %.99s\n", why); exit(2); } /* as the protocol allows */
static void *spec_memory(void *p, size_t size) { if (!(p = realloc(p, size + 8))) spec_fail("it is too large"); return p; }
static int spec_next(char c) {
  while (spec_at < spec_end && strchr(" \n\r\t,:", *spec_at)) spec_at++;
  return spec_at < spec_end && *spec_at == c ? (spec_at++, 1) : 0; }
static void spec_expect(char c) { if (!spec_next(c)) spec_fail(spec_at); }
static void spec_text(char *out) { size_t k = 0; /* the texts of a request are ASCII without escapes */
  for (spec_expect('"'); *spec_at != '"'; out[k++] = *spec_at++) if (k + 1 == TEXT || *spec_at == '\\' || !*spec_at) spec_fail("a text");
  out[k] = 0; spec_at++; }
static size_t spec_number(void) { char digits[TEXT]; size_t k = 0;
  for (spec_next(0); *spec_at >= '0' && *spec_at <= '9' && k < 15; spec_at++) digits[k++] = *spec_at;
  return digits[k] = 0, !k ? (spec_fail("a number"), 0) : strtoull(digits, 0, 10); }
static size_t spec_size(const char *dtype) {
  const char *names[] = {"F64", "I64", "F32", "I32", "U32", "F16", "BF16", "BOOL", "I8", "U8"};
  for (int i = 0; i < 10; i++) if (!strcmp(dtype, names[i])) return (size_t[]){8, 8, 4, 4, 4, 2, 2, 1, 1, 1}[i];
  return spec_fail(dtype), 0; }
/* A keyword, "" if the request does not have it; an array, 0 if the request does not have it; a result, for you to fill. */
static const char *spec_get(const spec_message *m, const char *key) {
  for (int i = 0; i < m->entries; i++) if (!strcmp(m->key[i], key)) return m->value[i];
  return ""; }
static const spec_array *spec_find(const spec_message *m, const char *name) {
  for (int i = 0; i < m->arrays; i++) if (!strcmp(m->array[i].name, name)) return &m->array[i];
  return 0; }
static void *spec_add(spec_message *m, const char *name, const char *dtype, int rank, const size_t *shape) {
  spec_array *a = &m->array[m->arrays++]; strcpy(a->name, name); strcpy(a->dtype, dtype); a->rank = rank; a->count = 1;
  for (int i = 0; i < rank; i++) a->count *= a->shape[i] = shape[i];
  return a->data = spec_memory(0, a->bytes = a->count * spec_size(dtype)); }
static void spec_read_array(spec_array *a) { char field[TEXT]; int seen = 0; a->rank = 0; a->count = 1;
  for (spec_expect('{'); !spec_next('}'); seen++) { spec_text(field); spec_next(0);
    if (!strcmp(field, "dtype")) spec_text(a->dtype);
    else if (spec_expect('['), !strcmp(field, "shape"))
      while (!spec_next(']')) { if (a->rank == MAX_RANK) spec_fail("a shape"); a->count *= a->shape[a->rank++] = spec_number(); }
    else { a->start = spec_number(); a->bytes = spec_number() - a->start; spec_expect(']'); } }
  if (seen != 3 || a->bytes > (size_t)1 << 40 || a->bytes != a->count * spec_size(a->dtype)) spec_fail(a->name); }
static int spec_read(spec_message *m) { static char *header, *data; uint64_t size; size_t total = 0, sum = 0, got = fread(&size, 1, 8, stdin);
  if (got != 8 || size > 1 << 20) { if (got) spec_fail("the length of its header"); return 0; } /* the end of the input */
  spec_at = header = spec_memory(header, size); spec_end = header + size; memset(header + size, 0, 8); m->arrays = m->entries = 0;
  if (fread(header, 1, size, stdin) != size || *header != '{') spec_fail("its header");
  for (spec_expect('{'); !spec_next('}');) { spec_array *a = &m->array[m->arrays]; spec_text(a->name);
    if (strcmp(a->name, "__metadata__")) { spec_read_array(a); m->arrays++; sum += a->bytes; if (a->start + a->bytes > total) total = a->start + a->bytes; }
    else for (spec_expect('{'); !spec_next('}') && m->entries < MAX_NAMES; m->entries++) { spec_text(m->key[m->entries]); spec_text(m->value[m->entries]); }
    if (m->arrays == MAX_NAMES || m->entries == MAX_NAMES) spec_fail("it has too many names"); }
  if (spec_next(0), spec_at != spec_end || sum != total) spec_fail("its header does not fit its arrays");
  if (fread(data = spec_memory(data, total), 1, total, stdin) != total) spec_fail("its arrays end early");
  for (int i = 0; i < m->arrays; i++) m->array[i].data = data + m->array[i].start;
  return 1; }
static void spec_write(FILE *f, spec_answer answer, const spec_message *m) { size_t at = 0, k; const char *text = answer.text ? answer.text : "";
  char *h = spec_memory(0, 2 * strlen(text) + (size_t)(m->arrays + 1) * 1024); k = sprintf(h, answer.key ? "{\"__metadata__\":{\"%s\":\"" : "{\"__metadata__\":{", answer.key);
  for (; *text; text++) { if (*text == '"' || *text == '\\') h[k++] = '\\'; h[k++] = *text > 0 && *text < ' ' ? ' ' : *text; }
  k += sprintf(h + k, answer.key ? "\"}" : "}");
  for (const spec_array *a = m->array; !answer.key && a < m->array + m->arrays; at += a++->bytes) {
    k += sprintf(h + k, ",\"%s\":{\"dtype\":\"%s\",\"data_offsets\":[%zu,%zu],\"shape\":[", a->name, a->dtype, at, at + a->bytes);
    for (int j = 0; j < a->rank; j++) k += sprintf(h + k, j ? ",%zu" : "%zu", a->shape[j]);
    k += sprintf(h + k, "]}"); }
  for (h[k++] = '}'; k % 8;) h[k++] = ' ';
  uint64_t size = k; fwrite(&size, 8, 1, f); fwrite(h, 1, k, f); free(h);
  for (int i = 0; i < m->arrays; i++) { if (!answer.key) fwrite(m->array[i].data, 1, m->array[i].bytes, f); free(m->array[i].data); }
  fflush(f); }
static int spec_serve(const char *description) { static spec_message in, out; FILE *f = fdopen(dup(1), "wb");
  for (dup2(2, 1); out.arrays = 0, spec_read(&in);) { const char *request = spec_get(&in, "request"); /* what printf writes goes to stderr */
    int describes = !strcmp(request, "describe"), calls = !strcmp(request, "call"), quits = !strcmp(request, "quit");
    spec_write(f, describes ? (spec_answer){"describe", description} : quits ? (spec_answer){0, 0} : !calls ? (spec_answer){"error", "unknown request"}
                  : spec_call(spec_get(&in, "operation"), &in, &out), &out);
    if (quits) break; }
  return 0;
}
