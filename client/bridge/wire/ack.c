/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/wire.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static void read_error(const json_t *error, struct ack *ack)
{
    const char *text = json_string_value(json_object_get(error, "description"));
    const char *colon;

    ack->code = (int)json_integer_value(json_object_get(error, "err_code"));
    if (ack->code == 0) {
        ack->code = (int)json_integer_value(json_object_get(error, "code"));
    }
    (void)snprintf(ack->text, sizeof(ack->text), "%s", text != NULL ? text : "an error");
    if (strstr(ack->text, "maximum bytes") != NULL) { /* NATS names no remedy */
        (void)snprintf(ack->text, sizeof(ack->text),
                       "maximum bytes exceeded: the hub is full until messages expire, or until "
                       "`setup-hub --disk` gives it more");
    }
    colon = strrchr(ack->text, ':'); /* wrong last sequence: 12 */
    ack->last = colon != NULL ? strtoull(colon + 1, NULL, 10) : 0;
}

bool ack_read(const void *bytes, size_t size, struct ack *out)
{
    struct ack ack = {.seq = 0};
    json_t *root = json_loadb(bytes, size, 0, NULL);
    const json_t *error = json_object_get(root, "error");
    const json_t *seq = json_object_get(root, "seq");
    bool is_right = json_is_object(error) || (json_is_integer(seq) && json_integer_value(seq) > 0);

    if (is_right && error != NULL) {
        read_error(error, &ack);
        is_right = ack.code != 0;
    } else if (is_right) {
        ack.seq = (uint64_t)json_integer_value(seq);
    }
    json_decref(root);
    if (is_right) {
        *out = ack;
    }
    return is_right;
}
