/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/own/own.h"

#include <string.h>

#include "client/bridge/own/inner.h"

enum { ANSWER_MS = 10 * 1000, SLACK_MS = 2000, LOOKS = 20, LOOK_MS = 200 };

struct take {
    struct errand errand;
    struct head_keeper keeper;
    struct head own; /* what is written */
    char profile[LIMIT_PROFILE_BYTES + 1];
    enum head_outcome outcome;
    struct head found;
    bool was_owner; /* the store here, earlier: it has a cursor */
};

static void on_head(void *context, enum head_outcome outcome, const struct head *found)
{
    struct take *take = context;

    take->outcome = outcome;
    take->found = *found;
    take->errand.is_over = true;
}

/* Which store is asked for: that of the hearsayd here. */
static int read_store(struct take *take, const struct bridge_config *config, char *out_reason)
{
    struct hearsay_connect options;
    struct hearsay_error error;
    struct hearsay *server = NULL;

    hearsay_connect_init(&options);
    options.server = config->server;
    if (hearsay_connect(&options, &server, &error) != HEARSAY_OK) {
        return reason_set(out_reason, "hearsayd: %s", error.sentence);
    }
    const struct hearsay_host *host = hearsay_find_host(server, take->keeper.host);
    int rc = 0;
    if (host == NULL) {
        rc = reason_set(out_reason, "hearsayd has no host %s", take->keeper.host);
    } else {
        memcpy(take->own.store_id, hearsay_welcome(server)->store_id, LIMIT_ID_BYTES);
        take->own.as_of_ms = hearsay_now_ms(server);
        struct cursor cursor;
        cursor_load(config->state, host->name, &cursor);
        take->was_owner = memcmp(cursor.store_id, take->own.store_id, LIMIT_ID_BYTES) == 0;
        take->own.seq = take->was_owner ? cursor.seq : 0;
        take->own.term = head_next_term(cursor.term);
        (void)snprintf(take->profile, sizeof(take->profile), "%s", host->profile);
    }
    hearsay_close(server);
    return rc;
}

static int await_head(struct take *take, bool is_sent, char *out_reason)
{
    if (!is_sent || !errand_wait(&take->errand, ANSWER_MS)) {
        return reason_set(out_reason, "the hub takes no request");
    }
    if (take->outcome == HEAD_FAILED) {
        return reason_set(out_reason, "%s", take->found.error);
    }
    return 0;
}

static int look_at_head(struct take *take, char *out_reason)
{
    return await_head(take, head_read(&take->keeper), out_reason);
}

/* Waits until the store of before would have written its head. */
static int wait_silence(struct take *take, FILE *out, char *out_reason)
{
    uint64_t interval = bridge_head_ms();
    uint64_t place = take->found.place;

    (void)fprintf(out, "waiting %llu s: the store of before must be silent\n",
                  (unsigned long long)(interval + SLACK_MS) / 1000);
    (void)fflush(out);
    errand_pause(&take->errand, interval + SLACK_MS);
    int rc = look_at_head(take, out_reason);
    if (rc == 0 && (take->outcome != HEAD_FOUND || take->found.place != place)) {
        rc = reason_set(out_reason, "the store of before still publishes this host: revoke its "
                                    "certificate first, or take the host with --now");
    }
    return rc;
}

/* The head that was read may be an older one; the hub says where the last one stands. */
static int write_own(struct take *take, char *out_reason)
{
    uint64_t place = take->outcome == HEAD_FOUND ? take->found.place : 0;

    for (int i = 0; i < LOOKS; i++) {
        int rc = await_head(take, head_write(&take->keeper, &take->own, take->profile, place),
                            out_reason);
        if (rc != 0 || take->outcome == HEAD_ACCEPTED) {
            return rc;
        }
        place = take->found.place;
        errand_pause(&take->errand, LOOK_MS);
    }
    return reason_set(out_reason, "another store writes heads all the time; try again");
}

static int take_over(struct take *take, bool is_now, FILE *out, char *out_reason)
{
    int rc = look_at_head(take, out_reason);

    if (rc != 0) {
        return rc;
    }
    if (take->outcome == HEAD_FOUND && take->own.term <= take->found.term) {
        take->own.term = head_next_term(take->found.term);
    }
    bool is_owner = take->outcome == HEAD_FOUND &&
                    memcmp(take->found.store_id, take->own.store_id, LIMIT_ID_BYTES) == 0;
    if (is_owner) {
        (void)fprintf(out, "the store here is the owner already: it gets from a reader what it "
                           "does not have\n");
        take->own.is_taken = true;
        return write_own(take, out_reason);
    }
    if (take->outcome == HEAD_FOUND && take->was_owner) {
        (void)fprintf(out, "the store here was the owner before: it gets from a reader what was "
                           "deposited and\nwithdrawn at the other store meanwhile, and publishes "
                           "after that\n");
        take->own.is_taken = true;
    }
    if (take->outcome == HEAD_FOUND && is_now) {
        (void)fprintf(out,
                      "the store of before may publish for %llu s more: what it publishes then,\n"
                      "and what it never published, does not come to the store here\n",
                      (unsigned long long)bridge_head_ms() / 1000);
    } else if (take->outcome == HEAD_FOUND) {
        rc = wait_silence(take, out, out_reason);
    }
    rc = rc == 0 ? write_own(take, out_reason) : rc;
    if (rc == 0) {
        (void)fprintf(out, "%s: the store here is the owner now\n", take->keeper.host);
    }
    return rc;
}

int take_host(const struct bridge_config *config, const char *host, bool is_now, FILE *out,
              char *out_reason)
{
    struct take take = {.outcome = HEAD_NONE};
    const struct bridge_host *section = bridge_config_host(config, host);

    if (section == NULL || !section->publishes) {
        return reason_set(out_reason, "the configuration has no [host %s] that publishes", host);
    }
    int rc = errand_open(&take.errand, config, out_reason);
    if (rc == 0) {
        take.keeper = (struct head_keeper){
            .wire = take.errand.wire, .host = host, .done = on_head, .context = &take};
        rc = read_store(&take, config, out_reason);
    }
    rc = rc == 0 ? take_over(&take, is_now, out, out_reason) : rc;
    errand_close(&take.errand);
    return rc;
}
