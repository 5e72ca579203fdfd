/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The works of the store. deposit: from the bytes that come in, over a commit of 64 deposits, to
 * the bytes that go out. start: opening, checking and loading a database.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/count/count.h"
#include "tests/count/count_server.h"
#include "tests/count/count_store.h"
#include "tests/count/requests.h"
#include "tests/lib/pass_vfs.h"

enum { BATCH = 64, STORED_BEFORE = 4096, DEPOSITS = 2048, START_STORED = 10000 };

/* Returns the frames of the messages first .. end - 1, BATCH of them together. */
static struct bytes *make_frames(const struct filters *filters, size_t first, size_t end)
{
    struct bytes *frames = calloc((end - first + BATCH - 1) / BATCH, sizeof(*frames));

    if (frames == NULL) {
        count_fail("memory is short");
    }
    for (size_t i = first; i < end; i++) {
        struct bytes *batch = &frames[(i - first) / BATCH];

        if ((i - first) % BATCH == 0) {
            bytes_init(batch, alloc_system());
        }
        requests_add_deposit(filters, i, batch);
    }
    return frames;
}

/* Sends the frames of `count` deposits, as many at a time as are committed together. */
static void deposit_frames(struct count_server *server, const struct bytes *frames, size_t count)
{
    for (; count > 0; frames++) {
        size_t together = count < BATCH ? count : BATCH;

        count_server_exchange(server, frames, together);
        count -= together;
    }
}

void count_deposit(const struct count_options *options)
{
    struct filters filters;

    requests_make_filters("campus", STORED_BEFORE + DEPOSITS, 1, &filters);
    struct count_server *server =
        count_server_new(options->directory, count_store_open(options->directory));
    deposit_frames(server, make_frames(&filters, 0, STORED_BEFORE), STORED_BEFORE);
    struct bytes *frames = make_frames(&filters, STORED_BEFORE, STORED_BEFORE + DEPOSITS);
    uint64_t written = pass_written();
    count_begin();
    deposit_frames(server, frames, DEPOSITS);
    count_end(DEPOSITS);
    printf("bytes_written %" PRIu64 "\n", pass_written() - written);
}

void count_start(const struct count_options *options)
{
    struct filters filters;

    requests_make_filters("campus", START_STORED, 1, &filters);
    struct persist *persist = count_store_open(options->directory);
    struct count_server *server = count_server_new(options->directory, persist);
    deposit_frames(server, make_frames(&filters, 0, START_STORED), START_STORED);
    count_store_close(persist);
    count_begin();
    persist = count_store_open(options->directory);
    struct service *service = count_service_new(server, persist);
    count_end(1);
    if (service->usage.messages != START_STORED) {
        count_fail("%" PRIu64 " messages were loaded", (uint64_t)service->usage.messages);
    }
}
