/* Keys in columns, their groups and their places in a table: the encoding of keys.py and its hash over Arrow's buffers.
 *
 * column_keys.py, column_split.py and tables/key_index.py call it where there was a compiler, and give the same answers
 * without it. Sizes and offsets of columns are checked, since a batch may come from another machine.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "_xxh3.h"

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
        scratch.size = 0;
        outcome = encode_row(&scratch, columns, count, row);
        if (outcome != FINE) break;
        uint64_t h = hash(scratch.bytes, scratch.size);
        out[row] = (uint32_t)(mask ? h & mask : h % groups);
    }
    free(scratch.bytes);
    return outcome;
}

/* ---- places of keys: open addressing over the hash of a key, whose bytes are compared ---- */

typedef struct {
    /* By the leading bits of a hash: its trailing 32 bits, then 1 + the place of a key; 0 is free, as half of them at
     * least are. Leading ones, since keys of the groups of a task share trailing ones. */
    uint64_t *homes;
    int bits;
    uint64_t *hashes; /* by place */
    int64_t *ends;    /* by place, of its bytes in the pool */
    uint8_t *pool;
    Py_ssize_t room, pool_room, used;
} Index;

typedef struct {
    const uint8_t *bytes;
    size_t begin, size;
    uint64_t h;
} Key;

static inline size_t first_home(const Index *index, uint64_t h) { return (size_t)(h >> (64 - index->bits)); }
static inline Py_ssize_t place_at(const Index *index, size_t home) { return (Py_ssize_t)(uint32_t)index->homes[home] - 1; }
static inline int64_t begin_of(const Index *index, Py_ssize_t place) { return place ? index->ends[place - 1] : 0; }

static inline int is_at(const Index *index, size_t home, const Key *key) {
    if (index->homes[home] >> 32 != (uint32_t)key->h) return 0;
    Py_ssize_t place = place_at(index, home);
    int64_t begin = begin_of(index, place);
    return (size_t)(index->ends[place] - begin) == key->size && !memcmp(index->pool + begin, key->bytes, key->size);
}

/* The home of the key, or the free one that is for it. */
static inline size_t home_of(const Index *index, const Key *key) {
    size_t mask = ((size_t)1 << index->bits) - 1, home = first_home(index, key->h);
    while (index->homes[home] && !is_at(index, home, key)) home = (home + 1) & mask;
    return home;
}

/* Add a key; 0 if there is no room for it. */
static inline int add(Index *index, size_t home, const Key *key) {
    int64_t begin = begin_of(index, index->used);
    if (index->used >= index->room || (size_t)(index->pool_room - begin) < key->size) return 0;
    memcpy(index->pool + begin, key->bytes, key->size);
    index->hashes[index->used] = key->h;
    index->ends[index->used] = begin + (int64_t)key->size;
    index->homes[home] = key->h << 32 | (uint64_t)++index->used;
    return 1;
}

#define BLOCK 128
#define BLOCK_BYTES 65536

/* Encode and hash a block of rows; their number. */
static enum outcome read_block(Scratch *scratch, const Column *columns, Py_ssize_t count, Py_ssize_t row, Py_ssize_t rows, Key *keys, int *read) {
    scratch->size = 0;
    for (*read = 0; *read < BLOCK && row + *read < rows && scratch->size < BLOCK_BYTES; (*read)++) {
        Key *key = &keys[*read];
        key->begin = scratch->size;
        enum outcome outcome = encode_row(scratch, columns, count, row + *read);
        if (outcome != FINE) return outcome;
        key->size = scratch->size - key->begin;
        key->h = hash(scratch->bytes + key->begin, key->size);
    }
    for (int i = 0; i < *read; i++) keys[i].bytes = scratch->bytes + keys[i].begin;
    return FINE;
}

/* A large index lies in memory, not in a cache: ask for what a block will touch before it is looked up. */
static inline void fetch_block(const Index *index, const Key *keys, int read) {
    for (int i = 0; i < read; i++) __builtin_prefetch(&index->homes[first_home(index, keys[i].h)]);
    for (int i = 0; i < read; i++) {
        Py_ssize_t place = place_at(index, first_home(index, keys[i].h));
        if (place >= 0) __builtin_prefetch(&index->ends[place]);
    }
    for (int i = 0; i < read; i++) {
        Py_ssize_t place = place_at(index, first_home(index, keys[i].h));
        if (place >= 0) __builtin_prefetch(index->pool + begin_of(index, place));
    }
}

