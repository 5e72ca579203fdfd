/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/http_inner.h"

#include <strings.h>

#include <microhttpd.h>

enum { LENGTH_DIGITS_MAX = 9 }; /* of Content-Length */

enum known {
    KNOWN_HOST,
    KNOWN_LENGTH,
    KNOWN_ORIGIN,
    KNOWN_TYPE,
    KNOWN_FORWARDED,
    KNOWN_LAST_EVENT,
    KNOWN_ACCEPT,
    KNOWN_LANGUAGE,
    KNOWN_ENCODING,
    KNOWN_COUNT
};

/* What a head has. Values are borrowed from MHD until the request has ended. */
struct head {
    const char *values[KNOWN_COUNT]; /* NULL: it has no such header */
    size_t count;                    /* headers */
    size_t empty_count;
    size_t bytes; /* of all headers, each as "NAME: VALUE\r\n" */
    bool has_transfer_encoding;
    bool is_malformed;    /* a name is no token, or a value has a control */
    const char *repeated; /* NULL, or what is wrong with a header that came twice */
};

struct known_header {
    const char *name;
    const char *repeated; /* the sentence for one that comes twice; NULL: the first counts */
};

static const struct known_header known_headers[KNOWN_COUNT] = {
    [KNOWN_HOST] = {"Host", "The request has more than one Host header.\n"},
    [KNOWN_LENGTH] = {"Content-Length", "The request has more than one Content-Length header.\n"},
    [KNOWN_ORIGIN] = {"Origin", "The request has more than one Origin header.\n"},
    [KNOWN_TYPE] = {"Content-Type", "The request has more than one Content-Type header.\n"},
    [KNOWN_FORWARDED] = {"X-Forwarded-For",
                         "The request has more than one X-Forwarded-For header.\n"},
    [KNOWN_LAST_EVENT] = {"Last-Event-ID", "The request has more than one Last-Event-ID header.\n"},
    [KNOWN_ACCEPT] = {"Accept", NULL},
    [KNOWN_LANGUAGE] = {"Accept-Language", NULL},
    [KNOWN_ENCODING] = {"Accept-Encoding", NULL},
};

/* Whether a name is a token of RFC 9110, section 5.6.2. */
static bool name_is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (const char *c = name; *c != '\0'; c++) {
        bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        bool is_digit = *c >= '0' && *c <= '9';
        if (!is_letter && !is_digit && strchr(others, *c) == NULL) {
            return false;
        }
    }
    return name[0] != '\0';
}

static bool value_has_control(const char *value)
{
    for (const char *c = value; *c != '\0'; c++) {
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* MHD calls this once a header. */
static enum MHD_Result head_add(void *context, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    (void)kind;
    struct head *head = context;
    const char *text = value == NULL ? "" : value;
    head->count++;
    head->empty_count += text[0] == '\0';
    head->bytes += strlen(name) + strlen(": ") + strlen(text) + strlen("\r\n");
    if (!name_is_token(name) || value_has_control(text)) {
        head->is_malformed = true;
    }
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        head->has_transfer_encoding = true;
    }
    for (enum known known = 0; known < KNOWN_COUNT; known++) {
        if (strcasecmp(name, known_headers[known].name) != 0) {
            continue;
        }
        if (head->values[known] == NULL) {
            head->values[known] = text;
        } else if (known_headers[known].repeated != NULL) {
            head->repeated = known_headers[known].repeated;
        }
    }
    return MHD_YES;
}

void http_request_keep_target(struct http_connection *connection, const char *target)
{
    struct http_exchange *exchange = &connection->exchange;
    size_t length = strlen(target);
    exchange->target_bytes = length;
    exchange->is_target_too_long = length > HTTP_TARGET_BYTES;
    if (exchange->is_target_too_long) {
        return;
    }
    exchange->target = alloc_array(connection->server->alloc, length + 1, 1);
    if (exchange->target != NULL) {
        memcpy(exchange->target, target, length + 1);
    }
}

/* A refusal. A status of 0: none. */
struct refusal {
    unsigned status;
    const char *sentence;
};

#define NO_REFUSAL ((struct refusal){0, NULL})

static struct refusal refusal_of(unsigned status, const char *sentence)
{
    return (struct refusal){status, sentence};
}

/* Checks the first line, and splits the target. */
static struct refusal check_line(struct http_exchange *exchange, const char *method,
                                 const char *version)
{
    struct http_request *request = &exchange->request;
    if (exchange->is_target_too_long) {
        return refusal_of(MHD_HTTP_URI_TOO_LONG, "The address is too long.\n");
    }
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        return refusal_of(MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED, "Only HTTP/1.1 is served here.\n");
    }
    if (strcmp(method, "GET") == 0) {
        request->method = HTTP_GET;
    } else if (strcmp(method, "HEAD") == 0) {
        request->method = HTTP_HEAD;
    } else if (strcmp(method, "POST") == 0) {
        request->method = HTTP_POST;
    } else {
        return refusal_of(MHD_HTTP_METHOD_NOT_ALLOWED,
                          "Only GET, HEAD and POST are served here.\n");
    }
    if (exchange->target[0] != '/') {
        return refusal_of(MHD_HTTP_BAD_REQUEST, "The address does not begin with '/'.\n");
    }
    for (const char *c = exchange->target; *c != '\0'; c++) {
        if (*c <= ' ' || *c >= 0x7f) {
            return refusal_of(MHD_HTTP_BAD_REQUEST,
                              "The address has a character that must be written as %XX.\n");
        }
    }

    char *question = strchr(exchange->target, '?');
    request->path = exchange->target;
    request->query = "";
    if (question != NULL) {
        *question = '\0';
        request->query = question + 1;
    }
    return NO_REFUSAL;
}

