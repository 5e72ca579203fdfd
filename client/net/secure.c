/* SPDX-License-Identifier: Apache-2.0 */
#include "client/net/secure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/fail.h"
#include "client/net/address.h"
#include "client/net/sock.h"
#include "client/net/wait.h"
#include "client/now.h"

enum {
    WIRE_BYTES = 16 * 1024,
    READS_MAX = 4, /* most reads of the socket in one call of secure_read; then the caller checks
                    * its deadline */
    WAITING_BYTES_MAX =
        64 * 1024 /* most encrypted bytes that wait in memory because the server does not read */
};

struct secure {
    int fd; /* borrowed */
    struct tls_pipe *pipe;
    struct hearsay_tls_info info;
    uint8_t wire[WIRE_BYTES]; /* encrypted bytes wire_at .. wire_end are not sent yet */
    size_t wire_at;
    size_t wire_end;
    const char *reason; /* why TLS failed, if the pipe does not know; NULL: TLS has not failed */
};

/* --- bytes ------------------------------------------------------------------------------------ */

int secure_flush(struct secure *secure, int *out_errno)
{
    for (;;) {
        size_t sent = 0;
        if (secure->wire_at == secure->wire_end) {
            secure->wire_at = 0;
            secure->wire_end = tls_pipe_take(secure->pipe, secure->wire, sizeof(secure->wire));
        }
        if (secure->wire_end == 0) {
            return 0;
        }
        int status = sock_write(secure->fd, secure->wire + secure->wire_at,
                                secure->wire_end - secure->wire_at, &sent, out_errno);
        if (status != HEARSAY_OK) {
            return status;
        }
        secure->wire_at += sent;
    }
}

/*
 * Reads plain bytes that the TLS pipe has decrypted, without reading the socket. Returns what
 * secure_read returns.
 */
static int read_held(struct secure *secure, void *buffer, size_t count, size_t *out_count,
                     int *out_errno)
{
    for (;;) {
        switch (tls_pipe_read(secure->pipe, buffer, count, out_count)) {
        case 0:
            return HEARSAY_OK;
        case TLS_RECORD:
            break;
        case TLS_MORE:
            return SOCK_AGAIN;
        case TLS_ENDED:
            *out_errno = 0;
            return SOCK_CLOSED;
        case TLS_FAILED:
            *out_errno = EPROTO;
            return SOCK_CLOSED;
        default:
            *out_errno = ENOMEM;
            return SOCK_CLOSED;
        }
    }
}

int secure_read(struct secure *secure, void *buffer, size_t count, size_t *out_count,
                int *out_errno)
{
    uint8_t wire[WIRE_BYTES];

    int status = read_held(secure, buffer, count, out_count, out_errno);
    for (int reads = 0; status == SOCK_AGAIN && reads < READS_MAX; reads++) {
        size_t got = 0;
        if (tls_pipe_waiting(secure->pipe) > WAITING_BYTES_MAX) {
            secure->reason = "the server makes TLS answer again and again, and does not read";
            *out_errno = EPROTO;
            return SOCK_CLOSED;
        }
        status = sock_read(secure->fd, wire, sizeof(wire), &got, out_errno);
        if (status != HEARSAY_OK) {
            return status;
        }
        if (tls_pipe_feed(secure->pipe, wire, got) != 0) {
            *out_errno = ENOMEM;
            return SOCK_CLOSED;
        }
        status = read_held(secure, buffer, count, out_count, out_errno);
    }
    return status;
}

int secure_write(struct secure *secure, const void *data, size_t count, size_t *out_count,
                 int *out_errno)
{
    /*
     * First sends the encrypted bytes that earlier calls left. So the encrypted form of at most
     * WIRE_BYTES plain bytes waits in memory.
     */
    int status = secure_flush(secure, out_errno);
    if (status != 0) {
        return status;
    }
    size_t some = count < WIRE_BYTES ? count : WIRE_BYTES;
    if (tls_pipe_write(secure->pipe, data, some, out_count) != 0) {
        *out_errno = EPROTO;
        return SOCK_CLOSED;
    }
    if (*out_count == 0) {
        return SOCK_AGAIN;
    }
    /* If the socket does not take all encrypted bytes now, the rest waits in secure->wire; the
     * caller need not write these bytes again. */
    return secure_flush(secure, out_errno) == SOCK_CLOSED ? SOCK_CLOSED : HEARSAY_OK;
}

