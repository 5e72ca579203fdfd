/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_json: scans in JSON, as phones and routers print them: the array of Android's
 * `termux-wifi-scaninfo`, and the object of OpenWrt's `ubus call iwinfo scan`. libhearsay reads the
 * scans that are text.
 */
#ifndef CLIENT_CLI_INPUT_SCAN_JSON_H
#define CLIENT_CLI_INPUT_SCAN_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "client/hearsay.h"

/* Whether the text of a scan is JSON, by its first character that is no white space. */
bool scan_json_is(const char *text, size_t byte_count);

/*
 * Adds the access points of the scan to the context, as hearsay_context_add_scan does, and likewise
 * leaves out those that cannot be read: *out_left_out has how many, and whether the scan was cut
 * off. *out_sightings is the number of the others. Returns HEARSAY_OK, ERR_NOMEM, or ERR_ARGUMENT
 * if nothing can be read: then no label is added.
 */
int scan_json_add(struct hearsay_context *context, const char *text, size_t byte_count,
                  size_t *out_sightings, struct hearsay_left_out *out_left_out,
                  struct hearsay_error *out_error);

#endif
