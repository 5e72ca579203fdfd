/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power_backup: what backups promise when the power fails, for test_power.c: one that was
 * acknowledged is whole, and one that was cut has no name, or is whole, too; and what restoring one
 * leaves is a store with all of it or none.
 */
#pragma once

#include "tests/lib/rng.h"
#include "tests/lib/store_fixture.h"

enum {
    POWER_NUMBERS_MAX = 4096, /* of messages */
    POWER_REASON_BYTES = 1024
};

/* The messages of a store: numbers that were found. */
struct power_messages {
    uint8_t found[POWER_NUMBERS_MAX];
    uint8_t states[POWER_NUMBERS_MAX]; /* enum persist_state, of those found */
    int64_t seqs[POWER_NUMBERS_MAX];   /* their numbers in the store */
    int64_t deposited_ms[POWER_NUMBERS_MAX];
    uint32_t count;
};

/* The number that an id of store_fixture's has. */
uint32_t power_number(const uint8_t *id);

/* For persist's replay; a message whose number is too large ends it. */
int power_note_message(void *context, const struct persist_message *message);

/*
 * Restores a backup into the fixture's directory, which is emptied before, and reads it. 0,
 * POWER_REFUSED when it was refused, -1 when what came of it is no store; with a reason each
 * (POWER_REASON_BYTES).
 */
enum { POWER_REFUSED = 1 };
int power_restore(struct store_fixture *into, const char *file, struct power_messages *out,
                  char *out_reason);

/*
 * Cuts the power at random moments while that is done, and while it is done again on what was left.
 * False, with a reason, when what was left opens and has not all of `expected`, or cannot be
 * restored into. *cuts counts.
 */
bool power_cut_restoring(struct store_fixture *into, const char *file,
                         const struct power_messages *expected, struct rng *rng, unsigned *cuts,
                         char *out_reason);

/* Removes all files of a directory. */
void power_empty_directory(const char *directory);
