/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/drops.h"

#include <inttypes.h>

#include "daemon/limits/figures.h"

static const struct {
    const char *name;
    enum log_level level;
    const char *sentence; /* for the log, behind "session N dropped: " */
} reasons[DROPS] = {
    [DROP_UNREAD] = {"unread", LOG_LEVEL_INFO,
                     "it does not read its answers: more than `session_output` waits"},
    [DROP_STUCK] = {"stuck", LOG_LEVEL_INFO,
                    "it does not read its answers: it took none for too long"},
    [DROP_OUTPUT] = {"output", LOG_LEVEL_WARNING,
                     "unread output of all sessions is over `output`, and it has the most"},
    [DROP_HANDSHAKE] = {"handshake", LOG_LEVEL_INFO, "its TLS handshake did not finish in time"},
    [DROP_TLS] = {"tls", LOG_LEVEL_DEBUG, "its TLS failed"},
    [DROP_RECORDS] = {"records", LOG_LEVEL_INFO,
                      "it sends TLS records without application data, again and again"},
    [DROP_HELLO] = {"hello", LOG_LEVEL_DEBUG, "no Hello came in time"},
    [DROP_IDLE] = {"idle", LOG_LEVEL_DEBUG, "it asked for nothing for `idle_timeout`"},
    [DROP_EVICTED] = {"room", LOG_LEVEL_INFO, "its place was given to a newcomer"},
    [DROP_FAILED] = {"failed", LOG_LEVEL_WARNING,
                     "memory or storage failed, and an answer is missing"},
};

void drops_note(struct drops *drops, enum drop reason, uint64_t session, int64_t now_ms)
{
    uint64_t withheld = 0;

    drops->totals[reason]++;
    if (log_gate_opens(&drops->gates[reason], now_ms, &withheld)) {
        log_write(reasons[reason].level,
                  "session %" PRIu64 " dropped: %s (%" PRIu64 " more since this was last said)",
                  session, reasons[reason].sentence, withheld);
    }
}

void drops_add_figures(const struct drops *drops, struct figures *figures)
{
    for (int i = 0; i < DROPS; i++) {
        figures_add(figures, drops->totals[i], "dropped/%s/sessions_total", reasons[i].name);
    }
}
