/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/pump.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <sodium.h>

/* Some steps return PUMP_GO_ON to say that the pump continues. A result that is not negative is an
 * exit code. */
enum { PUMP_GO_ON = -1 };

int64_t pump_now_ms(void)
{
    return clock_monotonic_us() / 1000;
}

static struct pump_item *item_at(const struct pump *pump, uint64_t at)
{
    return &pump->ring[at % PUMP_RING];
}

int pump_init(struct pump *pump, struct cli *cli, struct pump_work *work, struct lines *lines)
{
    *pump = (struct pump){.cli = cli,
                          .work = work,
                          .lines = lines,
                          .backoff_first_ms = PUMP_BACKOFF_FIRST_MS,
                          .progress_ms = pump_now_ms(),
                          .window = PUMP_RING,
                          .signals = -1,
                          .ring = calloc(PUMP_RING, sizeof(*pump->ring))};
    return pump->ring != NULL ? CLI_DONE : cli_report_nomem(cli);
}

static void item_clear(struct pump_item *item)
{
    free(item->line);
    free(item->answer);
    memset(item, 0, sizeof(*item));
}

void pump_deinit(struct pump *pump)
{
    for (size_t i = 0; pump->ring != NULL && i < PUMP_RING; i++) {
        item_clear(&pump->ring[i]);
    }
    free(pump->ring);
    memset(pump, 0, sizeof(*pump));
}

static void pump_show(struct pump *pump, bool hide)
{
    if (pump->work->show != NULL) {
        pump->work->show(pump->work, pump->lines, hide);
    }
}

static void set_state(struct pump *pump, struct pump_item *item, enum pump_state state)
{
    pump->to_send_count -= item->state == PUMP_TO_SEND ? 1 : 0;
    pump->sent_count -= item->state == PUMP_SENT ? 1 : 0;
    pump->to_send_count += state == PUMP_TO_SEND ? 1 : 0;
    pump->sent_count += state == PUMP_SENT ? 1 : 0;
    if (state == PUMP_DONE && item->line != NULL) {
        /* held_bytes counts the bytes of an item's line until the item is done, and then the bytes
         * of the item's answer. */
        pump->held_bytes -= item->length;
        pump->held_bytes += item->answer != NULL ? strlen(item->answer) : 0;
    }
    item->state = state;
}

/* Gives out what is done, in order. */
static int pump_give(struct pump *pump)
{
    while (pump->head < pump->tail && item_at(pump, pump->head)->state == PUMP_DONE) {
        struct pump_item *item = item_at(pump, pump->head);
        if (pump->work->given != NULL && pump->work->given(pump->work, item) == PUMP_STOP) {
            return pump->work->stop_code;
        }
        if (item->line != NULL) {
            pump->held_bytes -= item->answer != NULL ? strlen(item->answer) : 0;
        }
        item_clear(item);
        pump->head++;
    }
    return PUMP_GO_ON;
}

/* Marks all items in flight to be sent again. */
static void pump_unsend(struct pump *pump)
{
    for (uint64_t at = pump->head; at < pump->tail; at++) {
        if (item_at(pump, at)->state == PUMP_SENT) {
            set_state(pump, item_at(pump, at), PUMP_TO_SEND);
        }
    }
}

static int64_t at_most_last(uint64_t ms)
{
    return ms < PUMP_BACKOFF_LAST_MS ? (int64_t)ms : PUMP_BACKOFF_LAST_MS;
}

/*
 * Returns a random wait between ms / 2 and ms, so that the clients of a restarted server do not all
 * connect at the same time.
 */
static int64_t with_jitter(int64_t ms)
{
    return ms - (int64_t)randombytes_uniform((uint32_t)(ms / 2 + 1));
}

/* Waits for `ms` milliseconds, or until a signal arrives that ends the run. */
static void wait_ms(const struct pump *pump, int64_t ms)
{
    struct pollfd signals = {.fd = pump->signals, .events = POLLIN};
    (void)poll(&signals, 1,
               (int)ms); /* another signal may end the wait earlier, which does no harm */
}