bool secure_wants_write(const struct secure *secure)
{
    return secure->wire_at < secure->wire_end || tls_pipe_waiting(secure->pipe) > 0;
}

const char *secure_reason(const struct secure *secure)
{
    return secure->reason != NULL ? secure->reason : tls_pipe_reason(secure->pipe);
}

const struct hearsay_tls_info *secure_info(const struct secure *secure)
{
    return &secure->info;
}

/* --- the handshake ---------------------------------------------------------------------------- */

static int fail_handshake(const struct secure *secure, int errno_value, struct hearsay_error *error)
{
    const char *reason = secure_reason(secure);

    if (reason[0] != '\0') {
        return fail_set(error, HEARSAY_ERR_TRUST, "no encrypted connection: %s", reason);
    }
    if (errno_value != 0) {
        return fail_set_errno(error, HEARSAY_ERR_LOST, errno_value,
                              "the connection broke before it was encrypted");
    }
    return fail_set(error, HEARSAY_ERR_LOST,
                    "the server closed the connection before it was encrypted; does it speak TLS "
                    "on this port?");
}

static int shake_hands(struct secure *secure, int64_t deadline_ms, struct hearsay_error *error)
{
    uint8_t early; /* a server has nothing to say before we do */
    size_t got = 0;

    for (;;) {
        int reason = 0;
        int read = secure_read(secure, &early, 1, &got, &reason);
        int read_errno = reason;
        if (secure_flush(secure, &reason) == SOCK_CLOSED && read != SOCK_CLOSED) {
            return fail_handshake(secure, reason, error);
        }
        if (read == SOCK_CLOSED) {
            return fail_handshake(secure, read_errno, error);
        }
        if (tls_pipe_is_open(secure->pipe) && !secure_wants_write(secure)) {
            return read == HEARSAY_OK ? fail_set(error, HEARSAY_ERR_PROTOCOL,
                                                 "this is no hearsay server: it speaks first")
                                      : HEARSAY_OK;
        }
        short events = secure_wants_write(secure) ? POLLIN | POLLOUT : POLLIN;
        int status = wait_for(secure->fd, events, deadline_ms, error);
        if (status == HEARSAY_OK && now_monotonic_ms() >= deadline_ms) {
            status = WAIT_TIMEOUT; /* bytes keep arriving, but the handshake does not end */
        }
        if (status == WAIT_TIMEOUT) {
            return fail_set(error, HEARSAY_ERR_TIMEOUT,
                            "the server did not answer to TLS in time; does it speak TLS on this "
                            "port?");
        }
        if (status != HEARSAY_OK) {
            return status;
        }
    }
}

/* --- whom to believe -------------------------------------------------------------------------- */

int secure_check(const struct hearsay_tls *tls, struct hearsay_error *out_error)
{
    uint8_t pin[TLS_PIN_BYTES];

    for (size_t i = 0; i < tls->pin_count; i++) {
        if (!tls_pin_parse(tls->pins[i], pin)) {
            return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                            "\"%.80s\" is no pin, 64 hexadecimal digits: hearsayd's log has its "
                            "own",
                            tls->pins[i]);
        }
    }
    return HEARSAY_OK;
}

static int believe_pin(struct secure *secure, const struct hearsay_tls *tls,
                       struct hearsay_error *error)
{
    uint8_t pin[TLS_PIN_BYTES];
    char text[TLS_PIN_TEXT_BYTES];
    bool is_one = false;

    for (size_t i = 0; i < tls->pin_count && !is_one; i++) {
        is_one =
            tls_pin_parse(tls->pins[i], pin) && memcmp(pin, secure->info.pin, sizeof(pin)) == 0;
    }
    if (!is_one) {
        tls_pin_print(secure->info.pin, text);
        return fail_set(error, HEARSAY_ERR_TRUST,
                        "this is not the server that is meant: its pin is %s", text);
    }
    secure->info.believed_by = HEARSAY_BELIEVED_PIN;
    return HEARSAY_OK;
}

