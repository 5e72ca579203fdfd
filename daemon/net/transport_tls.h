/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_tls: what a transport does with TLS. For transport.c only.
 */
#ifndef DAEMON_NET_TRANSPORT_TLS_H
#define DAEMON_NET_TRANSPORT_TLS_H

#include "daemon/net/transport.h"

/*
 * Decrypts at most one record of what was fed to the pipe and adds its bytes to `input`; throws
 * them away when the transport is ending. 0 or TLS_RECORD: there may be more; TLS_MORE: there is no
 * more; TLS_ENDED, TLS_FAILED or -ERR_NOMEM: the stream has ended.
 */
int transport_tls_pull(struct transport *transport);

/*
 * Encrypts up to 64 KiB of `output` into `writing`, and adds the bytes that the handshake sends. 0,
 * TLS_FAILED or -ERR_NOMEM.
 */
int transport_tls_send(struct transport *transport);

#endif
