/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phones: people with phones in front of hearsay-web. Each phone has an address of its own in
 * 127.0.0.0/8, opens the page, keeps it open with a stream of events, and comes back after the
 * connection was lost as a browser does. Pages and messages are due at times that are fixed
 * beforehand (an open loop), so a slow answer does not delay the next request.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "daemon/limits/metrics.h"

enum { PHONES_MAX = 8000, PHONES_PLACES_MAX = 250, PHONES_NAME_BYTES = 128 };

struct phones_plan {
    uint16_t port;
    char name[PHONES_NAME_BYTES]; /* of the page, as browsers send it in Host, with its port */
    uint32_t phones;
    uint32_t places;            /* phone I begins at place I modulo `places`; place P has the
                                   addresses 127.(P + 1).0.0/16 */
    bool has_streams;           /* pages stay open */
    bool closes_pages;          /* no connection is kept for the next page */
    uint32_t opened_per_second; /* phones that open the page for the first time; 0: all at once */
    double pages_per_second;    /* that are opened again, by phones in turn */
    double deposits_per_second;
    double roams_per_minute; /* phones that go to another place */
    uint32_t text_bytes;     /* of a message, at most 400; fewer than 24: 24 */
    uint64_t seed;
    FILE *acknowledged; /* receives the id of each message that was acknowledged; NULL: none */
};

struct phones_result {
    struct histogram page_us;  /* from the moment at which the page was due to its last byte */
    struct histogram leave_us; /* from the moment at which the form was sent to its answer */
    struct histogram shown_us; /* from the same moment to the event on another phone */
    uint64_t pages;
    uint64_t left;    /* messages acknowledged */
    uint64_t shown;   /* events of messages of this run */
    uint64_t refused; /* answers other than 200 */
    uint64_t lost;    /* requests whose connection ended before the answer, or could not be made */
    uint64_t roamed;
    uint64_t resumed; /* streams that were opened with Last-Event-ID */
    uint64_t gone;    /* events that say that the list has to be loaded again */
};

struct phones;

/* The plan is borrowed until phones_free. Returns NULL after a message on standard error. */
struct phones *phones_new(const struct phones_plan *plan);
void phones_free(struct phones *phones); /* NULL is fine */

/*
 * Opens the page on all phones that have not opened it, and waits until all have it. Adds to
 * `result`. Returns 0, or -1 after a message on standard error if that takes over a minute.
 */
int phones_open(struct phones *phones, struct phones_result *result);

/* Runs the plan for some seconds, then waits for the last answers. Adds to `result`. */
void phones_run(struct phones *phones, double seconds, struct phones_result *result);

/* From now on the page is at another port of the same machine. `plan` keeps its old port. */
void phones_use_port(struct phones *phones, uint16_t port, const char *name);

/*
 * Cuts all streams, and opens them again at once with Last-Event-IDs spread over the last `spread`
 * messages. Returns the seconds until all phones have their stream, or -1 after a message on
 * standard error if that takes over a minute.
 */
double phones_come_back(struct phones *phones, uint64_t spread, struct phones_result *result);
