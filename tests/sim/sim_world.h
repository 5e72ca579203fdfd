/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_world: one simulated world: a server with its sessions and its store, clients that come and
 * go, the system's clocks, and the model that says what must come of it. All of it follows from one
 * number.
 *
 *   sim_world.c     the server: begins, ends, turns, time passes
 *   sim_gate.c      between service and store: holds operations and reads until the world lets them
 *                   through, and holds what becomes of them against the model
 *   sim_client.c    what clients send, and what they are answered
 *   sim_ask.c       requests made up at random
 *   sim_expect*.c   what the model says to a request when it reaches the handlers, and to an
 *                   operation when it is done
 *   sim_answer.c    whether an answer is that
 *   sim_watch.c     standing queries: what has to be pushed
 *   sim_stream.c    the network
 */
#pragma once

#include <xxhash.h>

#include "daemon/net/server.h"
#include "tests/lib/rng.h"
#include "tests/sim/sim_check.h"
#include "tests/sim/sim_model.h"
#include "tests/sim/sim_stream.h"

enum {
    W_CLIENTS = 7,
    W_REQUESTS = 4096, /* of one world */
    W_WATCHES = 512,   /* that ever were */
    W_ENTRIES = 512,   /* messages that one watch may see */
    W_HELD = 1024,     /* operations, reads that are held */
    W_DROPS = 64,      /* of one client's sessions */
    W_FOUND = 160      /* messages that one read finds */
};

#define W_FIRST_MS INT64_C(1800000000000) /* when worlds begin: the wall clock, if it is right */

/* --- requests --------------------------------------------------------------------------------- */

/* An answer as it must be. */
struct w_expected {
    bool is_known;  /* the rest is filled: it may be answered */
    bool responded; /* the handlers have answered */
    bool answered;  /* the client has got it */
    enum hearsay_response_kind kind;
    enum hearsay_code code;
    const char *field; /* of an error; NULL: not looked at */
    uint64_t retry_ms;
    bool or_not_found; /* that is right, too */
    uint32_t message;  /* deposited, got: its number */
    uint32_t shifts;   /* found: model.shifts at that time */
    bool duplicate, held;
    int64_t now_ms;
    bool trusted;
    uint32_t count; /* results, or others in order: numbers of messages */
    struct m_result results[M_RESULTS];
    bool capped, more;
    uint64_t total;
    uint64_t watch_id, seq;
    const char *mode, *source;
    int64_t until_ms;
    struct hearsay_epoch_info epochs[M_HOSTS]; /* welcome: current ones; number 0: none */
    enum accept accept[M_HOSTS];
    int64_t accept_until_ms[M_HOSTS];
    bool has_dropped;
    uint8_t filter[M_FILTER_BYTES];
    uint32_t low, high;
    uint64_t figures[M_HOSTS][6];
    struct m_ban bans[M_BANS];
};

struct w_client;

struct w_request {
    uint64_t id;
    enum hearsay_request_kind kind;
    struct w_client *client;
    uint64_t session; /* which of the client's */
    uint32_t host;
    bool names_host, unknown_host;
    uint8_t message_id[MESSAGE_ID_BYTES];
    /* deposit */
    uint64_t epoch;
    uint8_t filter[M_FILTER_BYTES];
    uint32_t filter_bytes;
    uint32_t payload, ttl_s, reach_ppm, token;
    bool has_ttl_s, can_withdraw;
    uint32_t deposit; /* the number of the message that it makes; valid while it is under way */
    /* hello */
    bool has_shown;
    uint8_t shown[RESUME_TOKEN_BYTES];
    /* query, watch */
    struct m_query query;
    uint64_t after_seq; /* UINT64_MAX: absent */
    uint64_t watch_id;  /* unwatch */
    struct w_interest *interest;
    /* others */
    uint32_t reason, number;
    bool ban, pending;
    const char *word;
    char path[112]; /* of a backup */
    struct m_ban rule;
    bool has_cursor;
    int64_t cursor;
    /* while it is under way */
    uint32_t attempts;
    enum persist_state state;         /* of the message that it is about: to be, or from before */
    bool is_uncounted;                /* a report that does not count for hide_after */
    bool is_own, is_grave, is_beyond; /* as of its message */
    uint32_t reports;
    int64_t deposited_ms;
    bool has_failed; /* the storage, at some step */
    struct w_expected expected;
};