static int refuse_changed(const char *path, const char *name, const uint8_t *pin,
                          struct hearsay_error *error)
{
    char text[TLS_PIN_TEXT_BYTES];

    tls_pin_print(pin, text);
    return fail_set(error, HEARSAY_ERR_TRUST,
                    "%.100s has another key than before, pin %s: somebody may stand between you "
                    "and this server. If its operator says that this pin is the new one: "
                    "hearsay known remove %.100s (the old one is in %.100s)",
                    name, text, name, path);
}

static int believe_known(struct secure *secure, const char *path, const char *name,
                         struct hearsay_error *error)
{
    uint8_t pin[TLS_PIN_BYTES];
    int status = known_find(path, name, pin, error);

    if (status == KNOWN_NOT) {
        status = known_add(path, name, secure->info.pin, error);
        secure->info.believed_by = HEARSAY_BELIEVED_FIRST_USE;
        return status;
    }
    if (status != 0) {
        return status;
    }
    if (memcmp(pin, secure->info.pin, sizeof(pin)) != 0) {
        return refuse_changed(path, name, secure->info.pin, error);
    }
    secure->info.believed_by = HEARSAY_BELIEVED_KNOWN;
    return HEARSAY_OK;
}

static int secure_believe(struct secure *secure, const struct address *address,
                          const struct hearsay_tls *tls, struct hearsay_error *error)
{
    char name[ADDRESS_NAME_BYTES];

    tls_pipe_pin(secure->pipe, secure->info.pin);
    if (tls->pin_count > 0) {
        return believe_pin(secure, tls, error);
    }
    const char *objection = tls_pipe_objection(secure->pipe);
    if (objection == NULL) {
        secure->info.believed_by = HEARSAY_BELIEVED_CERTIFICATE;
        return HEARSAY_OK;
    }
    if (tls->ca != NULL || tls->known_servers == NULL) {
        return fail_set(error, HEARSAY_ERR_TRUST,
                        "the certificate of %.200s is not to be believed: %s", address->host,
                        objection);
    }
    address_print(address, name);
    return believe_known(secure, tls->known_servers, name, error);
}

/* --- both ------------------------------------------------------------------------------------- */

static int make_pipe(const struct address *address, const struct hearsay_tls *tls,
                     struct tls_pipe **out_pipe, struct hearsay_error *error)
{
    struct tls_client_options options = {
        .ca = tls->ca,
        .certificate = tls->certificate,
        .key = tls->key != NULL ? tls->key : tls->certificate,
    };
    char reason[TLS_REASON_BYTES] = "";
    struct tls_context *context = NULL;

    int rc = tls_client_new(&options, &context, reason);
    if (rc != 0) {
        return fail_set(error, HEARSAY_ERR_FILE, "%.500s", reason);
    }
    rc = tls_pipe_new(context, address->host, out_pipe);
    tls_context_free(context); /* the pipe holds what it needs */
    return rc == 0 ? HEARSAY_OK : fail_set_nomem(error);
}

int secure_open(int fd, const struct address *address, const struct hearsay_tls *tls,
                int64_t deadline_ms, struct secure **out_secure, struct hearsay_error *out_error)
{
    if (address->kind == ADDRESS_UNIX) {
        return fail_set(out_error, HEARSAY_ERR_ARGUMENT,
                        "a Unix socket needs no TLS: leave it out, or name a host");
    }
    struct secure *secure = calloc(1, sizeof(*secure));
    if (secure == NULL) {
        return fail_set_nomem(out_error);
    }
    secure->fd = fd;
    int status = make_pipe(address, tls, &secure->pipe, out_error);
    if (status == HEARSAY_OK) {
        status = shake_hands(secure, deadline_ms, out_error);
    }
    if (status == HEARSAY_OK) {
        status = secure_believe(secure, address, tls, out_error);
    }
    if (status != HEARSAY_OK) {
        secure_free(secure);
        return status;
    }
    *out_secure = secure;
    return HEARSAY_OK;
}

void secure_free(struct secure *secure)
{
    if (secure != NULL) {
        tls_pipe_free(secure->pipe);
        free(secure);
    }
}
