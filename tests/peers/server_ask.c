/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/peers/server.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/filter/bloom.h"
#include "tests/bench/bench.h"
#include "tests/bench/stats.h"

enum { PAYLOAD_BYTES = 200, TTL_S = 86400 };

static void payload_of(size_t number, char out[PAYLOAD_BYTES])
{
    uint64_t state = number;

    for (size_t i = 0; i < PAYLOAD_BYTES; i += 16) {
        char text[17];

        snprintf(text, sizeof(text), "%016llx", (unsigned long long)filters_random(&state));
        memcpy(out + i, text, PAYLOAD_BYTES - i < 16 ? PAYLOAD_BYTES - i : 16);
    }
}

static void hearsay_filter_of(const uint64_t *words, struct hearsay_filter *out)
{
    out->bits = FILTER_BYTES * 8;
    out->byte_count = FILTER_BYTES;
    bloom_store(words, FILTER_BYTES * 8, out->bytes);
}

int server_submit_hearsay(struct work *work, size_t number)
{
    const struct filters *filters = work->filters;
    struct hearsay_filter filter;
    struct hearsay_error error;
    uint64_t ticket = 0;
    int rc = 0;

    if (work->kind == HEARSAY_DEPOSIT) {
        struct hearsay_deposit deposit;
        struct hearsay_receipt receipt;
        char payload[PAYLOAD_BYTES];

        payload_of(number, payload);
        hearsay_filter_of(filters_stored(filters, number % filters->stored.count), &filter);
        hearsay_deposit_init(&deposit, &receipt);
        deposit.filter = hearsay_filter_bytes(&filter);
        deposit.payload = hearsay_bytes(payload, PAYLOAD_BYTES);
        deposit.ttl_s = TTL_S;
        rc = hearsay_submit_deposit(work->client->hearsay, &deposit, &ticket, &error);
    } else {
        struct hearsay_query query;

        hearsay_filter_of(filters->queries.words + number % filters->queries.count * FILTER_WORDS,
                          &filter);
        const struct hearsay_query_part part = {.filter = hearsay_filter_bytes(&filter)};
        hearsay_query_init(&query);
        query.parts = &part;
        query.part_count = 1;
        query.k = K;
        query.metric = work->kind == HEARSAY_PHI ? HEARSAY_METRIC_PHI : HEARSAY_METRIC_BITS;
        rc = hearsay_submit_query(work->client->hearsay, &query, &ticket, &error);
    }
    return rc == HEARSAY_OK ? 0 : bench_fail("hearsayd: %s", error.sentence);
}

int server_take_hearsay(struct work *work, double *out_distances)
{
    const struct hearsay_reply *reply = NULL;
    struct hearsay_error error;

    if (hearsay_next(work->client->hearsay, WAIT_MS, &reply, &error) != HEARSAY_OK) {
        return bench_fail("hearsayd: %s", error.sentence);
    }
    if (reply->response.kind == HEARSAY_RESPONSE_DEPOSITED) {
        return reply->response.deposited.durability != HEARSAY_DURABILITY_RELAXED
                   ? 0
                   : bench_fail("hearsayd: a deposit is not durable");
    }
    if (reply->response.kind != HEARSAY_RESPONSE_RESULTS) {
        return bench_fail("hearsayd: %s", reply->error.sentence);
    }
    if (reply->response.results.result_count != K || !reply->response.results.exact) {
        return bench_fail("hearsayd: an answer does not have the %d nearest", K);
    }
    for (size_t i = 0; i < K; i++) {
        out_distances[i] =
            reply->response.results.results[i].distance_ppm / (double)HEARSAY_DISTANCE_ONE;
    }
    return 0;
}

/* A filter as PostgreSQL sends bits: their number, then the bytes. Which bit comes first in a byte
 * is of no matter to a distance. */
enum { BITS_BYTES = 4 + FILTER_BYTES };
static void bits_of(const uint64_t *words, char out[BITS_BYTES])
{
    const uint32_t count = htobe32(FILTER_BYTES * 8);

    memcpy(out, &count, sizeof(count));
    memcpy(out + sizeof(count), words, FILTER_BYTES);
}

int server_send_insert(PGconn *connection, const struct filters *filters, size_t number)
{
    enum { COLUMNS = 6 };
    char bits[BITS_BYTES];
    char payload[PAYLOAD_BYTES];
    char random[16 + 32]; /* id and hash */
    const uint64_t now_ms = htobe64((uint64_t)stats_now_ns() / 1000000);

    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
        return bench_fail("there are no random bytes");
    }
    bits_of(filters_stored(filters, number % filters->stored.count), bits);
    payload_of(number, payload);
    const char *const values[COLUMNS] = {
        random, bits, payload, random + 16, (const char *)&now_ms, (const char *)&now_ms};
    const int lengths[COLUMNS] = {16, BITS_BYTES, PAYLOAD_BYTES, 32, 8, 8};
    const int formats[COLUMNS] = {1, 1, 1, 1, 1, 1};

    return PQsendQueryPrepared(connection, "deposit", COLUMNS, values, lengths, formats, 1) == 1
               ? 0
               : bench_fail("PostgreSQL: %s", PQerrorMessage(connection));
}

int server_submit_postgres(struct work *work, size_t number)
{
    const struct filters *filters = work->filters;
    PGconn *connection = work->client->postgres;
    int sent = 1;

    if (work->kind == POSTGRES_DEPOSIT) {
        if (server_send_insert(connection, filters, number) != 0) {
            return -1;
        }
    } else {
        char bits[BITS_BYTES];
        const char *const values[1] = {bits};
        const int lengths[1] = {BITS_BYTES};
        const int formats[1] = {1};

        bits_of(filters->queries.words + number % filters->queries.count * FILTER_WORDS, bits);
        sent = PQsendQueryPrepared(connection, "query", 1, values, lengths, formats, 1);
    }
    return sent == 1 && PQpipelineSync(connection) == 1 && PQflush(connection) >= 0
               ? 0
               : bench_fail("PostgreSQL: %s", PQerrorMessage(connection));
}

/* Reads results up to a Sync. */
int server_take_postgres(PGconn *connection, double *out_distances)
{
    for (;;) {
        PGresult *result = PQgetResult(connection);
        const ExecStatusType status = result != NULL ? PQresultStatus(result) : PGRES_EMPTY_QUERY;
        const int rows = status == PGRES_TUPLES_OK ? PQntuples(result) : 0;

        for (int i = 0; i < rows && i < K; i++) {
            uint64_t bits = 0;

            memcpy(&bits, PQgetvalue(result, i, 1), sizeof(bits));
            bits = be64toh(bits);
            memcpy(&out_distances[i], &bits, sizeof(bits));
        }
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC) {
            return 0;
        }
        if (PQstatus(connection) == CONNECTION_BAD || status == PGRES_FATAL_ERROR ||
            status == PGRES_PIPELINE_ABORTED || (status == PGRES_TUPLES_OK && rows != K)) {
            return bench_fail("PostgreSQL: %s, %d rows", PQerrorMessage(connection), rows);
        }
    }
}
