/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/power_check.h"

#include <unistd.h>

#include "daemon/host/service.h"
#include "tests/lib/check.h"
#include "tests/lib/host_count.h"
#include "tests/reference/check.h"

/* --- what is left ----------------------------------------------------------------------------- */

/* Notes the first thing that is wrong. */
static void complain(struct power_proof *proof, const char *text, uint32_t number)
{
    if (proof->reason[0] == '\0') {
        (void)snprintf(proof->reason, sizeof(proof->reason), "message %u: %s (fate %u)", number,
                       text, number < POWER_NUMBERS_MAX ? proof->model->fates[number] : 0);
    }
}

static void check_fates(struct power_proof *proof)
{
    for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
        const uint8_t fate = proof->model->fates[i];

        if (proof->messages.found[i] && (fate & POWER_ASKED) == 0) {
            complain(proof, "nobody left it", i);
        } else if (proof->messages.found[i] && (fate & POWER_REMOVED) != 0) {
            complain(proof, "it was removed, and is there again", i);
        } else if (!proof->messages.found[i] &&
                   (fate & (POWER_KEPT | POWER_REMOVAL_ASKED)) == POWER_KEPT) {
            complain(proof, "it was acknowledged, and is lost", i);
        } else if (proof->messages.found[i] && !proof->messages.found[power_parent(i)]) {
            complain(proof, "what it answers has gone without it", i);
        }
    }
}

/* What is there is shown or hidden as was acknowledged, and at the number of then. */
static void check_numbers(struct power_proof *proof)
{
    const struct power_model *model = proof->model;

    for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
        const uint8_t fate = model->fates[i];
        const uint8_t state = proof->messages.states[i];

        if (!proof->messages.found[i]) {
            continue;
        }
        if ((fate & POWER_HIDING_ASKED) == 0 && state != PERSIST_SHOWN) {
            complain(proof, "it is not as deposited, and nobody reported it", i);
        } else if ((fate & POWER_HIDDEN) != 0 && state == PERSIST_SHOWN) {
            complain(proof, "its report was acknowledged, and is lost", i);
        } else if ((fate & POWER_RESTORED) != 0 && state != PERSIST_APPROVED) {
            complain(proof, "its restoring was acknowledged, and is lost", i);
        } else if (model->seqs[i] != 0 && proof->messages.seqs[i] != model->seqs[i] &&
                   (fate & (POWER_RESTORING_ASKED | POWER_RESTORED)) != POWER_RESTORING_ASKED) {
            complain(proof, "it has another number", i);
        }
    }
    if (proof->newest_seq < model->newest_seq) {
        complain(proof, "a number that was acknowledged would be given again", 0);
    }
}

static int note_notice(void *context, const struct persist_rule *rule)
{
    *(uint32_t *)context = rule->number;
    return 0;
}

/* Each hiding and restoring by the operator is there with its decision, or both are not. */
static void check_decisions(struct power_proof *proof, struct store_fixture *fixture)
{
    static struct persist_decision list[POWER_OPERATIONS_MAX];
    static bool hidden[POWER_NUMBERS_MAX];
    static bool restored[POWER_NUMBERS_MAX];
    struct persist_read read = {.kind = PERSIST_READ_DECISIONS,
                                .page_host = fixture->host,
                                .decisions = list,
                                .decision_count = POWER_OPERATIONS_MAX,
                                .decisions_before = INT64_MAX};

    memset(hidden, 0, sizeof(hidden));
    memset(restored, 0, sizeof(restored));
    store_read(fixture, &read);
    fixture->persist->interface->read_release(fixture->persist, &read);
    if (read.failed || read.page_more) {
        complain(proof, "the decisions cannot be read", 0);
    }
    for (size_t i = 0; i < read.decision_count; i++) {
        (strcmp(list[i].act, "hide") == 0 ? hidden : restored)[power_number(list[i].id)] = true;
    }
    for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
        const uint8_t state = proof->messages.states[i];

        if (!proof->messages.found[i]) {
            continue;
        }
        if (restored[i] != (state == PERSIST_APPROVED)) {
            complain(proof, "its restoring and the decision are not there together", i);
        } else if (state != PERSIST_APPROVED && hidden[i] != (state == PERSIST_WITHHELD)) {
            complain(proof, "its hiding and the decision are not there together", i);
        }
    }
}

