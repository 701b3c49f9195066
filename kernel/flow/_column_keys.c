/* Key groups of columns: the encoding of kernel/flow/keys.py and its hash, XXH3 of 64 bits, over Arrow's buffers.
 *
 * column_keys.py calls it where a compiler was there, and gives the same answers without it. Every size and offset
 * is checked against the buffers, since a batch may come from another machine.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !defined(__SIZEOF_INT128__)
#error "written for 64-bit little-endian machines; heronpy works without this module"
#endif

/* ---- XXH3, seed 0, of at least one byte: an encoded key begins with its tag ---- */

#define P32_1 0x9E3779B1ULL
#define P32_2 0x85EBCA77ULL
#define P32_3 0xC2B2AE3DULL
#define P64_1 0x9E3779B185EBCA87ULL
#define P64_2 0xC2B2AE3D27D4EB4FULL
#define P64_3 0x165667B19E3779F9ULL
#define P64_4 0x85EBCA77C2B2AE63ULL
#define P64_5 0x27D4EB2F165667C5ULL
#define MIX_1 0x165667919E3779F9ULL
#define MIX_2 0x9FB21C651E98DF25ULL
#define STRIPE 64
#define STRIPES_OF_A_BLOCK 16

static const uint8_t SECRET[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static inline uint32_t read32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t read64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline uint64_t rotated(uint64_t v, int by) { return (v << by) | (v >> (64 - by)); }

static inline uint64_t folded(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t avalanche(uint64_t h) {
    h ^= h >> 37;
    h *= MIX_1;
    return h ^ (h >> 32);
}

static inline uint64_t mix16(const uint8_t *in, const uint8_t *secret) {
    return folded(read64(in) ^ read64(secret), read64(in + 8) ^ read64(secret + 8));
}

static inline uint64_t hash_to_16(const uint8_t *in, size_t len) {
    if (len > 8) {
        uint64_t low = read64(in) ^ read64(SECRET + 24) ^ read64(SECRET + 32);
        uint64_t high = read64(in + len - 8) ^ read64(SECRET + 40) ^ read64(SECRET + 48);
        return avalanche(len + __builtin_bswap64(low) + high + folded(low, high));
    }
    if (len > 3) {
        uint64_t h = read32(in + len - 4) + ((uint64_t)read32(in) << 32);
        h ^= read64(SECRET + 8) ^ read64(SECRET + 16);
        h ^= rotated(h, 49) ^ rotated(h, 24);
        h *= MIX_2;
        h ^= (h >> 35) + len;
        h *= MIX_2;
        return h ^ (h >> 28);
    }
    uint64_t h = ((uint32_t)in[0] << 16) | ((uint32_t)in[len >> 1] << 24) | in[len - 1] | ((uint32_t)len << 8);
    h ^= (uint64_t)(read32(SECRET) ^ read32(SECRET + 4));
    h ^= h >> 33;
    h *= P64_2;
    h ^= h >> 29;
    h *= P64_3;
    return h ^ (h >> 32);
}

static uint64_t hash_to_240(const uint8_t *in, size_t len) {
    uint64_t h = len * P64_1;
    if (len <= 128) {
        for (size_t pair = (len - 1) / 32 + 1; pair-- > 0;) {
            h += mix16(in + 16 * pair, SECRET + 32 * pair);
            h += mix16(in + len - 16 * (pair + 1), SECRET + 32 * pair + 16);
        }
        return avalanche(h);
    }
    for (size_t i = 0; i < 8; i++) h += mix16(in + 16 * i, SECRET + 16 * i);
    h = avalanche(h);
    for (size_t i = 8; i < len / 16; i++) h += mix16(in + 16 * i, SECRET + 16 * (i - 8) + 3);
    return avalanche(h + mix16(in + len - 16, SECRET + 136 - 17));
}

static inline void accumulate(uint64_t *sums, const uint8_t *in, const uint8_t *secret) {
    for (int i = 0; i < 8; i++) {
        uint64_t value = read64(in + 8 * i), keyed = value ^ read64(secret + 8 * i);
        sums[i ^ 1] += value;
        sums[i] += (uint32_t)keyed * (keyed >> 32);
    }
}

static uint64_t hash_long(const uint8_t *in, size_t len) {
    uint64_t sums[8] = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
    size_t stripes = (len - 1) / STRIPE;
    for (size_t n = 0; n < stripes; n++) {
        size_t place = n % STRIPES_OF_A_BLOCK;
        accumulate(sums, in + STRIPE * n, SECRET + 8 * place);
        if (place == STRIPES_OF_A_BLOCK - 1)
            for (int i = 0; i < 8; i++)
                sums[i] = (sums[i] ^ (sums[i] >> 47) ^ read64(SECRET + 192 - STRIPE + 8 * i)) * P32_1;
    }
    accumulate(sums, in + len - STRIPE, SECRET + 192 - STRIPE - 7);
    uint64_t h = len * P64_1;
    for (int i = 0; i < 4; i++)
        h += folded(sums[2 * i] ^ read64(SECRET + 11 + 16 * i), sums[2 * i + 1] ^ read64(SECRET + 19 + 16 * i));
    return avalanche(h);
}

static inline uint64_t hash(const uint8_t *in, size_t len) {
    return len <= 16 ? hash_to_16(in, len) : len <= 240 ? hash_to_240(in, len) : hash_long(in, len);
}

/* ---- the encoding of one value ---- */

enum kind { NOTHING = '0', SIGNED = 'i', UNSIGNED = 'u', REAL = 'f', BYTES = 'b', LONG_BYTES = 'B' };

#define MOST_TAG 8
#define MOST_NUMBER 144 /* the largest float is a whole number of 1,024 bits */

typedef struct {
    enum kind kind;
    const uint8_t *tag;
    size_t tag_size;
    Py_ssize_t first; /* of the rows, in values, offsets and validity */
    Py_buffer values, offsets, validity;
} Column;

typedef struct {
    uint8_t *bytes;
    size_t size, room;
} Scratch;

/* A whole number of 64 bits, in as few bytes as hold it and its sign. */
static inline size_t whole(uint8_t *to, uint64_t low, int negative) {
    uint64_t magnitude = negative ? 0 - low : low;
    int bits = magnitude ? 64 - __builtin_clzll(magnitude) : 0;
    to[0] = 'i';
    memcpy(to + 1, &low, 8);
    to[9] = negative ? 0xff : 0;
    return 1 + (size_t)(bits + 8) / 8;
}

/* A whole number beyond 64 bits: 53 bits, shifted. */
static size_t vast(uint8_t *to, uint64_t raw) {
    uint64_t mantissa = (raw & 0xfffffffffffffULL) | (1ULL << 52);
    unsigned shift = (unsigned)((raw >> 52) & 0x7ff) - 1075;
    size_t size = (53 + shift + 8) / 8;
    unsigned __int128 digits = (unsigned __int128)mantissa << (shift % 8);
    to[0] = 'i';
    memset(to + 1, 0, size);
    for (size_t i = shift / 8; i < size; i++, digits >>= 8) to[1 + i] = (uint8_t)digits;
    if (raw >> 63) {
        unsigned carry = 1;
        for (size_t i = 1; i <= size; i++) {
            carry += (uint8_t)~to[i];
            to[i] = (uint8_t)carry;
            carry >>= 8;
        }
    }
    return 1 + size;
}

static inline size_t real(uint8_t *to, double value) {
    uint64_t raw;
    memcpy(&raw, &value, 8);
    if (fabs(value) < 9223372036854775808.0) {
        int64_t cut = (int64_t)value;
        if ((double)cut == value) return whole(to, (uint64_t)cut, cut < 0);
    } else if (isfinite(value)) {
        return vast(to, raw);
    } else if (isnan(value)) {
        raw = 0x7ff8000000000000ULL; /* one NaN stands for all */
    }
    to[0] = 'f';
    memcpy(to + 1, &raw, 8);
    return 9;
}

static int reserve(Scratch *scratch, size_t more) {
    if (scratch->size + more <= scratch->room) return 0;
    size_t room = 2 * (scratch->size + more);
    uint8_t *bytes = realloc(scratch->bytes, room);
    if (bytes == NULL) return -1;
    scratch->bytes = bytes;
    scratch->room = room;
    return 0;
}

static inline int is_null(const Column *column, Py_ssize_t at) {
    const uint8_t *bits = column->validity.buf;
    return bits != NULL && !((bits[at >> 3] >> (at & 7)) & 1);
}

/* The span of a value in the data; -1 if it does not lie in it. */
static inline int64_t span(const Column *column, Py_ssize_t at, int64_t *begin) {
    const uint8_t *offsets = column->offsets.buf;
    int64_t end;
    if (column->kind == BYTES) {
        *begin = (int32_t)read32(offsets + 4 * at);
        end = (int32_t)read32(offsets + 4 * (at + 1));
    } else {
        *begin = (int64_t)read64(offsets + 8 * at);
        end = (int64_t)read64(offsets + 8 * (at + 1));
    }
    return *begin < 0 || end < *begin || end > column->values.len ? -1 : end - *begin;
}

enum outcome { FINE, NO_MEMORY, DAMAGED };

/* Append the encoded value of a row. */
static inline enum outcome encode(Scratch *scratch, const Column *column, Py_ssize_t row) {
    Py_ssize_t at = column->first + row;
    if (reserve(scratch, MOST_TAG + MOST_NUMBER) < 0) return NO_MEMORY;
    uint8_t *to = scratch->bytes + scratch->size;
    if (column->kind == NOTHING || is_null(column, at)) {
        *to = '0';
        scratch->size += 1;
        return FINE;
    }
    memcpy(to, column->tag, column->tag_size);
    to += column->tag_size;
    scratch->size += column->tag_size;
    if (column->kind == BYTES || column->kind == LONG_BYTES) {
        int64_t begin, size = span(column, at, &begin);
        if (size < 0) return DAMAGED;
        if (reserve(scratch, (size_t)size) < 0) return NO_MEMORY;
        if (size) memcpy(scratch->bytes + scratch->size, (const uint8_t *)column->values.buf + begin, (size_t)size);
        scratch->size += (size_t)size;
        return FINE;
    }
    uint64_t value = read64((const uint8_t *)column->values.buf + 8 * at);
    if (column->kind == REAL) {
        double number;
        memcpy(&number, &value, 8);
        scratch->size += real(to, number);
    } else {
        scratch->size += whole(to, value, column->kind == SIGNED && (int64_t)value < 0);
    }
    return FINE;
}

/* Several columns make a tuple: each part behind its size. */
static inline enum outcome encode_row(Scratch *scratch, const Column *columns, Py_ssize_t count, Py_ssize_t row) {
    scratch->size = 0;
    if (count == 1) return encode(scratch, columns, row);
    if (reserve(scratch, 1) < 0) return NO_MEMORY;
    scratch->bytes[scratch->size++] = '(';
    for (Py_ssize_t i = 0; i < count; i++) {
        if (reserve(scratch, 4) < 0) return NO_MEMORY;
        size_t begin = scratch->size += 4;
        enum outcome outcome = encode(scratch, &columns[i], row);
        if (outcome != FINE) return outcome;
        uint32_t size = (uint32_t)(scratch->size - begin);
        memcpy(scratch->bytes + begin - 4, &size, 4);
    }
    return FINE;
}

static enum outcome hash_all(const Column *columns, Py_ssize_t count, Py_ssize_t rows, uint64_t groups, uint32_t *out) {
    Scratch scratch = {NULL, 0, 0};
    enum outcome outcome = FINE;
    uint64_t mask = groups & (groups - 1) ? 0 : groups - 1;
    for (Py_ssize_t row = 0; row < rows && outcome == FINE; row++) {
        outcome = encode_row(&scratch, columns, count, row);
        if (outcome != FINE) break;
        uint64_t h = hash(scratch.bytes, scratch.size);
        out[row] = (uint32_t)(mask ? h & mask : h % groups);
    }
    free(scratch.bytes);
    return outcome;
}

/* ---- Python's side ---- */

static int optional_buffer(PyObject *object, void *to) {
    Py_buffer *buffer = to;
    if (object == Py_None) return 1;
    return PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) == 0;
}

/* Whether the buffers hold so many rows. */
static int is_long_enough(const Column *column, Py_ssize_t rows) {
    if (column->first < 0 || rows < 0 || column->first > PY_SSIZE_T_MAX / 16 - rows) return 0;
    Py_ssize_t end = column->first + rows;
    if (rows == 0 || column->kind == NOTHING) return 1;
    if (column->validity.buf != NULL && column->validity.len < (end + 7) / 8) return 0;
    switch (column->kind) {
    case SIGNED: case UNSIGNED: case REAL: return column->values.len >= 8 * end;
    case BYTES: return column->offsets.len >= 4 * (end + 1);
    case LONG_BYTES: return column->offsets.len >= 8 * (end + 1);
    default: return 0;
    }
}

static int parse_column(PyObject *described, Column *column, Py_ssize_t rows) {
    int kind;
    const char *tag;
    Py_ssize_t tag_size;
    if (!PyArg_ParseTuple(described, "Cy#nO&O&O&", &kind, &tag, &tag_size, &column->first, optional_buffer, &column->values,
                          optional_buffer, &column->offsets, optional_buffer, &column->validity))
        return -1;
    column->kind = (enum kind)kind;
    column->tag = (const uint8_t *)tag;
    column->tag_size = (size_t)tag_size;
    if (tag_size > MOST_TAG || !is_long_enough(column, rows)) {
        PyErr_SetString(PyExc_ValueError, "a column is shorter than its rows");
        return -1;
    }
    return 0;
}

static void release(Column *columns, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        PyBuffer_Release(&columns[i].values);
        PyBuffer_Release(&columns[i].offsets);
        PyBuffer_Release(&columns[i].validity);
    }
    PyMem_Free(columns);
}

