/* SPDX-License-Identifier: Apache-2.0 */
/* address: parses the address of a server, and prints it. Does no DNS query. */
#pragma once

#include "client/hearsay.h"

enum address_kind { ADDRESS_TCP, ADDRESS_UNIX };

struct address {
    enum address_kind kind;
    char host[256]; /* TCP: a name, or an address without brackets */
    char port[6];   /* TCP: decimal */
    char path[108]; /* Unix: the size of sun_path, NUL included */
};

/*
 * Parses HOST[:PORT], [IPV6][:PORT], an IPv6 address without brackets, or the path of a Unix
 * socket, which has a '/' and no ':' before the first one. Returns 0 or HEARSAY_ERR_ARGUMENT.
 */
int address_parse(const char *text, struct address *out_address, struct hearsay_error *out_error);

/* Prints a TCP address as HOST:PORT or [IPV6]:PORT. The file of known servers uses this form. */
enum { ADDRESS_NAME_BYTES = 272 };
void address_print(const struct address *address, char out_name[ADDRESS_NAME_BYTES]);
