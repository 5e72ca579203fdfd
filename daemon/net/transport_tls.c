/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/net/transport_tls.h"

#include "core/base/err.h"
#include "daemon/system/log.h"
#include "proto/tls/tls.h"

enum {
    WRITE_BYTES = 64 * 1024, /* output that is encrypted at a time: the copy takes memory */
    RECORD_BYTES = 16 * 1024 /* plain bytes of one record at most */
};

int transport_tls_pull(struct transport *transport)
{
    uint8_t *room = transport->scratch; /* free: its bytes have been fed to the pipe */
    size_t bytes = transport->scratch_bytes;
    size_t count = 0;

    if (!transport->ending &&
        frame_decoder_reserve(&transport->input, RECORD_BYTES, &room, &bytes) != 0) {
        return -ERR_NOMEM;
    }
    int rc = tls_pipe_read(transport->tls, room, bytes, &count);
    if (rc == 0 && !transport->ending) {
        frame_decoder_commit(&transport->input, count);
    }
    if (rc == TLS_FAILED) {
        log_debug("a connection's TLS failed: %s", tls_pipe_reason(transport->tls));
    }
    return rc;
}

/* Moves encrypted bytes from the pipe into `writing`. */
static int take_wire(struct transport *transport)
{
    size_t waiting = tls_pipe_waiting(transport->tls);

    if (waiting == 0) {
        return 0;
    }
    uint8_t *room = bytes_reserve(&transport->writing, waiting);
    if (room == NULL) {
        return -ERR_NOMEM;
    }
    transport->writing.count += tls_pipe_take(transport->tls, room, waiting);
    return 0;
}

int transport_tls_send(struct transport *transport)
{
    size_t left = WRITE_BYTES;
    size_t written = 1;

    while (tls_pipe_is_open(transport->tls) && transport->output.count > 0 && left > 0 &&
           written > 0) {
        size_t some = transport->output.count < left ? transport->output.count : left;
        int rc = tls_pipe_write(transport->tls, transport->output.data, some, &written);
        if (rc != 0) {
            return rc;
        }
        bytes_consume(&transport->output, written);
        left -= written;
    }
    return take_wire(transport);
}