/* The notice is the one that was acknowledged last, or one that was put after that. */
static void check_notice(struct power_proof *proof, struct store_fixture *fixture)
{
    uint32_t number = 0;

    if (fixture->persist->interface->replay_rules(fixture->persist, note_notice, &number,
                                                  fixture->reason) != 0) {
        complain(proof, "the notice cannot be read", 0);
    } else if (number < proof->model->notice_kept || number > proof->model->notice_asked) {
        complain(proof, "the notice is not as it was put", number);
    }
}

static int64_t read_clock(void *context)
{
    return *(const int64_t *)context;
}

static void check_indexes(struct power_proof *proof, struct service *service)
{
    const struct host *host = service_host(service, NULL);
    size_t indexed = 0;

    for (size_t i = 0; i < host->epoch_count; i++) {
        const char *wrong = check_index(host->epochs[i]->index);

        if (wrong != NULL) {
            complain(proof, wrong, 0);
        }
    }
    for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
        struct store_fixture fixture = {.host = host->number};
        struct store_op op;

        store_make_withdraw(&fixture, &op, i, 0); /* only for its id */
        const bool is_indexed = host_find(host, op.op.message.id, NULL, NULL, NULL) == 0;
        const bool is_over = proof->model->expires_ms[i] <= service_now_ms(service);

        if (power_parent(i) != i) {
            const struct answer *answer = answers_find(&host->answers, op.op.message.id);

            if (!is_over && proof->messages.found[i] != (answer != NULL)) {
                complain(proof, "memory and store differ about an answer", i);
            }
            continue;
        }

        indexed += is_indexed;
        if (is_indexed && !proof->messages.found[i]) {
            complain(proof, "the index has it, the store does not", i);
        } else if (is_indexed && proof->messages.states[i] >= PERSIST_HIDDEN) {
            complain(proof, "it is hidden, and in the index", i);
        } else if (!is_indexed && proof->messages.found[i] && !is_over &&
                   proof->messages.states[i] < PERSIST_HIDDEN) {
            complain(proof, "the store has it, the index does not", i);
        }
    }
    if (indexed != host_count(host)) {
        complain(proof, "the index has others, too", 0);
    }
}

/* The service that a daemon would make of this store. */
static void check_service(struct power_proof *proof, struct persist *persist)
{
    static struct config config;
    char reason[CONFIG_REASON_BYTES];
    int64_t now_ms = proof->model->now_ms;
    struct service *service = NULL;
    const struct service_options options = {.alloc = alloc_system(),
                                            .config = &config,
                                            .persist = persist,
                                            .hash_seed = 7,
                                            .read_wall_ms = read_clock,
                                            .read_monotonic_ms = read_clock,
                                            .clock_context = &now_ms};

    config_defaults(&config);
    (void)snprintf(config.data, sizeof(config.data), "/nowhere");
    config_add_host(&config, "default");
    assert_int_equal(config_set(&config, "test", "host default", "profile", "v2:512/4", reason), 0);
    assert_int_equal(config_finish(&config, reason), 0);
    if (service_new(&options, &service, reason) != 0) {
        (void)snprintf(proof->reason, sizeof(proof->reason), "no service: %.900s", reason);
        return;
    }
    check_indexes(proof, service);
    service_free(service);
}

bool power_check_opens(struct store_fixture *fixture, struct power_proof *proof)
{
    if (store_try_open(fixture) == 0) {
        return true;
    }
    (void)snprintf(proof->reason, sizeof(proof->reason), "it does not open: %s", fixture->reason);
    if (fixture->persist != NULL) {
        store_close(fixture);
    }
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    return false;
}

