/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/setup_inner.h"

#include <inttypes.h>
#include <string.h>

#include "client/bridge/wire/subject.h"

enum {
    NAME_ROOM = 32,
    DUPLICATES_S = 5 * 60,
    STREAMS = SUBJECT_SHARDS + 2,
    PEERS_PAUSE_MS = 500,
    PEERS_TRIES = 80
};

#define SECOND INT64_C(1000000000)

/* One stream, and the strings that its configuration borrows. */
struct plan {
    char name[NAME_ROOM];
    char texts[SUBJECT_SHARDS][NAME_ROOM];
    const char *subjects[SUBJECT_SHARDS];
    jsStreamConfig config;
};

static void add_subject(struct plan *plan, const char *tree, unsigned shard)
{
    size_t at = (size_t)plan->config.SubjectsLen++;

    if (shard < SUBJECT_SHARDS) {
        (void)snprintf(plan->texts[at], NAME_ROOM, "%s.%u.>", tree, shard);
    } else {
        (void)snprintf(plan->texts[at], NAME_ROOM, "%s.rule.>", tree);
    }
    plan->subjects[at] = plan->texts[at];
}

/* The stream number `which`: the shards, then the operator's words, then rules. */
static void plan_stream(unsigned which, const struct streams_limits *limits, struct plan *out)
{
    (void)jsStreamConfig_Init(&out->config);
    if (which < SUBJECT_SHARDS) {
        (void)snprintf(out->name, NAME_ROOM, "h_%u", which);
        add_subject(out, "h", which);
    } else if (which == SUBJECT_SHARDS) {
        (void)snprintf(out->name, NAME_ROOM, "o");
        for (unsigned i = 0; i < SUBJECT_SHARDS; i++) {
            add_subject(out, "o", i);
        }
    } else {
        (void)snprintf(out->name, NAME_ROOM, "rule");
        add_subject(out, "h", SUBJECT_SHARDS);
        add_subject(out, "o", SUBJECT_SHARDS);
    }
    out->config.Name = out->name;
    out->config.Subjects = out->subjects;
    out->config.Replicas = STREAMS_COPIES;
    out->config.Storage = js_FileStorage;
    out->config.Discard = js_DiscardNew; /* a full stream refuses; it does not forget */
    out->config.MaxMsgsPerSubject = STREAMS_STATES;
    out->config.MaxBytes = (int64_t)(limits->disk_bytes / STREAMS_PARTS);
    out->config.MaxAge = which > SUBJECT_SHARDS ? 0 : (int64_t)limits->age_s * SECOND;
    out->config.Duplicates = DUPLICATES_S * SECOND;
    out->config.AllowDirect = true;
}

static int complain_about(char *out_reason, const char *name, natsStatus status, jsErrCode code)
{
    const char *advice = "";

    switch (code) {
    case JSClusterNoPeersErr:
    case JSInsufficientResourcesErr:
    case JSStorageResourcesExceededErr:
        advice = "; three servers with room for --disk must be up";
        break;
    default:
        if (status == NATS_TIMEOUT || status == NATS_NO_RESPONDERS) {
            advice = "; the servers have no leader yet, or this certificate is of no hub bridge";
        }
        break;
    }
    (void)snprintf(out_reason, STREAMS_REASON_BYTES, "stream %s: %s (%d)%s", name,
                   nats_GetLastError(NULL), (int)code, advice);
    return -1;
}

static bool is_as_planned(const jsStreamConfig *is, const jsStreamConfig *planned)
{
    bool is_same = is->SubjectsLen == planned->SubjectsLen;

    for (int i = 0; is_same && i < planned->SubjectsLen; i++) {
        is_same = strcmp(is->Subjects[i], planned->Subjects[i]) == 0;
    }
    return is_same && is->Replicas == planned->Replicas && is->Discard == planned->Discard &&
           is->MaxMsgsPerSubject == planned->MaxMsgsPerSubject &&
           is->MaxBytes == planned->MaxBytes && is->MaxAge == planned->MaxAge &&
           is->Duplicates == planned->Duplicates && is->AllowDirect == planned->AllowDirect;
}

/* What there is to do for a stream: "" when nothing. */
static const char *compare_stream(jsCtx *js, const struct plan *plan, natsStatus *out_status,
                                  jsErrCode *out_code)
{
    jsStreamInfo *info = NULL;
    const char *todo = "";

    *out_status = js_GetStreamInfo(&info, js, plan->name, NULL, out_code);
    if (*out_status == NATS_NOT_FOUND) {
        *out_status = NATS_OK;
        return "made";
    }
    if (*out_status == NATS_OK && !is_as_planned(info->Config, &plan->config)) {
        todo = "changed";
    }
    jsStreamInfo_Destroy(info);
    return todo;
}

/* Servers that have just started take some seconds to know one another: one whose first word about
 * itself was lost tells the others of itself again after 30 s. */
static natsStatus put_stream(jsCtx *js, struct plan *plan, bool is_new, jsErrCode *out_code)
{
    natsStatus status = NATS_OK;

    for (unsigned tries = 0; tries < PEERS_TRIES; tries++) {
        *out_code = 0;
        status = is_new ? js_AddStream(NULL, js, &plan->config, NULL, out_code)
                        : js_UpdateStream(NULL, js, &plan->config, NULL, out_code);
        if (status == NATS_OK || *out_code != JSClusterNoPeersErr) {
            break;
        }
        nats_Sleep(PEERS_PAUSE_MS);
    }
    return status;
}

int streams_make(jsCtx *js, const struct streams_limits *limits, bool is_dry, FILE *out,
                 char *out_reason)
{
    unsigned changes = 0;

    for (unsigned i = 0; i < STREAMS; i++) {
        struct plan plan;
        natsStatus status = NATS_OK;
        jsErrCode code = 0;

        plan_stream(i, limits, &plan);
        const char *todo = compare_stream(js, &plan, &status, &code);

        if (status == NATS_OK && todo[0] != '\0' && !is_dry) {
            status = put_stream(js, &plan, todo[0] == 'm', &code);
        }
        if (status != NATS_OK) {
            return complain_about(out_reason, plan.name, status, code);
        }
        if (todo[0] != '\0') {
            (void)fprintf(out, "stream %s: %s%s\n", plan.name, is_dry ? "would be " : "", todo);
            changes++;
        }
    }
    (void)fprintf(out,
                  "%d streams, %d copies of each, at most %" PRIu64 " MB each; %u %schanged.\n"
                  "Messages leave them after %" PRIu64
                  " days: no host may have a longer ttl_max.\n",
                  STREAMS, STREAMS_COPIES, limits->disk_bytes / STREAMS_PARTS / 1000000, changes,
                  is_dry ? "would be " : "", limits->age_s / 86400);
    return 0;
}
