/* XXH3 of 64 bits with seed 0, the hash of keys.py, of at least one byte: an encoded key begins with its tag. */
#ifndef HERONPY_XXH3_H
#define HERONPY_XXH3_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !defined(__SIZEOF_INT128__)
#error "written for 64-bit little-endian machines; heronpy works without this module"
#endif

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

#endif
