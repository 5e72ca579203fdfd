/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_inner: what the files behind http.h share. http_mhd.c has the server and its listeners;
 * http_connection.c has connections and their limits; http_request.c reads and checks requests;
 * http_answer.c sends answers; http_stream.c sends streams.
 *
 * MHD calls us only while it runs (MHD_run in http_mhd.c). MHD frees a connection only while it
 * runs, too. Each connection has one request at a time.
 *
 * A stream takes its connection away from MHD, which would keep 9 KB for each: the connection gets
 * another descriptor for the socket, and MHD shuts down and closes a decoy.
 */
#pragma once

#include "client/web/http_peer.h"

struct sockaddr;
struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

enum {
    HTTP_IDLE_SECONDS = 15, /* for the first line of the next request to come */
    HTTP_HANDLES_MAX = HTTP_LISTENERS_MAX + 4
};

#define HTTP_NO_DEADLINE UINT64_MAX

enum http_phase {
    HTTP_PHASE_IDLE,      /* there is no request, or its head is not complete */
    HTTP_PHASE_BODY,      /* the head has come, the body has not */
    HTTP_PHASE_WAITING,   /* the program has the request and has not answered */
    HTTP_PHASE_ANSWERING, /* the client takes the answer */
    HTTP_PHASE_STREAMING  /* the client takes events */
};

/* A request with its answer. Part of a connection, and used again for its next request. */
struct http_exchange {
    struct http_connection *connection;
    char *target; /* path, NUL, query; owned. NULL: too long, or memory is out */
    size_t target_bytes;
    bool is_target_too_long;
    char *body;                    /* owned; NULL: no body */
    size_t body_bytes;             /* so far */
    size_t body_length;            /* by Content-Length */
    void *context;                 /* the program's */
    uint64_t began_ns;             /* of uv_hrtime; 0: the request is not whole */
    bool is_answered;              /* by the program, or by us */
    unsigned status;               /* of the answer */
    struct MHD_Response *response; /* owned until MHD has it; NULL: none, or MHD has it */
    size_t answer_bytes;           /* of memory that the answer takes until it has ended */
    struct http_stream *stream;    /* owned; NULL: the answer is none */
    struct http_request request;
};

struct http_stream {
    struct http_connection *connection;
    http_stream_closed *closed;
    void *context;
    char *bytes; /* what waits: `count` from `start`; owned, NULL: nothing waits */
    size_t start, count, capacity;
    bool is_ended;
    bool is_full; /* the kernel takes no more: the loop tells when it does */
};

struct http_connection {
    struct http_connection *prev, *next; /* oldest first */
    struct http_server *server;
    struct MHD_Connection *mhd; /* NULL: MHD has not begun with it, or has it no more */
    int descriptor;             /* MHD's: MHD closes it; or ours */
    bool is_ours;               /* MHD has it no more: it has a stream */
    bool is_proxied;
    bool is_metrics;
    bool by_address;   /* of its listener */
    bool is_suspended; /* in MHD; then we look whether the client has gone */
    bool is_closing;   /* it will be closed in the next turn */
    bool has_had_request;
    enum http_phase phase;
    uint64_t deadline_ms;        /* of uv_now, when the connection is closed */
    uint64_t idle_since_ms;      /* of uv_now */
    struct http_address address; /* of the client; behind a proxy only during a request */
    struct fair_holder *holder;  /* NULL: not counted */
    struct http_exchange exchange;
};

struct http_server_listener {
    struct http_server *server;
    int descriptor;
    bool is_proxied;
    bool is_metrics;
    bool by_address;
    uv_poll_t poll;
};

struct http_server {
    const struct alloc *alloc;
    struct http_options options; /* without `listeners` */
    struct MHD_Daemon *daemon;
    int daemon_events;                   /* MHD's epoll descriptor */
    struct http_connection *connections; /* oldest first */
    bool has_waiting; /* connections were given to MHD, and MHD begins with them when it runs */
    size_t connection_count;
    size_t closing_count; /* of these */
    size_t ended_count;   /* in MHD, since the last trim */
    size_t answer_bytes;  /* of all exchanges */
    struct http_figures figures;
    bool has_ended; /* connections that are ours wait to be closed */
    struct fair_table holders;
    struct http_connection *adding; /* is being given to MHD, which has not begun with it */
    int hangups; /* an epoll descriptor with the suspended connections and those that are ours */
    struct http_server_listener listeners[HTTP_LISTENERS_MAX];
    size_t listener_count;
    bool is_paused;                         /* the listeners wait for memory or descriptors */
    bool is_stopping;                       /* http_server_stop was called */
    bool is_stopped;                        /* MHD has ended, and the handles are closed */
    bool is_dropped;                        /* free the server with its last handle */
    uv_handle_t *handles[HTTP_HANDLES_MAX]; /* those below, and the listeners' */
    size_t handle_count;
    uv_poll_t daemon_poll, hangup_poll;
    uv_timer_t turn;     /* MHD wants to run */
    uv_timer_cb on_turn; /* lets MHD run */
    uv_timer_cb on_deadlines;
    uv_timer_t deadlines; /* looks for connections that are late; rests while none can be */
    uint64_t deadline_ms; /* of uv_now, when `deadlines` looks next; or HTTP_NO_DEADLINE */
};

