/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power_check: what a power cut left, against what was known when it happened (power_work.h), for
 * test_power.c: the store, the index that a service makes of it, and the backups beside it. What is
 * wrong is noted, not asserted: some tests want to see a promise broken.
 */
#pragma once

#include "tests/fault/power_work.h"

/* A store that was opened after a cut, as a service sees it. */
struct power_proof {
    const struct power_model *model;
    struct power_messages messages;
    int64_t newest_seq;              /* of the store: it gives the next number next */
    char reason[POWER_REASON_BYTES]; /* the first thing that is wrong, or "" */
    unsigned backups_cut;            /* parts of a backup that were there, */
    unsigned parts_refused;          /* of which so many were refused, */
    unsigned parts_whole;            /* and so many restored */
};

/* Opens what a cut left. False, with a reason, where it does not open; it is closed then. */
bool power_check_opens(struct store_fixture *fixture, struct power_proof *proof);

/*
 * Begins a proof (`model` is borrowed), opens what a cut left and checks it. False, with a reason,
 * where a promise was broken. The store stays open if it could be opened.
 */
bool power_check_store(struct store_fixture *fixture, struct power_proof *proof,
                       const struct power_model *model);

/* Checks the backups that a cut left beside the store, and takes them away. */
void power_check_backups(struct power_proof *proof, const struct store_fixture *from);