/*
 * Browsers write each header as "NAME: VALUE\r\n". MHD 0.9 takes much more: a bare LF or CR as the
 * end of a line, folded lines, a NUL that hides the rest of a value. A proxy before us could see
 * other headers than MHD there. So the size of the whole head must be the sum of its parts. The
 * space before an empty value may be missing. From 1.0 on, MHD's strict level refuses these itself.
 */
static struct refusal check_form(const struct http_exchange *exchange, const struct head *head,
                                 const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    size_t whole = info == NULL ? 0 : info->header_size;
    if (whole > HTTP_HEAD_BYTES) {
        return refusal_of(MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                          "The request's head is too big.\n");
    }
#if MHD_VERSION < 0x01000000
    size_t parts = strlen(method) + strlen(" ") + exchange->target_bytes + strlen(" ") +
                   strlen(version) + strlen("\r\n") + head->bytes + strlen("\r\n");
    if (whole > parts || whole + head->empty_count < parts) {
        return refusal_of(MHD_HTTP_BAD_REQUEST,
                          "The request's head is not in the form \"Name: value\", CR, LF.\n");
    }
#else
    (void)head;
    (void)method;
    (void)version;
#endif
    return NO_REFUSAL;
}

/* Reads Content-Length into exchange->body_length. */
static struct refusal check_length(struct http_exchange *exchange, const char *length)
{
    size_t digits = strspn(length, "0123456789");
    uint64_t value = 0;
    if (digits == 0 || length[digits] != '\0') {
        return refusal_of(MHD_HTTP_BAD_REQUEST, "Content-Length is not a number.\n");
    }
    for (size_t i = 0; i < digits && i < LENGTH_DIGITS_MAX; i++) {
        value = value * 10 + (uint64_t)(length[i] - '0');
    }
    if (digits > LENGTH_DIGITS_MAX || value > HTTP_BODY_BYTES) {
        return refusal_of(MHD_HTTP_CONTENT_TOO_LARGE, "The form is too big.\n");
    }
    if (value > 0 && exchange->request.method != HTTP_POST) {
        return refusal_of(MHD_HTTP_BAD_REQUEST, "Only a POST may have a body.\n");
    }
    exchange->body_length = (size_t)value;
    return NO_REFUSAL;
}

static struct refusal check_headers(struct http_exchange *exchange, const struct head *head)
{
    if (head->has_transfer_encoding) {
        return refusal_of(MHD_HTTP_NOT_IMPLEMENTED, "Transfer-Encoding is not served here.\n");
    }
    if (head->is_malformed) {
        return refusal_of(MHD_HTTP_BAD_REQUEST, "The request has a header that is none.\n");
    }
    if (head->repeated != NULL) {
        return refusal_of(MHD_HTTP_BAD_REQUEST, head->repeated);
    }
    if (exchange->request.host == NULL) {
        return refusal_of(MHD_HTTP_BAD_REQUEST, "The request has no Host header.\n");
    }
    const char *length = head->values[KNOWN_LENGTH];
    return length == NULL ? NO_REFUSAL : check_length(exchange, length);
}