/* --- watches ---------------------------------------------------------------------------------- */

struct w_entry {
    uint32_t message; /* its number */
    int64_t seq;      /* under which it is pushed */
    bool may_be_missing;
    bool pushed; /* the server has */
    bool got;    /* the client has */
};

struct w_watch {
    struct w_client *client;
    uint64_t session;
    uint64_t id; /* as the server calls it */
    struct m_query query;
    int64_t start;      /* what came after this is its */
    int64_t live_after; /* ... and what came after this, as it comes */
    bool is_over;
    struct w_interest *interest;
    struct w_entry entries[W_ENTRIES];
    uint32_t entry_count;
    int64_t last_seq; /* that the client has got */
};

/* What a client wants to see, also over its sessions. */
struct w_interest {
    bool is_set;
    struct m_query query;
    int64_t last_seq; /* to go on from; -1: from now on */
    struct w_watch *watch;
    uint8_t seen[M_MESSAGES / 8]; /* messages that it has got */
};

/* --- clients ---------------------------------------------------------------------------------- */

struct w_client {
    uint32_t number;
    uint32_t address; /* see sim_stream */
    uint32_t sender;  /* of the model; 0: exempt */
    bool is_administrator, is_unix, is_on_site;

    bool connected;
    uint64_t session; /* how many it has had */
    struct sim_stream stream;
    struct requester *peer; /* how the handlers know it; NULL: gone */
    struct bytes output;    /* encoded, and not yet sent */
    struct frame_decoder input;
    struct arena arena;
    bool is_refused; /* it was one too many */
    bool is_counted; /* among its address's connections */
    bool welcomed;   /* the server has sent Welcome, */
    bool greeted;    /* ... and the client has got it */
    bool may_be_dropped;
    bool is_stuck;    /* it has not read for too long */
    int64_t since_ms; /* monotonic */
    bool has_token;
    uint8_t token[RESUME_TOKEN_BYTES]; /* of the latest Welcome */
    struct {
        uint8_t token[RESUME_TOKEN_BYTES];
        int64_t at_ms; /* monotonic */
    } drops[W_DROPS];  /* of its sessions, of which it has not been told */
    uint32_t drop_count;
    struct w_interest interests[2];
};

/* --- the world -------------------------------------------------------------------------------- */

struct w_held_op {
    struct persist_op *op;
    void (*done)(struct persist_op *op);
    struct w_request *owner; /* NULL: the service's own */
    bool is_through;
};

struct w_held_read {
    struct persist_read *read;
    void (*done)(struct persist_read *read);
    struct w_request *owner;
    bool is_carried_out;
    uint32_t count; /* what it will have found: numbers of messages, M_MESSAGES: not found */
    uint32_t found[W_FOUND];
    bool more;
};

/* Does long work when the world says so. */
struct w_worker {
    struct worker worker;   /* first */
    struct long_work *work; /* waits; NULL: none */
    unsigned turns;         /* that it has waited */
};

struct world {
    struct rng rng;
    uint64_t seed;
    bool on_sqlite;
    char directory[80];
    struct config config;
    struct server server;
    struct service_control control;
    struct w_worker worker;
    struct listener listeners[3]; /* Unix, TCP, TCP on site */
    int64_t wall_ms, monotonic_ms;
    bool synchronised;
    struct persist *store; /* behind the gate */
    uv_loop_t loop;        /* of the store */
    uv_mutex_t submitting; /* held while the store is given operations: sim_gate.c */
    struct persist gate;
    struct w_held_op ops[W_HELD];
    size_t op_count;
    struct w_held_read reads[W_HELD];
    size_t read_count;
    struct persist_job *job;
    void (*job_done)(struct persist_job *job);
    struct w_request *job_owner;
    struct w_request *owner; /* whose work it is that is being done */
    bool page_failed;        /* and is answered: who wanted it is dropped */
    bool is_up;
    uint32_t ticks;
    uint32_t host_numbers[M_HOSTS]; /* in the store */

