/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are refused are counted by code, and the log has few lines of them. */
#include "daemon/limits/drops.h"

#include "core/base/alloc.h"
#include "daemon/limits/figures.h"
#include "tests/lib/check.h"

static int64_t figure_of(const struct figures *figures, const char *name)
{
    for (size_t i = 0; i < figures->count; i++) {
        if (strcmp(figures->list[i].name.text, name) == 0) {
            return figures->list[i].value;
        }
    }
    return -1;
}

TEST(each_code_has_a_figure)
{
    static struct refusals refusals;
    struct figures figures;
    struct arena arena;

    log_set_level(LOG_LEVEL_ERROR);
    for (int code = HEARSAY_CODE_MALFORMED; code <= HEARSAY_CODE_LAST; code++) {
        for (int i = 0; i < code; i++) {
            refusals_note(&refusals, (enum hearsay_code)code, 0);
        }
    }
    refusals_note_connection(&refusals, 0);
    refusals_note_connection(&refusals, 0);
    arena_init(&arena, alloc_system(), 1 << 20);
    assert_int_equal(figures_init(&figures, &arena), 0);
    refusals_add_figures(&refusals, &figures);
    assert_false(figures.is_short);
    assert_int_equal(figure_of(&figures, "refused/malformed/requests_total"),
                     HEARSAY_CODE_MALFORMED);
    assert_int_equal(figure_of(&figures, "refused/rate_limited/requests_total"),
                     HEARSAY_CODE_RATE_LIMITED);
    assert_int_equal(figure_of(&figures, "refused/quota/requests_total"), HEARSAY_CODE_QUOTA);
    assert_int_equal(figure_of(&figures, "refused/internal/requests_total"), HEARSAY_CODE_INTERNAL);
    assert_int_equal(figure_of(&figures, "refused_connections_total"), 2);
    assert_int_equal(figures.count, HEARSAY_CODE_LAST + 1);
    arena_deinit(&arena);
}

/* What was not told waits for the next line; what no limit refuses is in no line. */
TEST(a_line_has_the_counts_since_the_last_one)
{
    static struct refusals refusals;

    log_set_level(LOG_LEVEL_ERROR);
    refusals_note(&refusals, HEARSAY_CODE_NOT_FOUND, 0);
    assert_false(refusals.gate.opened);
    refusals_note(&refusals, HEARSAY_CODE_QUOTA, 0);
    assert_true(refusals.gate.opened);
    assert_int_equal(refusals.untold[REFUSAL_QUOTA], 0);
    for (int64_t now_ms = 1; now_ms < 1000; now_ms++) {
        refusals_note(&refusals, HEARSAY_CODE_RATE_LIMITED, now_ms);
    }
    assert_int_equal(refusals.untold[REFUSAL_RATE], 999);
    refusals_note_connection(&refusals, 60 * 1000);
    for (int i = 0; i < REFUSALS; i++) {
        assert_int_equal(refusals.untold[i], 0);
    }
}