/* Learns the client behind a proxy, and counts the connection for the client. */
static struct refusal check_forwarded(struct http_exchange *exchange, const char *forwarded)
{
    struct http_connection *connection = exchange->connection;
    if (!connection->is_proxied) {
        return NO_REFUSAL;
    }
    if (forwarded == NULL || !http_peer_from_forwarded(forwarded, &connection->address)) {
        return refusal_of(MHD_HTTP_BAD_REQUEST,
                          "X-Forwarded-For does not end in a numeric address.\n");
    }
    if (!connection->by_address) {
        http_peer_learn_device(connection->server->options.devices, 0, &connection->address);
    }
    switch (http_connection_enter(connection)) {
    case HTTP_ENTRY_DONE:
        break;
    case HTTP_ENTRY_FULL:
        return refusal_of(MHD_HTTP_TOO_MANY_REQUESTS, "Your address has too many connections.\n");
    case HTTP_ENTRY_NOMEM:
        return refusal_of(MHD_HTTP_SERVICE_UNAVAILABLE, "Memory is out. Please try again.\n");
    }
    return NO_REFUSAL;
}

static struct refusal check_head(struct http_exchange *exchange, const char *method,
                                 const char *version)
{
    struct http_request *request = &exchange->request;
    struct head head = {.count = 0};
    struct refusal refusal = check_line(exchange, method, version);
    if (refusal.status != 0) {
        return refusal;
    }
    (void)MHD_get_connection_values(exchange->connection->mhd, MHD_HEADER_KIND, head_add, &head);
    request->host = head.values[KNOWN_HOST];
    request->origin = head.values[KNOWN_ORIGIN];
    request->content_type = head.values[KNOWN_TYPE];
    request->last_event_id = head.values[KNOWN_LAST_EVENT];
    request->accept = head.values[KNOWN_ACCEPT];
    request->accept_language = head.values[KNOWN_LANGUAGE];
    request->accept_encoding = head.values[KNOWN_ENCODING];
    refusal = check_headers(exchange, &head);
    if (refusal.status == 0) {
        refusal = check_form(exchange, &head, method, version);
    }
    if (refusal.status == 0) {
        refusal = check_forwarded(exchange, head.values[KNOWN_FORWARDED]);
    }
    return refusal;
}

/* The head is there. */
static bool request_begin(struct http_connection *connection, const char *method,
                          const char *version)
{
    struct http_exchange *exchange = &connection->exchange;
    if (exchange->target == NULL && !exchange->is_target_too_long) {
        return false; /* memory is out */
    }
    struct refusal refusal = check_head(exchange, method, version);
    if (refusal.status != 0) {
        http_exchange_refuse(exchange, refusal.status, refusal.sentence);
        return http_exchange_queue(exchange);
    }
    connection->phase = HTTP_PHASE_BODY;
    return true;
}

static bool request_add_body(struct http_exchange *exchange, const char *bytes, size_t count)
{
    if (count > exchange->body_length - exchange->body_bytes) {
        return false; /* MHD has read another length than we have */
    }
    if (exchange->body == NULL) {
        exchange->body =
            alloc_array(exchange->connection->server->alloc, exchange->body_length + 1, 1);
    }
    if (exchange->body == NULL) {
        return false;
    }
    memcpy(exchange->body + exchange->body_bytes, bytes, count);
    exchange->body_bytes += count;
    exchange->body[exchange->body_bytes] = '\0';
    return true;
}

/* The request is complete: the program gets it. */
static bool request_finish(struct http_connection *connection)
{
    const struct http_options *options = &connection->server->options;
    struct http_exchange *exchange = &connection->exchange;
    if (exchange->body_bytes != exchange->body_length) {
        return false;
    }
    exchange->request.body = exchange->body == NULL ? "" : exchange->body;
    exchange->request.body_bytes = exchange->body_bytes;
    exchange->request.client = connection->address;
    exchange->request.is_metrics = connection->is_metrics;
    exchange->began_ns = uv_hrtime();
    connection->phase = HTTP_PHASE_WAITING;
    connection->deadline_ms = HTTP_NO_DEADLINE;
    options->request(options->context, exchange, &exchange->request);
    if (exchange->is_answered) {
        return http_exchange_queue(exchange);
    }
    http_connection_suspend(connection);
    return true;
}

bool http_request_step(struct http_connection *connection, const char *method, const char *version,
                       const char *bytes, size_t count)
{
    if (connection->is_closing) {
        return false;
    }
    switch (connection->phase) {
    case HTTP_PHASE_IDLE:
        return request_begin(connection, method, version);
    case HTTP_PHASE_BODY:
        return count > 0 ? request_add_body(&connection->exchange, bytes, count)
                         : request_finish(connection);
    case HTTP_PHASE_WAITING:
        return http_exchange_queue(&connection->exchange);
    case HTTP_PHASE_ANSWERING:
    case HTTP_PHASE_STREAMING:
        break; /* MHD asks for one answer only */
    }
    return false;
}
