/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pump: sends requests for the lines of the input, without waiting for each reply, and returns the
 * replies in the order of the lines.
 *
 *   lines --> ring of items: TO_SEND --submit--> SENT --reply--> DONE --> given out in order
 *                               ^                  |
 *                               +-- rate limited, connection lost --+
 *
 * The window is the largest number of requests in flight. When the server refuses a request by its
 * rate limit, the pump waits, usually for the time that the server names. After the wait, the
 * window is the number of replies since the last wait, but at least 1. Each further reply increases
 * the window by one, up to PUMP_RING.
 *
 * The pump waits for input and for the server at the same time. So a program that writes the input
 * through a pipe can get the reply to a line before it sends the next line. The pump waits when the
 * server is busy, and connects again after a lost connection. The number of such waits and
 * connections without progress is bounded. A request without a reply is sent again after the
 * connection is made again, so a request must be safe to repeat.
 */
#pragma once

#include "client/cli/base/cli.h"
#include "client/cli/term/lines.h"

enum {
    PUMP_RING = 1024,                       /* items at a time */
    PUMP_HELD_BYTES_MAX = 16 * 1024 * 1024, /* memory of lines and answers, about */
    PUMP_PAUSES_MAX = 30,                   /* in a row, for a busy server */
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
    char *answer;    /* owned (malloc); set by submit or reply, used by given */
    bool is_marked;  /* set by submit, used by reply */
};

/* What submit and reply return. */
enum pump_verdict {
    PUMP_IS_SENT, /* submit: item->ticket is set */
    PUMP_IS_DONE, /* the item is complete */
    PUMP_IS_FULL, /* submit: too many requests are in flight */
    PUMP_IS_LOST, /* submit: the connection is broken */
    PUMP_STOP     /* ends the run with work->stop_code */
};

struct pump_work {
    enum pump_verdict (*submit)(struct pump_work *work, struct pump_item *item);
    /* Called for each reply, except refusals that the pump handles itself, such as rate limits. */
    enum pump_verdict (*reply)(struct pump_work *work, struct pump_item *item,
                               const struct hearsay_reply *reply);
    /* Called once for each item that is done, in the order of the lines. May be NULL. */
    enum pump_verdict (*given)(struct pump_work *work, struct pump_item *item);
    /*
     * Shows progress. If `hide` is set, removes the progress bar, because the pump is about to
     * write to standard error, or ends. May be NULL.
     */
    void (*show)(struct pump_work *work, const struct lines *lines, bool hide);
    int stop_code; /* the exit code of PUMP_STOP */
};

struct pump {
    struct cli *cli;          /* borrowed; its connection is replaced when it is lost */
    struct pump_work *work;   /* borrowed */
    struct lines *lines;      /* borrowed */
    int64_t backoff_first_ms; /* PUMP_BACKOFF_FIRST_MS */
    struct pump_item *ring;   /* owned; PUMP_RING of them */
    uint64_t head;            /* the items number head .. tail - 1 are in use; item number i is
                               * ring[i % PUMP_RING] */
    uint64_t tail;
    size_t to_send_count; /* items in state TO_SEND */
    size_t sent_count;
    int signals;           /* borrowed signalfd; any of its signals ends the run; -1: none */
    int signalled;         /* the signal that ended the run; 0: none */
    size_t window;         /* most requests in flight; smaller after a rate limit */
    size_t answered_count; /* since the last pause */
    bool said_wait[2]; /* the user was told that the pump waits: [1] for a rate limit, [0] else */
    size_t held_bytes;
    bool input_ended;
    int64_t paused_until_ms;  /* monotonic; nothing is sent before */
    int64_t progress_ms;      /* monotonic; the timeout of the server counts from this time */
    unsigned pause_count;     /* in a row */
    unsigned reconnect_count; /* in a row */
};

/* Prepares a pump that uses cli->connection. Returns CLI_DONE, or an exit code after printing the
 * error. */
int pump_init(struct pump *pump, struct cli *cli, struct pump_work *work, struct lines *lines);
void pump_deinit(struct pump *pump);

/*
 * Processes the input up to its end. Returns CLI_DONE or an exit code. Prints the error before it
 * returns an exit code, except in three cases: CLI_NO_READER; a function of `work` returned
 * PUMP_STOP and has printed its error; a signal on pump->signals ended the run. Then
 * pump->signalled is the number of the signal, and the exit code is 128 plus this number. If the
 * result is not CLI_DONE, the items that were not given out are lost; if there are any, the first
 * of them is pump->ring[pump->head % PUMP_RING].
 */
int pump_run(struct pump *pump);

/* Monotonic milliseconds. */
int64_t pump_now_ms(void);
