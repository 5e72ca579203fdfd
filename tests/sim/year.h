/* SPDX-License-Identifier: Apache-2.0 */
/*
 * year: an access point that nobody looks after for a year. The daemon's handlers, hosts and store
 * are the real ones; clocks, storage and power are the test's.
 *
 *   year_machine.c  clocks, power, storage, memory; the daemon starts, works and stops
 *   year_outside.c  memory, the log and the threads of the store, by the linker's --wrap
 *   year_people.c   guests and their messages: what must be there, and what must not
 *   year_hours.c    when the hosts take messages, by the calendar alone
 *   test_year.c     what happens in the year; the figures of each month, and their bounds
 */
#pragma once

#include "daemon/handler/handler.h"
#include "tests/lib/rng.h"
#include "tests/sim/sim_check.h"

enum { YEAR_HOSTS = 2, STREET = 0, NIGHT = 1 };

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)

#define YEAR_BEGINS_MS INT64_C(1798758000000) /* 1 January 2027, 00:00 in the time zone CET */
#define YEAR_ZONE      "CET-1CEST,M3.5.0,M10.5.0/3"

/* --- the machine ------------------------------------------------------------------------------ */

enum { STORAGE_BYTES = 16 * 1024 * 1024, MEMORY_BYTES = 64 * 1024 * 1024 };

/* The answer to a request. */
struct year_answer {
    enum hearsay_response_kind kind;
    struct msg_error error;
    int64_t expires_ms; /* deposited */
};

/* Where the clock of the machine begins when it has power again. */
enum year_clock { CLOCK_RIGHT, CLOCK_OF_A_FILE, CLOCK_1970 };

/* Makes storage and memory; nothing has power yet. */
void machine_init(void);
void machine_deinit(void);

/* The true time, and by how much the clock of the machine is behind it. */
int64_t machine_now_ms(void);
int64_t machine_error_ms(void);

/*
 * How long the daemon's clock has stood still in all, over ends and starts of the daemon. The clock
 * of a machine that does not know the time goes on where it was saved.
 */
int64_t machine_stopped_ms(void);

/* True time passes, with or without power. */
void machine_pass(int64_t ms);

/* The system sets its clock to the true time; later it says whether the clock is synchronised. */
void machine_set_clock(void);
void machine_synchronise(bool synchronised);

/*
 * Power is there, and the daemon starts. machine_stop: the daemon stops as on SIGTERM. After
 * machine_cut the files are what a power cut leaves.
 */
void machine_start(enum year_clock clock);
void machine_stop(void);
void machine_cut(struct rng *rng);

/* From now on the power goes off at the n-th change of a file: machine_cut leaves that moment. */
void machine_doom(unsigned changes);

struct service *machine_service(void);

/* What the daemon does in each second or so, and its end. */
void machine_tick(void);

/* Asks as somebody with this number (0: the operator), and awaits the answer. */
struct year_answer machine_ask(uint32_t sender, struct hearsay_request *request);

/* The same; `take` gets the answer, whose data is valid during the call. */
struct year_answer machine_ask_for(struct hearsay_request *request,
                                   void (*take)(void *context, const struct hearsay_response *),
                                   void *context);

/* Whether another program has all storage, and takes what the daemon frees. */
void machine_set_storage(bool takes_all);

/* Of the daemon since the beginning: bytes written to storage, and lines of the log. */
uint64_t machine_written(void);
uint64_t machine_lines(void);
/* Bytes of the files now, and those of the pages that the database uses; bytes of memory now, and
 * the most since the last call. */
int64_t machine_storage_bytes(void);
int64_t machine_used_bytes(void);
int64_t machine_memory_bytes(void);
int64_t machine_memory_peak(void);

/* Until the threads of the store wait for work; the time that they read, which stands still. */
void outside_rest(void);
void outside_set_clock(int64_t monotonic_ms);

/* --- hours ------------------------------------------------------------------------------------ */

/* Whether a host is closed at that time, and the time at which this changes next. */
bool hours_closed(unsigned host, int64_t ms);
int64_t hours_end(unsigned host, int64_t ms);

/* The minute of the local day. */
uint32_t hours_minute(int64_t ms);

/* --- guests and the operator ------------------------------------------------------------------ */

void people_init(struct rng *rng);

/*
 * people_deposit: a guest leaves a message, and what happens to the message later is drawn.
 * people_act: the withdrawals, reports, repeated deposits and removals that are due. people_query:
 * a guest reads.
 */
void people_deposit(unsigned host);
void people_act(void);
void people_query(void);

/* Whether another program has all storage. Only then the store may refuse what people ask. */
void people_expect_full(bool is_full);

/* Exports all messages and compares them with the acknowledged ones. */
void people_audit(void);

struct people_figures {
    uint64_t asked, deposited, closed, full, withdrawn, repeated, hidden, removed;
    uint64_t results;
    uint32_t stored; /* at the last audit */
};
const struct people_figures *people_figures(void);

/* A guest leaves a message and gets no answer, because the power goes. */
void people_deposit_at_the_cut(void);