/* Places of rows from *row on, as far as there is room for those that are new; -1 for what is not there. */
static enum outcome look_up(Index *index, const Column *columns, Py_ssize_t count, Py_ssize_t *row, Py_ssize_t rows, int adds, int64_t *out) {
    Scratch scratch = {NULL, 0, 0};
    Key keys[BLOCK];
    enum outcome outcome = FINE;
    int read = 0, done = 0;
    while (done == read && *row < rows) {
        outcome = read_block(&scratch, columns, count, *row, rows, keys, &read);
        if (outcome != FINE) break;
        fetch_block(index, keys, read);
        for (done = 0; done < read; done++, (*row)++) {
            size_t home = home_of(index, &keys[done]);
            if (adds && !index->homes[home] && !add(index, home, &keys[done])) break;
            out[*row] = place_at(index, home);
        }
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

static int has_room(const Index *index, Py_ssize_t homes) {
    return index->bits >= 1 && index->bits <= 32 && homes == (Py_ssize_t)1 << index->bits && index->room <= homes / 2 &&
           index->used >= 0 && index->used <= index->room && (!index->used || index->ends[index->used - 1] <= index->pool_room);
}

static PyObject *places(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *described, *result = NULL;
    Py_ssize_t rows, row, parsed = 0;
    int adds;
    Py_buffer homes, hashes, ends, pool, out;
    Index index;
    if (!PyArg_ParseTuple(args, "O!nnpnw*w*w*w*w*", &PyTuple_Type, &described, &row, &rows, &adds, &index.used, &homes, &hashes, &ends, &pool, &out))
        return NULL;
    index.homes = homes.buf, index.hashes = hashes.buf, index.ends = ends.buf, index.pool = pool.buf;
    index.bits = homes.len > 8 ? 63 - __builtin_clzll((unsigned long long)homes.len / 8) : 0;
    index.room = (hashes.len < ends.len ? hashes.len : ends.len) / 8;
    index.pool_room = pool.len;
    Py_ssize_t count = PyTuple_Size(described);
    Column *columns = PyMem_Calloc((size_t)(count > 0 ? count : 1), sizeof(Column));
    if (columns == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (row < 0 || rows < row || count < 1 || out.len / 8 < rows || !has_room(&index, homes.len / 8)) {
        PyErr_SetString(PyExc_ValueError, "no columns, or no room for the result or the index");
        goto done;
    }
    for (; parsed < count; parsed++)
        if (parse_column(PyTuple_GetItem(described, parsed), &columns[parsed], rows) < 0) goto done;
    enum outcome outcome;
    Py_BEGIN_ALLOW_THREADS
    outcome = look_up(&index, columns, count, &row, rows, adds, out.buf);
    Py_END_ALLOW_THREADS
    result = answer(outcome);
    if (result != NULL) {
        Py_DECREF(result);
        result = Py_BuildValue("nn", row, index.used);
    }
done:
    if (columns != NULL) release(columns, count);
    PyBuffer_Release(&homes);
    PyBuffer_Release(&hashes);
    PyBuffer_Release(&ends);
    PyBuffer_Release(&pool);
    PyBuffer_Release(&out);
    return result;
}

/* Fill the homes of an index, which are free, with places by their hashes. */
static PyObject *settle(PyObject *module, PyObject *args) {
    (void)module;
    Py_ssize_t used;
    Py_buffer homes, hashes;
    if (!PyArg_ParseTuple(args, "nw*y*", &used, &homes, &hashes)) return NULL;
    int fits = homes.len > 8 && used >= 0 && used <= hashes.len / 8 && used <= homes.len / 16;
    if (fits) {
        uint64_t *home = homes.buf;
        const uint64_t *h = hashes.buf;
        int bits = 63 - __builtin_clzll((unsigned long long)homes.len / 8);
        size_t mask = ((size_t)1 << bits) - 1;
        for (Py_ssize_t place = 0; place < used; place++) {
            size_t at = (size_t)(h[place] >> (64 - bits));
            while (home[at]) at = (at + 1) & mask;
            home[at] = h[place] << 32 | (uint64_t)(place + 1);
        }
    }
    PyBuffer_Release(&homes);
    PyBuffer_Release(&hashes);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "no room for the index");
        return NULL;
    }
    Py_RETURN_NONE;
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
    {"places", places, METH_VARARGS, "Write the places of keys into a buffer of 64-bit numbers; returns rows done and keys there."},
    {"settle", settle, METH_VARARGS, "Fill the free homes of an index by the hashes of its keys."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_column_keys", "Key groups of columns, see column_keys.py.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__column_keys(void) { return PyModuleDef_Init(&definition); }
