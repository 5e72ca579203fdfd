/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_tls: the encrypted part of a transport. Within transport only.
 */
#ifndef DAEMON_TRANSPORT_TLS_H
#define DAEMON_TRANSPORT_TLS_H

#include "daemon/transport.h"

/*
 * Takes `count` bytes of the wire out of the scratch, and puts what they mean into `input`, or
 * throws it away when the transport is ending. 0, or how it ended: TLS_ENDED, TLS_FAILED, or
 * negative without memory. *out_count: bytes of the protocol that came.
 */
int transport_tls_receive(struct transport *transport, size_t count, size_t *out_count);

/*
 * Moves what waits in `output`, a bounded part of it, encrypted into `writing`, and what the
 * handshake has to say. 0, TLS_FAILED, or negative without memory.
 */
int transport_tls_send(struct transport *transport);

#endif