bool power_check_store(struct store_fixture *fixture, struct power_proof *proof,
                       const struct power_model *model)
{
    memset(proof, 0, sizeof(*proof));
    proof->model = model;
    if (!power_check_opens(fixture, proof)) {
        return false;
    }
    if (fixture->persist->interface->replay(fixture->persist, power_note_message, &proof->messages,
                                            fixture->reason) != 0) {
        (void)snprintf(proof->reason, sizeof(proof->reason), "it cannot be read: %s",
                       fixture->reason);
    }
    struct persist_info info;
    fixture->persist->interface->info(fixture->persist, &info);
    proof->newest_seq = info.seq;
    if (proof->reason[0] == '\0') {
        check_fates(proof);
        check_numbers(proof);
        check_notice(proof, fixture);
        check_decisions(proof, fixture);
    }
    if (proof->reason[0] == '\0') {
        check_service(proof, fixture->persist);
    }
    return proof->reason[0] == '\0';
}

/* --- backups ---------------------------------------------------------------------------------- */

/*
 * What a backup has, against what was known as it was asked for and at a later moment: all that was
 * there in between, nothing that was gone before or nobody left.
 */
static void check_copy(struct power_proof *proof, const struct power_backup *backup,
                       const uint8_t *after, const struct power_messages *messages)
{
    for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
        const uint8_t before = backup->before[i];
        const bool is_kept = (before & POWER_KEPT) != 0 && (after[i] & POWER_REMOVAL_ASKED) == 0;

        if (messages->found[i] && (after[i] & POWER_ASKED) == 0) {
            complain(proof, "the backup has it, and nobody left it", i);
        } else if (messages->found[i] && (before & POWER_REMOVED) != 0) {
            complain(proof, "it was removed, and the backup has it", i);
        } else if (!messages->found[i] && is_kept) {
            complain(proof, "it was acknowledged, and the backup has lost it", i);
        }
    }
}

/* A copy that has its name is whole; one that was acknowledged has it. */
static void check_backup(struct power_proof *proof, const struct store_fixture *from,
                         uint32_t number, struct store_fixture *restored)
{
    static struct power_messages messages;
    const struct power_backup *backup = &proof->model->backups[number];
    const uint8_t *after = backup->is_done ? backup->after : proof->model->fates;
    char path[POWER_PATH_BYTES];
    char reason[POWER_REASON_BYTES];

    power_name_backup(from, number, "", path);
    if (access(path, F_OK) != 0) {
        if (backup->is_done) {
            complain(proof, "a backup was acknowledged, and is not there", 0);
        }
        return;
    }
    if (power_restore(restored, path, &messages, reason) != 0) {
        (void)snprintf(proof->reason, sizeof(proof->reason), "backup: %.900s", reason);
        return;
    }
    check_copy(proof, backup, after, &messages);
}

/*
 * The part that a cut leaves has a name of its own, by which one knows that it is no backup. Who
 * restores it all the same is refused, or has whole messages that somebody left.
 */
static void check_part(struct power_proof *proof, const struct store_fixture *from, uint32_t number,
                       struct store_fixture *restored)
{
    static struct power_messages messages;
    char path[POWER_PATH_BYTES];
    char reason[POWER_REASON_BYTES];

    power_name_backup(from, number, ".part", path);
    if (access(path, F_OK) != 0) {
        return;
    }
    proof->backups_cut++;
    switch (power_restore(restored, path, &messages, reason)) {
    case 0:
        proof->parts_whole++;
        for (uint32_t i = 0; i < POWER_NUMBERS_MAX; i++) {
            if (messages.found[i] && (proof->model->fates[i] & POWER_ASKED) == 0) {
                complain(proof, "the part has it, and nobody left it", i);
            }
        }
        break;
    case POWER_REFUSED:
        proof->parts_refused++;
        break;
    default:
        (void)snprintf(proof->reason, sizeof(proof->reason), "part: %.900s", reason);
        break;
    }
}

void power_check_backups(struct power_proof *proof, const struct store_fixture *from)
{
    struct store_fixture restored;
    char path[POWER_PATH_BYTES];

    if (proof->model->backup_count == 0) {
        return;
    }
    store_fixture_init(&restored);
    for (uint32_t i = 0; i < proof->model->backup_count && proof->reason[0] == '\0'; i++) {
        check_part(proof, from, i, &restored);
        check_backup(proof, from, i, &restored);
        power_name_backup(from, i, "", path);
        (void)unlink(path); /* or the next work's would meet it */
        power_name_backup(from, i, ".part", path);
        (void)unlink(path);
    }
    store_fixture_deinit(&restored);
}
