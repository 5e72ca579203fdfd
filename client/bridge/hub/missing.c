/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/inner.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/least.h"

static void start_timer(struct missing *missing, uint64_t wait_ms);

static bool is_at_bound(const struct missing *missing)
{
    return missing->ids[true] >= missing->ids_max[true] ||
           missing->ids[false] >= missing->ids_max[false] || missing->odd >= MISSING_ODD_MAX;
}

static void on_timer(uv_timer_t *timer)
{
    struct missing *missing = timer->data;

    if (missing->no_room_before == 0 && missing->no_room == 0 && is_at_bound(missing)) {
        start_timer(missing, missing->wait_ms); /* all that comes would be left out again */
        return;
    }
    missing->no_room = 0;
    missing->beyond = 0;
    missing->again(missing->context);
}

static void start_timer(struct missing *missing, uint64_t wait_ms)
{
    (void)uv_timer_start(&missing->timer, on_timer, wait_ms, 0);
}

void missing_settled(struct missing *missing)
{
    if (uv_is_active((uv_handle_t *)&missing->timer)) {
        return;
    }
    if (missing->no_room == 0 && missing->beyond == 0) {
        if (missing->no_room_before > 0 || missing->beyond_before > 0) {
            log_info("host %s: nothing is left out any more", missing->host);
        }
        missing->no_room_before = missing->beyond_before = 0;
        missing->wait_ms = MISSING_FIRST_MS;
        return;
    }
    missing->no_room_before = missing->no_room;
    missing->beyond_before = missing->beyond;
    start_timer(missing, missing->wait_ms);
    missing->wait_ms =
        2 * missing->wait_ms < MISSING_MOST_MS ? 2 * missing->wait_ms : MISSING_MOST_MS;
}

void missing_greeted(struct missing *missing, uint64_t messages)
{
    if (messages > 0) {
        missing->ids_max[true] = messages < UINT64_MAX / 2 ? 2 * messages : UINT64_MAX;
    }
    if (uv_is_active((uv_handle_t *)&missing->timer)) {
        missing->wait_ms = MISSING_FIRST_MS;
        start_timer(missing, 0);
    }
}

/* --- what is left out ------------------------------------------------------------------------- */

static void note_beyond(struct missing *missing)
{
    uint64_t withheld;

    missing->beyond++;
    if (log_gate_opens(&missing->bound_gate, (int64_t)(uv_hrtime() / 1000000), &withheld)) {
        log_error("host %s: ALARM: the hub has more than twice the messages of it that `messages` "
                  "allows here (%" PRIu64 " messages, %" PRIu64 " others, %" PRIu64
                  " that are no states): new ones are left out. If `messages` is the same at its "
                  "access point, somebody may have taken it over: revoke its certificate "
                  "(docs/hub.md, \"To take one out\")",
                  missing->host, missing->ids[true], missing->ids[false], missing->odd);
    }
}

bool missing_admits(struct missing *missing, bool has_payload)
{
    bool is_within = missing->ids[has_payload] < missing->ids_max[has_payload];

    if (!is_within) {
        note_beyond(missing);
    }
    return is_within;
}

void missing_note_odd(struct missing *missing)
{
    if (missing->odd >= MISSING_ODD_MAX) {
        note_beyond(missing);
    } else {
        missing->odd++;
    }
}

void missing_note_no_room(struct missing *missing, uint64_t changes)
{
    uint64_t withheld;

    missing->no_room += changes;
    if (changes > 0 &&
        log_gate_opens(&missing->room_gate, (int64_t)(uv_hrtime() / 1000000), &withheld)) {
        log_warning(
            "host %s: hearsayd has no room for %" PRIu64
            " messages, bans or notices of the hub, or more: raise `messages` and `bytes` "
            "of the host, or of [limits]; bans and notices wait for others to end; trying on",
            missing->host, missing_no_room(missing));
    }
}

uint64_t missing_no_room(const struct missing *missing)
{
    return most_u64(missing->no_room, missing->no_room_before);
}

uint64_t missing_beyond(const struct missing *missing)
{
    return most_u64(missing->beyond, missing->beyond_before);
}

/* --- beginning and end ------------------------------------------------------------------------ */

void missing_init(struct missing *missing, uv_loop_t *loop, const char *host,
                  void (*again)(void *context), void *context)
{
    memset(missing, 0, sizeof(*missing));
    (void)uv_timer_init(loop, &missing->timer); /* never fails */
    missing->timer.data = missing;
    missing->host = host;
    missing->again = again;
    missing->context = context;
    missing->wait_ms = MISSING_FIRST_MS;
    missing->ids_max[true] = UINT64_MAX;
    missing->ids_max[false] = MISSING_GONE_MAX;
}

void missing_stop(struct missing *missing)
{
    uv_close((uv_handle_t *)&missing->timer, NULL);
}
