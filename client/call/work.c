/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call/work.h"

#include <sodium.h>

#include "client/call/client.h"
#include "client/now.h"
#include "proto/work.h"

static void work_hash_part(void *context, const void *data, size_t count)
{
    (void)crypto_generichash_update(context, data, count); /* cannot fail */
}

static uint32_t try_number(const uint8_t *content, uint64_t number)
{
    uint8_t proof[WORK_PROOF_BYTES];
    uint8_t hash[LIMIT_HASH_BYTES];

    work_proof(content, number, proof);
    (void)crypto_generichash(hash, sizeof(hash), proof, sizeof(proof), NULL, 0);
    return work_zero_bits(hash);
}

/*
 * Finds the smallest number whose proof has at least `bits` leading zero bits. Finalises `state`.
 */
static uint64_t find_number(crypto_generichash_state *state, uint32_t bits)
{
    uint8_t content[LIMIT_HASH_BYTES];
    uint64_t number = 0;

    (void)crypto_generichash_final(state, content, sizeof(content));
    while (try_number(content, number) < bits) {
        number++; /* ends long before 2^64: the bits are bounded */
    }
    return number;
}

void work_find(struct msg_deposit *deposit, const char *host, const uint8_t *store_id,
               uint32_t bits)
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, NULL, 0, LIMIT_HASH_BYTES);
    work_feed(deposit, host, store_id, (struct work_hash){work_hash_part, &state});
    deposit->work = find_number(&state, bits);
}

void work_find_report(struct msg_report *report, const char *host,
                      const struct hearsay_welcome *welcome)
{
    crypto_generichash_state state;

    (void)crypto_generichash_init(&state, NULL, 0, LIMIT_HASH_BYTES);
    work_feed_report(report->id.data, host, welcome->store_id,
                     (struct msg_bytes){welcome->resume_token, welcome->resume_bytes},
                     (struct work_hash){work_hash_part, &state});
    report->work = find_number(&state, welcome->limits.work_bits);
}

int64_t hearsay_work_ms(const struct hearsay *server)
{
    enum { TRIES = 5000 };
    static const uint8_t content[LIMIT_HASH_BYTES];
    uint32_t bits = hearsay_welcome(server)->limits.work_bits;
    uint32_t most = 0;

    if (bits == 0) {
        return 0;
    }
    int64_t began_ns = now_monotonic_ns();
    for (uint64_t i = 0; i < TRIES; i++) {
        uint32_t zero = try_number(content, i);
        most = zero > most ? zero : most;
    }
    double ns = (double)(now_monotonic_ns() - began_ns);
    for (uint32_t bit = 0; bit < bits && bit < 64; bit++) {
        ns *= 2;
    }
    double ms = ns / TRIES / 1e6;
    /* The test of `most` is always false. The test uses `most`, so that the compiler cannot remove
     * the loop above. */
    return ms > 1e12 || most > 8 * LIMIT_HASH_BYTES ? INT64_C(1000000000000) : (int64_t)ms;
}
