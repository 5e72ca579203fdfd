/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearsay: leave a message at an access point, find the messages of similar contexts.
 *
 * This header needs C11 or C++. It includes all parts of libhearsay:
 *
 *   hearsay/base.h        sizes, statuses, errors
 *   hearsay/messages.h    requests and answers as structs, made from the schema of the protocol
 *   hearsay/connection.h  connecting, TLS, what a server says about itself
 *   hearsay/context.h     labels out of what a device senses, their filter, groups, sealed messages
 *   hearsay/message.h     any request of the protocol, one at a time or many; watches
 *   hearsay/memory.h      files of a reader: epoch keys, messages seen, recent contexts
 *
 * A `struct hearsay` is one connection to one server. A call with timeout_ms waits until its reply
 * arrives, its timeout passes or the connection breaks. The library runs a callback only within the
 * call that was given the callback. Only one thread at a time may use a connection. Different
 * threads may use different connections at the same time.
 *
 * A call that can fail returns an int:
 *
 *   0         HEARSAY_OK.
 *   negative  HEARSAY_ERR_...; *out_error describes the error.
 *   positive  an outcome that is no error, such as HEARSAY_FULL; the call's comment names it.
 *
 * Unless a call returns HEARSAY_OK, its outputs that are pointers are NULL, and the others are
 * unchanged, except *out_error and the receipt of a deposit. out_error may be NULL, and so may the
 * outputs of the calls on a connection.
 *
 * Units: *_ms are milliseconds; moments that a server sends are Unix milliseconds on its clock. *_s
 * are seconds. Distances and similarities are millionths, 0 to 1,000,000. timeout_ms is 0 (do not
 * wait) to INT_MAX. Strings end with NUL. A struct hearsay_text also has the length of its text:
 * hearsay_text makes one of a string.
 *
 * Until 1.0 each minor version (0.2, 0.3) may change structs and calls, although the library keeps
 * the name libhearsay.so.0: run a program with the version whose headers it was built with.
 * hearsay_version tells which one runs. A change of the third number changes no struct or call.
 *
 * In C++ write `struct` before the names of structs: some calls have the same names.
 *
 * Before you fill a struct for a call, set the struct to zeros (`= {0}`, in C++ `= {}`), or call
 * its _init function if there is one. The library borrows the pointers in the struct until the call
 * returns.
 *
 * A first program, without its error checks:
 *
 *   struct hearsay_connect options;
 *   struct hearsay *server;
 *   hearsay_connect_init(&options);
 *   hearsay_connect(&options, &server, NULL);
 *
 *   const char *labels[] = {"wifi:a4:2b:8c:01:02:03", "topic:coffee"};
 *   struct hearsay_encode context = {0};
 *   struct hearsay_filter filter;
 *   context.host = hearsay_find_host(server, NULL);
 *   context.labels = labels;
 *   context.label_count = 2;
 *   hearsay_encode(&context, &filter, NULL);
 *
 *   struct hearsay_query_part part = {0};
 *   struct hearsay_query query;
 *   const struct hearsay_results *found;
 *   part.filter = hearsay_filter_bytes(&filter);
 *   hearsay_query_init(&query);
 *   query.parts = &part;
 *   query.part_count = 1;
 *   hearsay_query(server, &query, 5000, &found, NULL);
 *   hearsay_close(server);
 */
#ifndef HEARSAY_H
#define HEARSAY_H

#include "hearsay/base.h"
#include "hearsay/connection.h"
#include "hearsay/context.h"
#include "hearsay/memory.h"
#include "hearsay/message.h"
#include "hearsay/messages.h"

#endif