struct http_header {
    const char *name;
    const char *value;
};

enum { HTTP_COMMON_HEADERS = 4 };

/* Every answer has these. */
extern const struct http_header http_common_headers[HTTP_COMMON_HEADERS];

/* Makes a connection for a descriptor that was accepted. NULL: the client has too many connections,
 * or memory is out. */
struct http_connection *http_connection_new(const struct http_server_listener *listener,
                                            int descriptor, const struct sockaddr *address);

/* Ends with a connection: tells the program, and frees what the connection has. */
void http_connection_free(struct http_connection *connection);

/* Counts an answer. began_ns: of uv_hrtime, or 0 where the time is not counted. */
void http_figures_note(struct http_figures *figures, unsigned status, uint64_t began_ns);

/* Gives memory back to the system if many connections have ended. */
bool http_server_may_trim(const struct http_server *server);
void http_server_trim(struct http_server *server);

/* Closes the connections that are ours and have ended. */
void http_server_reap(struct http_server *server);

/* Lets MHD run when the loop turns. */
void http_server_want_turn(struct http_server *server);

/* Lets `deadlines` look at `at_ms` of uv_now, or up to a second later. */
void http_server_watch_deadline(struct http_server *server, uint64_t at_ms);

/* Closes a connection when the loop turns. The client gets what the kernel has already taken. */
void http_connection_close(struct http_connection *connection);

/* The same, and the kernel throws away what the client has not taken. */
void http_connection_abort(struct http_connection *connection);

/* Counts a connection for the sender that its address is of. */
enum http_entry {
    HTTP_ENTRY_DONE,
    HTTP_ENTRY_FULL, /* the address has as many as it may have */
    HTTP_ENTRY_NOMEM
};
enum http_entry http_connection_enter(struct http_connection *connection);

/* Ends connections while the answers that clients have not taken use too much memory; not that of
 * the last answer, unless its sender has most. */
void http_server_bound_answers(struct http_server *server, struct http_connection *last);

/* Ends a connection that is late or has to make room, in whatever phase it is: its client gets
 * nothing more of an answer. */
void http_connection_end(struct http_connection *connection);

/* Stops counting a connection for its sender. */
void http_connection_leave(struct http_connection *connection);

/* Sets the time by which the client must have done its part, from now. */
void http_connection_set_deadline(struct http_connection *connection, unsigned seconds);

/* Frees what belongs to a request, and tells the program when it waits for it. */
void http_exchange_end(struct http_exchange *exchange);

/* Answers a request with an error of the seam: a sentence in plain text. Then the connection is
 * closed. */
void http_exchange_refuse(struct http_exchange *exchange, unsigned status, const char *sentence);

/* Gives the answer to MHD. False: MHD must close its connection. */
bool http_exchange_queue(struct http_exchange *exchange);

/* Takes a connection away from MHD. Where that fails, the connection stays MHD's. */
void http_stream_take_over(struct http_stream *stream);

/* Sends what waits: the client takes more. Of a connection that is ours. */
void http_stream_flush(struct http_stream *stream);

void http_stream_free(struct http_stream *stream);

/* Leaves a connection alone until it is answered, written to or closed. */
void http_connection_suspend(struct http_connection *connection);

/* Lets MHD go on with a connection that is suspended. */
void http_connection_resume(struct http_connection *connection);

/* --- http_request.c --------------------------------------------------------------------------- */

/* What MHD calls while a request comes in. Includes no header of MHD. */

/* Keeps the target as it was sent, before MHD decodes it. The first line of a request is there. */
void http_request_keep_target(struct http_connection *connection, const char *target);

/*
 * Goes a step on: the head is complete, `count` bytes of the body have come, or (count 0) the body
 * is complete, or the connection has been resumed. Takes all bytes. False: the connection must be
 * closed.
 */
bool http_request_step(struct http_connection *connection, const char *method, const char *version,
                       const char *bytes, size_t count);
