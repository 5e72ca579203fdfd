/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serialised filters of message ids, as a query carries them. Two ways in, told apart by the first
 * byte: slices as a peer may send them answer like a plain Bloom filter; and a filter of ids that
 * is built, sent and read back knows each of them.
 */
#include "core/base/hash.h"
#include "core/filter/scalable.h"
#include "proto/codec/codec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/plain_request.h"

enum { HEADER = LIMIT_FRAME_HEADER_BYTES, IDS_MAX = 2000, FRAME_BYTES = LIMIT_FRAME_BYTES_DEFAULT };

/* A query with these slices, there and back. Borrowed from the arena. */
static const struct hearsay_query *send_query(const struct hearsay_slice *slices, size_t count,
                                              struct arena *arena)
{
    static const uint8_t filter[8] = {1};
    static struct hearsay_request received;
    const struct hearsay_query_part part = {.filter = {filter, sizeof(filter)}};
    struct hearsay_request request = {.id = 1, .kind = HEARSAY_REQUEST_QUERY};
    struct msg_error error;
    struct bytes frame;

    request.query = plain_query(&part, 1, 1);
    request.query.exclude = slices;
    request.query.exclude_count = count;
    bytes_init(&frame, alloc_system());
    FUZZ_CHECK(codec_encode_request(&request, FRAME_BYTES, &frame) == 0);
    FUZZ_CHECK(codec_decode_request(frame.data + HEADER, frame.count - HEADER, arena, &received,
                                    &error) == 0);
    bytes_deinit(&frame);
    FUZZ_CHECK(received.kind == HEARSAY_REQUEST_QUERY && received.query.exclude_count == count);
    return &received.query;
}

static size_t take_slices(const struct hearsay_query *query, struct scalable_slice *out)
{
    for (size_t i = 0; i < query->exclude_count; i++) {
        out[i] = (struct scalable_slice){.bits = query->exclude[i].bits.data,
                                         .byte_count = (uint32_t)query->exclude[i].bits.count,
                                         .hashes = query->exclude[i].hashes,
                                         .seed = query->exclude[i].seed};
    }
    return query->exclude_count;
}

/* The plain way, bit by bit. */
static bool slice_has(const struct scalable_slice *slice, const uint8_t *id)
{
    const struct hash128 hash = hash128_seeded(id, LIMIT_ID_BYTES, slice->seed);

    for (uint32_t i = 0; i < slice->hashes; i++) {
        const uint32_t by = 19 * i % 64;
        const uint64_t turned =
            by == 0 ? hash.high64 : hash.high64 << by | hash.high64 >> (64 - by);
        const uint64_t value = hash.low64 + turned;
        const uint32_t position = (uint32_t)(value % (slice->byte_count * 8));

        if ((slice->bits[position / 8] >> position % 8 & 1) == 0) {
            return false;
        }
    }
    return true;
}

/* Slices as they come; ids behind them. */
static void try_slices(struct fuzz_input *input)
{
    struct hearsay_slice slices[LIMIT_SLICES];
    struct scalable_slice received[LIMIT_SLICES];
    const size_t count = 1 + fuzz_byte(input) % LIMIT_SLICES;
    size_t total = 0;
    struct arena arena;

    for (size_t i = 0; i < count; i++) {
        slices[i].hashes = 1 + fuzz_byte(input) % LIMIT_HASHES;
        slices[i].seed = (uint64_t)fuzz_u16(input) << 48 | fuzz_u16(input);
        slices[i].bits.data = fuzz_bytes(input, 1 + fuzz_u16(input) % 1500, &slices[i].bits.count);
        total += slices[i].bits.count;
        if (slices[i].bits.count == 0) {
            slices[i].bits = (struct hearsay_bytes){(const uint8_t *)"\xff", 1};
        }
    }
    FUZZ_CHECK(total < FRAME_BYTES);
    arena_init(&arena, alloc_system(), FRAME_BYTES + CODEC_REQUEST_ARENA_BYTES);
    const size_t taken = take_slices(send_query(slices, count, &arena), received);
    for (unsigned i = 0; i < 64; i++) {
        uint8_t id[LIMIT_ID_BYTES];
        bool expected = false;

        for (size_t j = 0; j < sizeof(id); j++) {
            id[j] = fuzz_byte(input);
        }
        id[0] = (uint8_t)(id[0] + i);
        for (size_t j = 0; j < taken; j++) {
            expected = expected || slice_has(&received[j], id);
        }
        FUZZ_CHECK(scalable_slices_have(received, (uint32_t)taken, id, sizeof(id), NULL) ==
                   expected);
    }
    arena_deinit(&arena);
}

/* Ids into a filter, the filter over the wire: it has them all. */
static void try_ids(struct fuzz_input *input)
{
    const uint32_t rate_ppm = 1 + (fuzz_u16(input) * 8U) % SCALABLE_RATE_MAX_PPM;
    const uint64_t seed = fuzz_u16(input);
    const size_t room = fuzz_u16(input) % (FRAME_BYTES - 4096U);
    const uint8_t *ids = input->data;
    const size_t id_count = input->left / LIMIT_ID_BYTES;
    struct hearsay_slice slices[LIMIT_SLICES];
    struct scalable_slice received[LIMIT_SLICES];
    struct scalable filter;
    struct arena arena;
    size_t added = 0;

    scalable_init(&filter, alloc_system(), rate_ppm, seed, room);
    while (added < id_count && added < IDS_MAX &&
           scalable_add(&filter, ids + added * LIMIT_ID_BYTES, LIMIT_ID_BYTES) == 0) {
        added++;
    }
    FUZZ_CHECK(filter.bytes <= room && filter.slice_count <= LIMIT_SLICES);
    for (uint32_t i = 0; i < filter.slice_count; i++) {
        slices[i] =
            (struct hearsay_slice){.bits = {filter.slices[i].bits, filter.slices[i].byte_count},
                                   .hashes = filter.slices[i].hashes,
                                   .seed = filter.slices[i].seed};
    }
    arena_init(&arena, alloc_system(), FRAME_BYTES + CODEC_REQUEST_ARENA_BYTES);
    const size_t taken = take_slices(send_query(slices, filter.slice_count, &arena), received);
    for (size_t i = 0; i < added; i++) {
        const uint8_t *id = ids + i * LIMIT_ID_BYTES;

        FUZZ_CHECK(scalable_test(&filter, id, LIMIT_ID_BYTES));
        FUZZ_CHECK(scalable_slices_have(received, (uint32_t)taken, id, LIMIT_ID_BYTES, NULL));
    }
    arena_deinit(&arena);
    scalable_deinit(&filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};

    if (fuzz_byte(&input) % 2 == 0) {
        try_slices(&input);
    } else {
        try_ids(&input);
    }
    return 0;
}
