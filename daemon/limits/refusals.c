/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/drops.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/limits/figures.h"

static void refusals_tell(struct refusals *refusals, enum refusal what, int64_t now_ms)
{
    uint64_t *untold = refusals->untold;
    uint64_t withheld = 0;

    untold[what]++;
    if (log_gate_opens(&refusals->gate, now_ms, &withheld)) {
        log_info("refused by limits since this was last said: %" PRIu64
                 " requests over a rate, %" PRIu64 " for a full store or another quota, %" PRIu64
                 " connections",
                 untold[REFUSAL_RATE], untold[REFUSAL_QUOTA], untold[REFUSAL_CONNECTION]);
        memset(untold, 0, sizeof(refusals->untold));
    }
}

void refusals_note(struct refusals *refusals, enum hearsay_code code, int64_t now_ms)
{
    if (code <= HEARSAY_CODE_LAST) {
        refusals->codes[code]++;
    }
    if (code == HEARSAY_CODE_RATE_LIMITED) {
        refusals_tell(refusals, REFUSAL_RATE, now_ms);
    } else if (code == HEARSAY_CODE_QUOTA) {
        refusals_tell(refusals, REFUSAL_QUOTA, now_ms);
    }
}

void refusals_note_connection(struct refusals *refusals, int64_t now_ms)
{
    refusals->connections++;
    refusals_tell(refusals, REFUSAL_CONNECTION, now_ms);
}

void refusals_add_figures(const struct refusals *refusals, struct figures *figures)
{
    for (int code = HEARSAY_CODE_MALFORMED; code <= HEARSAY_CODE_LAST; code++) {
        char name[64] = "";
        const char *upper = msg_error_name((enum hearsay_code)code);
        for (size_t i = 0; upper[i] != '\0' && i + 1 < sizeof(name); i++) {
            name[i] = (char)tolower((unsigned char)upper[i]);
        }
        figures_add(figures, refusals->codes[code], "refused/%s/requests_total", name);
    }
    figures_add(figures, refusals->connections, "refused_connections_total");
}
