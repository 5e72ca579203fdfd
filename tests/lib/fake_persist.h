/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_persist: persist in memory, for tests of what stands above it. Nothing happens until the
 * test says so: operations and reads wait in order, as they do while a commit runs.
 */
#pragma once

#include "daemon/store/persist.h"

struct persist *fake_persist_new(void);
void fake_persist_free(struct persist *persist);

/* Applies what was submitted, in order, and calls `done` for each. How many there were. */
size_t fake_persist_commit(struct persist *persist);

/* What add_host answers from now on: the host's messages have another profile; NULL: it is right.
 */
void fake_persist_set_profile(struct persist *persist, const char *stored);

/* Lets add_host and replay fail, with a reason (borrowed) or, when that is NULL, without one. */
void fake_persist_fail_start(struct persist *persist, int add_host_rc, int replay_rc,
                             const char *reason);

/* What info says: the latest time that was saved. */
void fake_persist_set_clock(struct persist *persist, int64_t clock_ms);

/* Lets the next commit fail as a full disk does. */
void fake_persist_fail_next(struct persist *persist);

/*
 * Carries out the reads that wait, as the store's own thread does: what they see is the store of
 * now. They are answered later.
 */
void fake_persist_carry_out_reads(struct persist *persist);

/* Lets the reads that are carried out next fail, as a damaged disk does. */
void fake_persist_fail_reads(struct persist *persist);

/* Carries out the reads that wait, and answers all that are carried out. How many there were. */
size_t fake_persist_answer_reads(struct persist *persist);

/* Epochs stored, and the one in that place (borrowed until the next operation). */
size_t fake_persist_epochs(const struct persist *persist);
const struct persist_epoch *fake_persist_epoch(const struct persist *persist, size_t i);

/* Messages stored. */
size_t fake_persist_count(const struct persist *persist);