    struct model model;
    struct w_client clients[W_CLIENTS];
    struct w_request *requests[W_REQUESTS]; /* by id - 1 */
    uint64_t request_count;
    struct w_watch *watches[W_WATCHES];
    uint32_t watch_count;
    uint64_t watch_number; /* of the server's last one */
    bool checking;
    uint8_t contexts[M_HOSTS][8][M_FILTER_BYTES]; /* that messages and queries are near to */
    uint8_t store_id[PERSIST_STORE_ID_BYTES];
    uint64_t trace; /* of all that clients have got */

    uint64_t sessions, restarts, answers, matches, errors, arranged; /* for the report */
    uint64_t kinds[HEARSAY_RESPONSE_SIMILAR_LIST + 1]; /* the largest number of a kind */
};

extern struct world *the_world; /* for what the linker puts in between */

/* sim_world.c */
void world_begin(struct world *world, uint64_t seed, bool on_sqlite);
void world_end(struct world *world); /* all is answered and checked; nothing is left */
void world_start(struct world *world);
void world_stop(struct world *world, bool cleanly); /* all clients lose their connections */
void world_turn(struct world *world);
void world_tick(struct world *world); /* what the server does each second */
void world_set_clocks(struct world *world, int64_t wall_ms, int64_t monotonic_ms,
                      bool synchronised);
void world_settle(struct world *world); /* until nothing moves any more */

/* sim_gate.c */
extern const struct persist_interface sim_gate_interface;
void gate_open_store(struct world *world);
void gate_close_store(struct world *world);
size_t gate_commit(struct world *world, bool fails);
size_t gate_carry_out(struct world *world, bool fails);
size_t gate_answer(struct world *world);
uint32_t gate_host(const struct world *world, uint32_t number); /* which one has this number */

/* sim_client.c */
void client_connect(struct world *world, struct w_client *client);
void client_cut(struct world *world, struct w_client *client); /* without a word */
void client_send(struct world *world, struct w_client *client, size_t most);
bool client_receive(struct world *world, struct w_client *client, size_t most);
void client_gone(struct world *world, struct w_client *client);
struct w_client *client_of(struct world *world, const struct requester *peer);
struct w_request *client_request(struct world *world, struct w_client *client,
                                 enum hearsay_request_kind kind);
void client_put(struct world *world, struct w_client *client, struct w_request *request);

/* sim_answer.c: whether an answer, or a push, is what it must be. */
void answer_check(struct world *world, struct w_client *client,
                  const struct hearsay_response *response);

/* sim_ask.c */
void ask_something(struct world *world, struct w_client *client);
void ask_hello(struct world *world, struct w_client *client);
void ask_interest(struct world *world, struct w_client *client, struct w_interest *interest);
void ask_get(struct world *world, struct w_client *client, const struct m_message *message);
void ask_plain(struct world *world, struct w_client *client, enum hearsay_request_kind kind,
               uint32_t host);

/* sim_expect.c */
void expect_request(struct world *world, struct w_request *request);
void expect_op_submitted(struct world *world, struct w_request *owner, struct persist_op *op);
void expect_op_done(struct world *world, struct w_request *owner, struct persist_op *op,
                    bool failed);
void expect_read_done(struct world *world, struct w_held_read *held);
void expect_later(struct w_request *request); /* its handler has returned */

/* sim_watch.c */
void watches_begin(struct world *world, struct w_request *request, const struct w_expected *answer);
void watches_end_session(struct world *world, struct w_client *client);
void watches_message(struct world *world, uint32_t message, int64_t seq);
void watches_hidden(struct world *world, uint32_t message);
void watches_pushed(struct world *world, struct w_client *client,
                    const struct hearsay_match *match);
void watches_got(struct world *world, struct w_client *client, const struct hearsay_match *match);
void watches_check_all_got(struct world *world);
