/* SPDX-License-Identifier: Apache-2.0 */
/* notices: what the operators of the hosts say, from answers and pushes. */
#include <string.h>

#include "client/call/client.h"
#include "client/fail.h"

/* Returns the place for the notices of a host, which is made if there is none. NULL: no memory. */
static struct client_notices *find_notices(struct hearsay *server, size_t host)
{
    struct client_notices *place = server->notices;

    while (place != NULL && place->host != host) {
        place = place->next;
    }
    if (place == NULL && (place = alloc_zeroed(server->alloc, 1, sizeof(*place))) != NULL) {
        place->host = host;
        place->next = server->notices;
        server->notices = place;
        arena_init(&place->arena, server->alloc, CONN_DECODE_BYTES);
    }
    return place;
}

/* No two notices have one number and time, but a notice may get another language. */
static uint64_t notice_fold(const struct hearsay_house_notice *notice, uint64_t version)
{
    version = version * 31 + (uint64_t)notice->since_ms * 8 + notice->number;
    for (size_t i = 0; i < notice->lang.length; i++) {
        version = version * 31 + (unsigned char)notice->lang.text[i];
    }
    return version;
}

int client_take_notices(struct hearsay *server, struct arena *arena,
                        const struct hearsay_notices_changed *changed, struct hearsay_error *error)
{
    struct hearsay_error local;
    for (size_t i = 0; i < server->welcome.host_count; i++) {
        struct hearsay_host *host = &server->hosts[i];

        if (strcmp(host->name, changed->host.text) != 0) {
            continue;
        }
        struct client_notices *place = find_notices(server, i);
        if (place == NULL) {
            host->notice_count = 0;
            (void)fail_set_nomem(&local);
            return conn_break(&server->conn, &local, error);
        }
        host->notices = changed->notices;
        host->notice_count = changed->notice_count;
        host->notices_version = 0;
        for (size_t n = 0; n < host->notice_count; n++) {
            host->notices_version = notice_fold(&host->notices[n], host->notices_version);
        }
        struct arena old = place->arena;
        place->arena = *arena;
        *arena = old;
    }
    return HEARSAY_OK;
}

void client_free_notices(struct hearsay *server)
{
    while (server->notices != NULL) {
        struct client_notices *place = server->notices;
        server->notices = place->next;
        arena_deinit(&place->arena);
        alloc_release(server->alloc, place);
    }
}