static PyObject *answer(enum outcome outcome) {
    if (outcome == NO_MEMORY) return PyErr_NoMemory();
    if (outcome == DAMAGED) {
        PyErr_SetString(PyExc_ValueError, "a value lies outside the data of its column");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *key_groups(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *described, *result = NULL;
    Py_ssize_t rows, parsed = 0;
    unsigned long long groups;
    Py_buffer out;
    if (!PyArg_ParseTuple(args, "O!nKw*", &PyTuple_Type, &described, &rows, &groups, &out)) return NULL;
    Py_ssize_t count = PyTuple_Size(described);
    Column *columns = PyMem_Calloc((size_t)(count > 0 ? count : 1), sizeof(Column));
    if (columns == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (rows < 0 || count < 1 || groups < 1 || groups > 1ULL << 32 || out.len / 4 < rows) {
        PyErr_SetString(PyExc_ValueError, "no columns, no groups, or no room for the result");
        goto done;
    }
    for (; parsed < count; parsed++)
        if (parse_column(PyTuple_GetItem(described, parsed), &columns[parsed], rows) < 0) goto done;
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = hash_all(columns, count, rows, groups, out.buf);
    Py_END_ALLOW_THREADS
    result = answer(outcome);
done:
    if (columns != NULL) release(columns, count);
    PyBuffer_Release(&out);
    return result;
}

/* A counting sort: every row's number at the next free place of its lane, of which `next` has one per lane. */
static PyObject *order(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer lanes, next, out;
    if (!PyArg_ParseTuple(args, "y*w*w*", &lanes, &next, &out)) return NULL;
    const uint32_t *lane = lanes.buf;
    int64_t *place = next.buf, *to = out.buf;
    Py_ssize_t rows = lanes.len / 4, count = next.len / 8, row = 0;
    Py_ssize_t room = out.len / 8;
    Py_BEGIN_ALLOW_THREADS
    for (; row < rows; row++) {
        if (lane[row] >= count || place[lane[row]] < 0 || place[lane[row]] >= room) break;
        to[place[lane[row]]++] = row;
    }
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&lanes);
    PyBuffer_Release(&next);
    PyBuffer_Release(&out);
    if (row < rows) {
        PyErr_SetString(PyExc_ValueError, "a row has no lane, or its lane no room");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"key_groups", key_groups, METH_VARARGS, "Write the key group of every row into `out`, which holds 32-bit numbers."},
    {"order", order, METH_VARARGS, "Write the numbers of the rows, lane by lane, into a buffer of 64-bit numbers."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_column_keys", "Key groups of columns, see column_keys.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__column_keys(void) { return PyModuleDef_Init(&definition); }
