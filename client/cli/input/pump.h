/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump: lines of input to requests, pipelined, and their replies back in the order of the lines.
 *
 *   lines --> ring of items: TO_SEND --submit--> SENT --reply--> DONE --> given out in order
 *                               ^                  |
 *                               +-- told to wait, connection lost --+
 *
 * A server that limits the rate says how long to wait. Then as many are under way as it answered
 * since the last time, and one more for each answer: so few are sent in vain, however many wait.
 *
 * It waits for input and server at once, so a program at the other end of a pipe gets its answer
 * before it has to send the next line. A server that is busy is waited for, a connection that broke
 * is made again, both a bounded number of times without progress between; what was not answered is
 * sent again, and must therefore be harmless to repeat.
 */
#ifndef CLIENT_CLI_INPUT_PUMP_H
#define CLIENT_CLI_INPUT_PUMP_H

#include "client/cli/base/cli.h"
#include "client/cli/term/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PUMP_RING = 1024,                       /* items at a time */
    PUMP_HELD_BYTES_MAX = 16 * 1024 * 1024, /* of lines and answers held, about */
    PUMP_PAUSES_MAX = 30,                   /* in a row, of a server that is busy */
    PUMP_RECONNECTS_MAX = 8,                /* in a row */
    PUMP_BACKOFF_FIRST_MS = 1000,           /* doubles up to */
    PUMP_BACKOFF_LAST_MS = 60000
};

enum pump_state { PUMP_TO_SEND, PUMP_SENT, PUMP_DONE };

struct pump_item {
    enum pump_state state;
    uint64_t number; /* of the line, from 1 */
    char *line;      /* owned; NULL: it was too long */
    size_t length;
    uint64_t ticket; /* SENT */
    char *answer;    /* owned (malloc); the work's, for given */
    bool is_marked;  /* the work's, for reply */
};

/* What submit and reply say of an item. */
enum pump_verdict {
    PUMP_IS_SENT, /* submit: item->ticket is set */
    PUMP_IS_DONE, /* it needs nothing more */
    PUMP_IS_FULL, /* submit: not now, the connection is full */
    PUMP_IS_LOST, /* submit: the connection is broken */
    PUMP_STOP     /* an error that ends it all; work->stop_code says how */
};

struct pump_work {
    enum pump_verdict (*submit)(struct pump_work *work, struct hearsay *server,
                                struct pump_item *item);
    /* Not called for refusals that the pump deals with itself. */
    enum pump_verdict (*reply)(struct pump_work *work, struct pump_item *item,
                               const struct hearsay_reply *reply);
    /* In order of the lines, for each item once. */
    enum pump_verdict (*given)(struct pump_work *work, struct pump_item *item);
    /* Now and then; before the pump writes to standard error too, then with `hide`. May be NULL. */
    void (*show)(struct pump_work *work, const struct lines *lines, bool hide);
    int stop_code; /* the exit code of PUMP_STOP */
};

struct pump {
    const struct cli *cli;    /* borrowed */
    struct pump_work *work;   /* borrowed */
    struct lines *lines;      /* borrowed */
    struct hearsay *server;   /* owned; NULL while there is none */
    int64_t backoff_first_ms; /* PUMP_BACKOFF_FIRST_MS */
    struct pump_item *ring;   /* owned; PUMP_RING of them */
    uint64_t head;            /* items by running number: head .. tail - 1, in ring[i % RING] */
    uint64_t tail;
    size_t to_send_count; /* of these */
    size_t sent_count;
    int signals;           /* a signalfd whose signals end the run, borrowed; -1: none */
    int signalled;         /* the signal that ended it; 0: none did */
    size_t window;         /* of these at most: less where the server limits the rate */
    size_t answered_count; /* since the last pause */
    bool said_limited;     /* the user knows that it does */
    size_t held_bytes;
    bool input_ended;
    int64_t paused_until_ms;  /* monotonic; nothing is sent before */
    int64_t progress_ms;      /* when the server last said something */
    unsigned pause_count;     /* in a row */
    unsigned reconnect_count; /* in a row */
};

/* Takes `server`. CLI_DONE or an exit code after saying why. */
int pump_init(struct pump *pump, const struct cli *cli, struct pump_work *work, struct lines *lines,
              struct hearsay *server);
void pump_deinit(struct pump *pump); /* closes the server */

/*
 * Runs to the end of the input. CLI_DONE, or an exit code after saying why; then the items that
 * were not given out are lost, and pump->ring[pump->head % PUMP_RING] is the first of them. A
 * signal on pump->signals ends the run without a word: 128 and the signal's number, pump->signalled
 * then.
 */
int pump_run(struct pump *pump);

/* Monotonic milliseconds. */
int64_t pump_now_ms(void);

#endif
