/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power_work: random work on a store, for test_power.c, and what was known of each message when the
 * power might have failed: operations in batches, with backups in between; before some of the
 * changes of files a snapshot is taken, with a copy of the model as it was then. It does not cut
 * the power.
 */
#pragma once

#include <pthread.h>

#include "tests/fault/power_backup.h"
#include "tests/lib/power_vfs.h"

enum {
    POWER_OPERATIONS_MAX = 480, /* in one work */
    POWER_BACKUPS_MAX = 2,
    POWER_MOMENTS_MAX = 20,
    POWER_LATER_MS = 100000000, /* when a message expires that does not */
    POWER_PATH_BYTES = STORE_PATH_BYTES + 32
};

/* What is known of a message. */
enum {
    POWER_ASKED = 1,         /* its deposit was submitted */
    POWER_KEPT = 2,          /* and acknowledged */
    POWER_REMOVAL_ASKED = 4, /* its withdrawal, or an expiry that it has to go with */
    POWER_REMOVED = 8,       /* and acknowledged */
    POWER_HIDING_ASKED = 16,
    POWER_HIDDEN = 32, /* and acknowledged */
    POWER_RESTORING_ASKED = 64,
    POWER_RESTORED = 128 /* and acknowledged */
};

/*
 * Each fourth message answers the one before it, and goes with it. Returns the number of the
 * parent; a message that answers none returns its own.
 */
static inline uint32_t power_parent(uint32_t number)
{
    return number % 4 == 3 ? number - 1 : number;
}

/* A copy of the store: what was known as it was asked for, and as it was acknowledged. */
struct power_backup {
    uint8_t before[POWER_NUMBERS_MAX]; /* fates */
    uint8_t after[POWER_NUMBERS_MAX];
    bool is_done;
};

struct power_model {
    uint8_t fates[POWER_NUMBERS_MAX];
    struct power_backup backups[POWER_BACKUPS_MAX];
    uint32_t backup_count; /* asked for, one after the other */
    int64_t expires_ms[POWER_NUMBERS_MAX];
    int64_t deposited_ms[POWER_NUMBERS_MAX];
    int64_t seqs[POWER_NUMBERS_MAX]; /* numbers acknowledged last; 0: not known */
    int64_t newest_seq;              /* of all numbers acknowledged */
    uint32_t notice_asked;           /* number of the notice that was put last; 0: none */
    uint32_t notice_kept;            /* and acknowledged last */
    uint32_t next;
    int64_t now_ms;
};

struct power_moment {
    struct power_snapshot *snapshot;
    struct power_model *model;
};

struct power_work {
    struct rng *rng;
    struct store_fixture *fixture;
    pthread_mutex_t mutex; /* guards what follows: the store's thread takes snapshots */
    struct power_model model;
    struct rng moments; /* the store's thread's own, so that one seed is one run of the loop's */
    struct power_moment taken[POWER_MOMENTS_MAX];
    size_t taken_count;
    bool is_backing_up;
    size_t usual_count; /* of the snapshots that were not of a backup */
    uint32_t share;     /* of changes before which a snapshot is taken, per thousand */
    uint32_t batches;   /* of operations */
    uint32_t backups;   /* at most */
    bool is_short;      /* of storage, which ends at some write; operations may fail */
    unsigned failed;    /* operations, for want of storage */
    unsigned acknowledged;
    unsigned backups_whole;
};

/* Borrows both until the end. How much there is to do is random, and may be changed now. */
void power_work_begin(struct power_work *work, struct store_fixture *fixture, struct rng *rng);
void power_work_end(struct power_work *work);

/* Opens, works and closes, while snapshots are taken. */
void power_work_do(struct power_work *work);

/* Snapshots are taken from now on, until power_vfs_observe says otherwise. */
void power_work_watch(struct power_work *work);

/* Begins, and leaves a store with something in it, and its backup; without snapshots. */
void power_work_make_backup(struct power_work *work, struct store_fixture *fixture, struct rng *rng,
                            char out_path[POWER_PATH_BYTES]);

/* The file of a work's backup; `suffix`: "", or ".part" of what is not whole yet. */
void power_name_backup(const struct store_fixture *fixture, uint32_t number, const char *suffix,
                       char out_path[POWER_PATH_BYTES]);