/* Reads a signal. Returns the exit code of the signal, or PUMP_GO_ON when no signal has arrived. */
static int take_signal(struct pump *pump)
{
    struct signalfd_siginfo info;
    if (pump->signals < 0 || read(pump->signals, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return PUMP_GO_ON;
    }
    pump_show(pump, true);
    pump->signalled = (int)info.ssi_signo;
    return 128 + pump->signalled; /* as a shell reports it */
}

/* Connects again, with growing waits between the attempts. */
static int pump_reconnect(struct pump *pump, const struct hearsay_error *reason)
{
    struct hearsay_error error = *reason;
    hearsay_close(pump->cli->connection);
    pump->cli->connection = NULL;
    pump_unsend(pump);
    while (pump->reconnect_count < PUMP_RECONNECTS_MAX) {
        int64_t backoff_ms =
            at_most_last((uint64_t)pump->backoff_first_ms << pump->reconnect_count);
        pump->reconnect_count++;
        int64_t delay_ms = with_jitter(backoff_ms);
        if (error.retry_after_ms > (uint64_t)delay_ms) { /* the server names a longer wait */
            delay_ms = at_most_last(error.retry_after_ms);
        }
        pump_show(pump, true);
        cli_complain(pump->cli, "%s; trying again in %d s (%u of %d)", error.sentence,
                     (int)((delay_ms + 999) / 1000), pump->reconnect_count, PUMP_RECONNECTS_MAX);
        wait_ms(pump, delay_ms);
        int signalled = take_signal(pump);
        if (signalled != PUMP_GO_ON) {
            return signalled;
        }
        if (connect_resuming(pump->cli, NULL, 0, &pump->cli->connection, &error) == HEARSAY_OK) {
            pump->progress_ms = pump_now_ms();
            return PUMP_GO_ON;
        }
        if (error.status == HEARSAY_ERR_NOMEM || error.status == HEARSAY_ERR_ARGUMENT ||
            error.status == HEARSAY_ERR_TRUST) {
            break;
        }
    }
    pump_show(pump, true);
    return cli_report(pump->cli, &error);
}

/* Handles a broken connection or another failed call. */
static int pump_recover(struct pump *pump, const struct hearsay_error *error)
{
    bool refused_for_now =
        error->status == HEARSAY_ERR_REFUSED &&
        (error->code == HEARSAY_CODE_SHUTTING_DOWN || error->code == HEARSAY_CODE_RATE_LIMITED);
    if (error->status == HEARSAY_ERR_LOST || error->status == HEARSAY_ERR_TIMEOUT ||
        refused_for_now) {
        return pump_reconnect(pump, error);
    }
    pump_show(pump, true);
    return cli_report(pump->cli, error);
}

/* Called after a submit has failed because the connection was lost. Calls hearsay_next until it
 * returns no more replies, then handles the error of the connection. */
static int recover_lost(struct pump *pump)
{
    const struct hearsay_reply *reply = NULL;
    struct hearsay_error error;
    int status = HEARSAY_OK;
    while (status == HEARSAY_OK) {
        status = hearsay_next(pump->cli->connection, 0, &reply, &error);
    }
    if (status > HEARSAY_OK) {
        error.status = HEARSAY_ERR_LOST;
    }
    return pump_recover(pump, &error);
}

/*
 * Submits an item. Returns PUMP_GO_ON, PUMP_FULL_NOW when too many requests are in flight, or an
 * exit code.
 */
enum { PUMP_FULL_NOW = -2 };
static int pump_submit(struct pump *pump, struct pump_item *item)
{
    switch (pump->work->submit(pump->work, item)) {
    case PUMP_IS_SENT:
        if (pump->sent_count == 0) {
            pump->progress_ms = pump_now_ms(); /* the wait for an answer begins here */
        }
        set_state(pump, item, PUMP_SENT);
        return PUMP_GO_ON;
    case PUMP_IS_DONE:
        set_state(pump, item, PUMP_DONE);
        return PUMP_GO_ON;
    case PUMP_IS_FULL:
        return PUMP_FULL_NOW;
    case PUMP_IS_LOST:
        return recover_lost(pump);
    case PUMP_STOP:
        break;
    }
    return pump->work->stop_code;
}

/* Takes a line into the ring. */
static int add_item(struct pump *pump, const char *line, size_t length)
{
    struct pump_item *item = item_at(pump, pump->tail);
    memset(item, 0, sizeof(*item));
    item->number = pump->lines->number;
    if (line != NULL) {
        item->line = malloc(length + 1);
        if (item->line == NULL) {
            pump_show(pump, true);
            return cli_report_nomem(pump->cli);
        }
        memcpy(item->line, line, length);
        item->line[length] = '\0';
        item->length = length;
        pump->held_bytes += length;
    }
    item->state = PUMP_TO_SEND;
    pump->to_send_count++;
    pump->tail++;
    return PUMP_GO_ON;
}

static bool has_room(const struct pump *pump)
{
    return pump->tail - pump->head < PUMP_RING && pump->held_bytes < PUMP_HELD_BYTES_MAX;
}

/* Sends what waits, oldest first. */
static int send_waiting(struct pump *pump)
{
    for (uint64_t at = pump->head; at < pump->tail && pump->to_send_count > 0; at++) {
        struct pump_item *item = item_at(pump, at);
        if (item->state != PUMP_TO_SEND) {
            continue;
        }
        if (pump->sent_count >= pump->window) {
            return PUMP_FULL_NOW;
        }
        int status = pump_submit(pump, item);
        if (status != PUMP_GO_ON) {
            return status;
        }
    }
    return PUMP_GO_ON;
}

/* Sends all requests that can be sent without waiting. */
static int send_all(struct pump *pump)
{
    for (;;) {
        if (pump_now_ms() < pump->paused_until_ms) {
            return PUMP_GO_ON;
        }
        int status = send_waiting(pump);
        if (status != PUMP_GO_ON) {
            return status == PUMP_FULL_NOW ? PUMP_GO_ON : status;
        }
        status = pump_give(pump);
        if (status != PUMP_GO_ON) {
            return status;
        }
        if (pump->to_send_count > 0) {
            continue; /* the connection was made again meanwhile */
        }
        if (!has_room(pump)) {
            return PUMP_GO_ON;
        }
        const char *line = NULL;
        size_t length = 0;
        int found = lines_next(pump->lines, &line, &length);
        if (found == LINES_MORE || found == LINES_END) {
            pump->input_ended = found == LINES_END;
            return PUMP_GO_ON;
        }
        status = add_item(pump, found == 0 ? line : NULL, length);
        if (status != PUMP_GO_ON) {
            return status;
        }
    }
}

/* Returns whether the server refused a line for a reason that is temporary and does not lie in the
 * line: rate, storage, quota, or shutdown. */
static bool is_passing(const struct hearsay_error *error)
{
    return error->code == HEARSAY_CODE_RATE_LIMITED || error->code == HEARSAY_CODE_STORAGE ||
           error->code == HEARSAY_CODE_QUOTA || error->code == HEARSAY_CODE_SHUTTING_DOWN;
}

static int pause_sending(struct pump *pump, struct pump_item *item,
                         const struct hearsay_error *error)
{
    set_state(pump, item, PUMP_TO_SEND);
    if (error->code == HEARSAY_CODE_SHUTTING_DOWN) {
        return pump_reconnect(pump, error);
    }
    int64_t now_ms = pump_now_ms();
    if (now_ms < pump->paused_until_ms) {
        return PUMP_GO_ON; /* one of many that were under way */
    }
    /* If a quota is used up, waiting helps only if the server names a time, and a short one: the
     * next message of a full host may expire in days. */
    bool hopeless =
        error->code == HEARSAY_CODE_QUOTA &&
        (error->retry_after_ms == 0 || error->retry_after_ms > (uint64_t)PUMP_BACKOFF_LAST_MS);
    if (hopeless || pump->pause_count >= PUMP_PAUSES_MAX) {
        pump_show(pump, true);
        return cli_report(pump->cli, error);
    }
    bool is_rate = error->code == HEARSAY_CODE_RATE_LIMITED;
    if (is_rate) {
        pump->window = pump->answered_count > 0 ? pump->answered_count : 1;
    }
    if (!pump->said_wait[is_rate]) {
        pump->said_wait[is_rate] = true;
        pump_show(pump, true);
        cli_complain(pump->cli, "%s; %s", error->sentence,
                     is_rate ? "going on as fast as it allows" : "waiting and trying again");
    }
    pump->answered_count = 0;
    uint64_t delay_ms = error->retry_after_ms != 0 ? error->retry_after_ms : 1000;
    pump->pause_count++;
    pump->paused_until_ms = now_ms + at_most_last(delay_ms);
    return PUMP_GO_ON;
}

static struct pump_item *find_ticket(const struct pump *pump, uint64_t ticket)
{
    for (uint64_t at = pump->head; at < pump->tail; at++) {
        struct pump_item *item = item_at(pump, at);
        if (item->state == PUMP_SENT && item->ticket == ticket) {
            return item;
        }
    }
    return NULL;
}

static int take_reply(struct pump *pump, const struct hearsay_reply *reply)
{
    pump->progress_ms = pump_now_ms();
    struct pump_item *item = find_ticket(pump, reply->response.id);
    if (item == NULL) {
        return PUMP_GO_ON;
    }
    if (reply->response.kind == HEARSAY_RESPONSE_ERROR && is_passing(&reply->error)) {
        struct hearsay_error error = reply->error; /* it is borrowed, and the server may go */
        return pause_sending(pump, item, &error);
    }
    pump->pause_count = 0;
    pump->reconnect_count = 0;
    pump->answered_count++;
    pump->window += pump->window < PUMP_RING ? 1 : 0;
    if (pump->work->reply(pump->work, item, reply) == PUMP_STOP) {
        return pump->work->stop_code;
    }
    set_state(pump, item, PUMP_DONE);
    return PUMP_GO_ON;
}

/* Takes all replies that have come. */
static int receive_all(struct pump *pump, bool *out_received)
{
    while (pump->sent_count > 0) {
        const struct hearsay_reply *reply = NULL;
        struct hearsay_error error;
        int status = hearsay_next(pump->cli->connection, 0, &reply, &error);
        if (status > HEARSAY_OK) {
            return PUMP_GO_ON;
        }
        *out_received = true;
        status = status == HEARSAY_OK ? take_reply(pump, reply) : pump_recover(pump, &error);
        if (status == PUMP_GO_ON) {
            status = pump_give(pump);
        }
        if (status != PUMP_GO_ON) {
            return status;
        }
    }
    return PUMP_GO_ON;
}

/*
 * Returns the timeout of the next poll in ms: until the end of a pause or until the server's
 * timeout, whichever is earlier; -1 is no timeout.
 */
static int wait_budget(const struct pump *pump)
{
    int64_t now_ms = pump_now_ms();
    int64_t until_ms = INT64_MAX;
    if (pump->sent_count > 0) {
        until_ms = pump->progress_ms + cli_timeout(pump->cli);
    }
    if (pump->paused_until_ms > now_ms && pump->paused_until_ms < until_ms) {
        until_ms = pump->paused_until_ms;
    }
    if (pump->sent_count == 0 && pump->to_send_count > 0 && pump->paused_until_ms <= now_ms) {
        return 0; /* the pause has ended since it was looked at */
    }
    if (until_ms == INT64_MAX) {
        return -1;
    }
    return until_ms <= now_ms ? 0 : (int)(until_ms - now_ms);
}

static int read_input(struct pump *pump)
{
    int reason = lines_read(pump->lines);
    if (reason == 0) {
        return PUMP_GO_ON;
    }
    pump_show(pump, true);
    cli_complain(pump->cli, "cannot read the input: %s", strerror(reason));
    return CLI_NEGATIVE;
}

/* Waits until there is something to do. */
static int wait_for_work(struct pump *pump)
{
    bool paused = pump_now_ms() < pump->paused_until_ms;
    bool reads = !pump->input_ended && !paused && pump->to_send_count == 0 && has_room(pump);
    bool writes = false;
    struct pollfd waited[3] = {{.fd = reads ? pump->lines->fd : -1, .events = POLLIN},
                               {.fd = -1},
                               {.fd = pump->signals, .events = POLLIN}};
    if (pump->sent_count > 0) {
        waited[1].fd = hearsay_fd(pump->cli->connection, &writes);
        waited[1].events = writes ? POLLIN | POLLOUT : POLLIN;
    }
    int flushed = cli_flush(pump->cli); /* the program that reads the answers may write its next
                                           line only after it has read them */
    if (flushed != CLI_DONE) {
        return flushed;
    }
    int count = poll(waited, 3, wait_budget(pump));
    if (count < 0 && errno != EINTR) {
        cli_complain(pump->cli, "cannot wait: %s", strerror(errno));
        return CLI_NEGATIVE;
    }
    if (count > 0 && waited[0].revents != 0) {
        return read_input(pump);
    }
    if (count == 0 && pump->sent_count > 0 &&
        pump_now_ms() >= pump->progress_ms + cli_timeout(pump->cli)) {
        struct hearsay_error error = {.status = HEARSAY_ERR_TIMEOUT,
                                      .sentence = "the server did not answer in time"};
        return pump_recover(pump, &error);
    }
    return PUMP_GO_ON;
}

int pump_run(struct pump *pump)
{
    for (;;) {
        bool received = false;
        int status = take_signal(pump);
        status = status == PUMP_GO_ON ? send_all(pump) : status;
        status = status == PUMP_GO_ON ? receive_all(pump, &received) : status;
        status = status == PUMP_GO_ON ? pump_give(pump) : status;
        if (status != PUMP_GO_ON) {
            return status;
        }
        pump_show(pump, false);
        if (pump->input_ended && pump->head == pump->tail) {
            pump_show(pump, true);
            return CLI_DONE;
        }
        /* A received reply may allow further requests to be sent. */
        if (!received) {
            status = wait_for_work(pump);
        }
        if (status != PUMP_GO_ON) {
            return status;
        }
    }
}
