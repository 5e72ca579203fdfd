/* SPDX-License-Identifier: Apache-2.0 */
/* sim_expect: what the files of sim_expect share. Included by sim_expect*.c only. */
#pragma once

#include "tests/sim/sim_world.h"

/* The answer may come, and is this. */
static inline void expect(struct w_request *request, enum hearsay_response_kind kind)
{
    request->expected.is_known = true;
    request->expected.kind = kind;
}

/* field: "" where none is named; NULL: any. */
static inline void expect_error(struct w_request *request, enum hearsay_code code,
                                const char *field)
{
    expect(request, HEARSAY_RESPONSE_ERROR);
    request->expected.code = code;
    request->expected.field = field;
}

/* Each when it reaches the handlers, ... */
void expect_deposit(struct world *world, struct w_request *request);
void expect_report(struct world *world, struct w_request *request);
void expect_restore(struct world *world, struct w_request *request);
void expect_reported(struct world *world, struct w_request *request);

/* ... when what it needs was read, ... */
void expect_restore_read(struct world *world, struct w_request *request,
                         const struct w_held_read *held);
void expect_reported_read(struct w_request *request, const struct w_held_read *held);

/* ... and when the store has done what it asked for. */
void expect_deposit_done(struct world *world, struct w_request *request,
                         const struct persist_op *op, bool failed);
void expect_removal_done(struct world *world, struct w_request *request,
                         const struct persist_op *op, bool failed);
void expect_report_done(struct world *world, struct w_request *request, struct persist_op *op,
                        bool failed);
void expect_restore_done(struct world *world, struct w_request *request, struct persist_op *op,
                         bool failed);
void expect_rule_done(struct world *world, struct w_request *request, const struct persist_op *op,
                      bool failed);

/*
 * Whether a filter of M_FILTER_BYTES has at least the one share of its bits set, and each section
 * at most the other share of its bits.
 */
bool expect_fill_is_right(const struct profile *profile, const uint8_t *filter, uint32_t least_ppm,
                          uint32_t most_ppm);
