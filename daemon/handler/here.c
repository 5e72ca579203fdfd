/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Here: answers with the labels of what is around the access point. Welcome has these labels, too,
 * if they fit.
 */
#include <string.h>

#include "daemon/handler/inner.h"

enum {
    WELCOME_BYTES = 1024, /* upper bound of the bytes of Welcome without its hosts */
    /* upper bound of the bytes of a host without its name, profile and labels */
    HOST_BYTES = 192
};

void handler_here(struct ask *ask)
{
    if (!ask_host(ask, &ask->request->here.host)) {
        return;
    }
    const struct here *here = ask->host->here;
    struct msg_response response = {
        .id = ask->request->id,
        .kind = MSG_RESPONSE_HERE_LABELS,
        .here_labels = {.labels = here->labels, .label_count = here->count},
    };
    ask_respond(ask, &response);
}

void handler_here_welcome(const struct service *service, struct msg_host *hosts)
{
    size_t left = service->config.limits.frame_bytes;
    size_t used = WELCOME_BYTES;

    for (size_t i = 0; i < service->host_count; i++) {
        used += HOST_BYTES + hosts[i].name.length + hosts[i].profile.length;
    }
    left -= used < left ? used : left;
    for (size_t i = 0; i < service->host_count; i++) {
        const struct here *here = service->hosts[i].here;
        size_t bytes = here_frame_bytes(here);

        if (bytes <= left) {
            left -= bytes;
            hosts[i].here = here->labels;
            hosts[i].here_count = here->count;
        }
    }
}
