/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_tls: the encrypted part of a transport. Within transport only.
 */
#ifndef DAEMON_NET_TRANSPORT_TLS_H
#define DAEMON_NET_TRANSPORT_TLS_H

#include "daemon/net/transport.h"

/*
 * Takes at most one record of what was fed to the pipe, and puts its bytes of the protocol into
 * `input`, or throws them away when the transport is ending. 0 or TLS_RECORD: there may be more;
 * TLS_MORE: there is no more; TLS_ENDED, TLS_FAILED, or negative without memory: it has ended.
 */
int transport_tls_pull(struct transport *transport);

/*
 * Moves what waits in `output`, a bounded part of it, encrypted into `writing`, and what the
 * handshake has to say. 0, TLS_FAILED, or negative without memory.
 */
int transport_tls_send(struct transport *transport);

#endif
