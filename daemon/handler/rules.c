/* SPDX-License-Identifier: Apache-2.0 */
/* Ban, Unban, Bans, Accept and Notice: the operator's rules and notices of a host. */
#include <stdio.h>
#include <string.h>

#include "daemon/handler/inner.h"
#include "daemon/handler/job.h"
#include "daemon/system/container.h"
#include "proto/codec/codec.h"

enum { SENTENCE_BYTES = 96 };                            /* of an error with a number */
#define UNTIL_MAX_MS (INT64_C(36500) * 24 * 3600 * 1000) /* of a notice, from now on */

struct rule_job {
    struct job base; /* first */
    struct persist_op op;
    struct persist_rule rule;
    struct persist_decision decision;
    uint8_t value[PERSIST_RULE_BYTES_MAX];
};

/* --- jobs ------------------------------------------------------------------------------------- */

static struct rule_job *rule_job_new(const struct ask *ask, const char *act)
{
    struct rule_job *job = job_new(ask, sizeof(*job), 0);

    if (job != NULL) {
        job->op.now_ms = service_now_ms(ask->service);
        job->op.rule = &job->rule;
        job->op.decision = &job->decision;
        ask_decide(ask, act, &(struct ask_decision){.kind = 0}, &job->decision);
        job->rule.host = ask->host->number;
        job->rule.value = job->value;
        job->rule.created_ms = job->op.now_ms;
    }
    return job;
}

static void rule_job_submit(struct rule_job *job, enum persist_kind kind,
                            void (*done)(struct persist_op *op))
{
    job->op.kind = kind;
    job->op.done = done;
    job_submit(&job->base, &job->op);
}

/*
 * Whether the store has stored the rule, or has deleted it or did not have it, and memory has done
 * the same. If not, answers with an error and ends the job.
 */
static bool is_done(struct rule_job *job)
{
    enum persist_outcome outcome = job->op.outcome;
    struct rules *rules = &job->base.host->rules;

    if (outcome != PERSIST_APPLIED && outcome != PERSIST_NOT_FOUND) {
        job_fail_write(&job->base, job->op.reason);
        return false;
    }
    if (job->op.kind == PERSIST_RULE_DROP) {
        rules_drop(rules, &job->rule);
    } else if (rules_put(rules, &job->rule) != 0) {
        job_fail(&job->base, HEARSAY_CODE_INTERNAL, NULL,
                 "the server is out of memory; this is in force after its next start");
        return false;
    }
    return true;
}

static void tell_gateways(const struct job *job)
{
    const struct service_control *control = job->service->control;

    if (control != NULL && control->host_changed != NULL) {
        control->host_changed(control->context);
    }
}

/* --- Ban, Unban ------------------------------------------------------------------------------- */

static void on_banned(struct persist_op *op)
{
    struct rule_job *job = CONTAINER_OF(op, struct rule_job, op);

    if (is_done(job)) {
        log_info("host %s: the operator has banned a %s", job->base.host->config.name,
                 job->rule.kind == PERSIST_BAN_PAYLOAD ? "payload" : "filter");
        job_succeed(&job->base, HEARSAY_RESPONSE_BANNED);
    }
}

static void on_unbanned(struct persist_op *op)
{
    struct rule_job *job = CONTAINER_OF(op, struct rule_job, op);

    if (op->outcome == PERSIST_NOT_FOUND) {
        job_fail(&job->base, HEARSAY_CODE_NOT_FOUND, NULL,
                 "there is no such ban; `bans` lists those there are");
    } else if (is_done(job)) {
        job_succeed(&job->base, HEARSAY_RESPONSE_UNBANNED);
    }
}

/*
 * Whether the client is an administrator, the host exists, and the request has either a payload
 * hash or a filter of the host's profile. If not, sends an error.
 */
static bool check_ban(struct ask *ask, const struct hearsay_unban *asked)
{
    uint64_t filter[PROFILE_WORDS_MAX];

    if (!ask_host(ask, &asked->host)) {
        return false;
    }
    if ((asked->payload_hash.data != NULL) == (asked->filter.data != NULL)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "payload_hash",
                   "%s needs payload_hash or filter, one of them", ask->request->name);
        return false;
    }
    return asked->filter.data == NULL || ask_filter(ask, &asked->filter, "filter", filter);
}

static void fill_rule(struct rule_job *job, const struct hearsay_unban *asked)
{
    bool is_payload = asked->payload_hash.data != NULL;
    const struct hearsay_bytes *value = is_payload ? &asked->payload_hash : &asked->filter;

    job->rule.kind = is_payload ? PERSIST_BAN_PAYLOAD : PERSIST_BAN_FILTER;
    job->rule.value_bytes = value->count; /* the codec checked its size */
    memcpy(job->value, value->data, value->count);
}

void handler_ban(struct ask *ask)
{
    const struct hearsay_ban *asked = &ask->request->ban;
    struct hearsay_unban banned = {asked->host, asked->payload_hash, asked->filter};
    struct rule_job *job = check_ban(ask, &banned) ? rule_job_new(ask, "ban") : NULL;

    if (job == NULL) {
        return;
    }
    fill_rule(job, &banned);
    job->rule.number = asked->filter.data != NULL ? asked->max_distance_ppm : 0;
    if (!rules_have_room(&ask->host->rules, &job->rule)) {
        char sentence[SENTENCE_BYTES];
        (void)snprintf(sentence, sizeof(sentence),
                       "this host has %d bans, and there may be no more: unban some", LIMIT_BANS);
        job_fail(&job->base, HEARSAY_CODE_QUOTA, NULL, sentence);
        return;
    }
    rule_job_submit(job, PERSIST_RULE_PUT, on_banned);
}

void handler_unban(struct ask *ask)
{
    const struct hearsay_unban *asked = &ask->request->unban;
    struct rule_job *job = check_ban(ask, asked) ? rule_job_new(ask, "unban") : NULL;

    if (job != NULL) {
        fill_rule(job, asked);
        rule_job_submit(job, PERSIST_RULE_DROP, on_unbanned);
    }
}

/* --- Bans ------------------------------------------------------------------------------------- */

/* Fills in the bans of a host, from index `first` on, until one does not fit the frame. */
static void fill_bans(const struct rules *rules, uint32_t first, size_t frame_bytes,
                      struct hearsay_ban_entry *entries, struct hearsay_ban_list *list)
{
    enum { REST_BYTES = 32 }; /* of an entry: tags, lengths, two numbers */
    size_t used = CODEC_ENVELOPE_BYTES_MAX;

    list->bans = entries;
    for (uint32_t i = first; i < rules->ban_count; i++) {
        const struct ban *ban = &rules->bans[i];
        struct hearsay_bytes value = {ban->value, ban->value_bytes};
        struct hearsay_ban_entry *entry = &entries[list->ban_count];

        used += ban->value_bytes + REST_BYTES;
        if (used > frame_bytes) {
            list->more = true;
            return;
        }
        *entry = (struct hearsay_ban_entry){.max_distance_ppm = ban->max_distance_ppm,
                                            .since_ms = ban->since_ms};
        *(ban->kind == PERSIST_BAN_PAYLOAD ? &entry->payload_hash : &entry->filter) = value;
        list->ban_count++;
    }
}

void handler_bans(struct ask *ask)
{
    struct service *service = ask->service;
    const struct hearsay_bans *asked = &ask->request->bans;
    struct hearsay_response response = {.id = ask->request->id, .kind = HEARSAY_RESPONSE_BAN_LIST};

    if (!ask_host(ask, &asked->host)) {
        return;
    }
    const struct rules *rules = &ask->host->rules;
    struct hearsay_ban_entry *entries =
        arena_take_zeroed(&service->arena, rules->ban_count + 1, sizeof(*entries));
    if (entries == NULL) {
        ask_refuse_memory(ask);
        return;
    }
    fill_bans(rules, asked->skip, service->config.limits.frame_bytes, entries, &response.ban_list);
    ask_respond(ask, &response);
    arena_reset(&service->arena);
}

/* --- Accept ----------------------------------------------------------------------------------- */

static void fill_accepting(struct service *service, const struct host *host,
                           struct hearsay_accepting *out)
{
    const char *source = NULL;
    enum accept mode = accept_mode_now(host, service_now_ms(service), &source, &out->until_ms);

    out->mode = (struct hearsay_text){accept_name(mode), strlen(accept_name(mode))};
    out->source = (struct hearsay_text){source, strlen(source)};
}

static void on_accepting(struct persist_op *op)
{
    struct rule_job *rule = CONTAINER_OF(op, struct rule_job, op);
    struct job *job = &rule->base;
    struct hearsay_response response = {.id = job->request_id, .kind = HEARSAY_RESPONSE_ACCEPTING};

    if (is_done(rule)) {
        fill_accepting(job->service, job->host, &response.accepting);
        log_info("host %s: deposits are %.*s (%.*s)", job->host->config.name,
                 (int)response.accepting.mode.length, response.accepting.mode.text,
                 (int)response.accepting.source.length, response.accepting.source.text);
        tell_gateways(job);
        job_finish(job, &response);
    }
}

void handler_accept(struct ask *ask)
{
    const struct hearsay_text *word = &ask->request->accept.mode;
    enum accept mode = ACCEPT_OPEN;

    if (!ask_host(ask, &ask->request->accept.host)) {
        return;
    }
    if (word->text == NULL) {
        struct hearsay_response response = {.id = ask->request->id,
                                            .kind = HEARSAY_RESPONSE_ACCEPTING};
        fill_accepting(ask->service, ask->host, &response.accepting);
        ask_respond(ask, &response);
        return;
    }
    bool is_auto = strcmp(word->text, "auto") == 0;
    if (!is_auto && accept_parse(word->text, word->length, &mode) != 0) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "mode",
                   "there is no mode \"%s\"; it is open, review, closed, or auto", word->text);
        return;
    }
    char act[LIMIT_WORD_BYTES + 1];
    (void)snprintf(act, sizeof(act), "accept-%s", word->text);
    struct rule_job *job = rule_job_new(ask, act);
    if (job != NULL) {
        job->rule.kind = PERSIST_ACCEPT;
        job->rule.number = mode;
        rule_job_submit(job, is_auto ? PERSIST_RULE_DROP : PERSIST_RULE_PUT, on_accepting);
    }
}

/* --- Notice ----------------------------------------------------------------------------------- */

static void fill_house_notice(const struct notice *notice, struct hearsay_house_notice *out)
{
    size_t lang_bytes = strlen(notice->value);
    const char *text = notice->value + lang_bytes + 1;
    const char *place = text + strlen(text) + 1;
    bool has_place = place < notice->value + notice->value_bytes;

    *out = (struct hearsay_house_notice){
        .number = notice->number,
        .text = {text, strlen(text)},
        .lang = {lang_bytes > 0 ? notice->value : NULL, lang_bytes},
        .since_ms = notice->created_ms,
        .until_ms = notice->until_ms,
        .place = {has_place ? place : NULL, has_place ? strlen(place) : 0},
    };
}

size_t handler_fill_notices(const struct rules *rules, const struct hearsay_text *place,
                            struct hearsay_house_notice *out)
{
    size_t count = 0;

    for (size_t i = 0; i < rules->notice_count; i++) {
        const struct hearsay_text *of = &out[count].place;

        fill_house_notice(rules->notices[i], &out[count]);
        count += place == NULL || of->length == 0 ||
                 (of->length == place->length && memcmp(of->text, place->text, of->length) == 0);
    }
    return count;
}

/* The answer: the notices that there are now. */
static void fill_noticed(struct service *service, struct host *host,
                         struct hearsay_house_notice *notices, struct hearsay_response *out)
{
    rules_end_notices(&host->rules, service_now_ms(service));
    out->kind = HEARSAY_RESPONSE_NOTICED;
    out->noticed.notices = notices;
    out->noticed.notice_count = handler_fill_notices(&host->rules, NULL, notices);
}

static void on_noticed(struct persist_op *op)
{
    struct rule_job *rule = CONTAINER_OF(op, struct rule_job, op);
    struct job *job = &rule->base;
    struct hearsay_house_notice notices[LIMIT_NOTICES];
    struct hearsay_response response = {.id = job->request_id};

    /* A job that has failed is gone behind is_done. */
    struct rules *rules = &job->host->rules;
    uint32_t number = op->kind == PERSIST_RULE_PUT ? rule->rule.number : 0;
    bool is_in_force = is_done(rule);

    rules_give_number(rules, number);
    if (is_in_force) {
        log_info("host %s: the operator has %s notice %u", job->host->config.name,
                 op->kind == PERSIST_RULE_PUT ? "put up" : "taken down", rule->rule.number);
        tell_gateways(job);
        fill_noticed(job->service, job->host, notices, &response);
        job_finish(job, &response);
    }
}

const char handler_no_place_text[] =
    "no line of `here_map` has this name of a place; `here` with `places` lists the names";

/* Whether there is a place of this name, or the host is a copy, whose places only its owner knows.
 */
static bool has_place(const struct host *host, const struct hearsay_text *place)
{
    struct hearsay_text labels[LIMIT_LABELS];

    return host->config.is_replica || here_map_place(host->here_map, place, labels) > 0;
}

/* Sends an error if the fields of the request do not go together. */
static bool check_notice(const struct ask *ask)
{
    const struct hearsay_notice *asked = &ask->request->notice;
    bool has_text = asked->text.text != NULL;

    if (has_text && asked->drop != 0) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "drop",
                   "notice has text, to put one up, or drop, to take one down; not both");
    } else if (!has_text &&
               (asked->lang.text != NULL || asked->until_ms != 0 || asked->place.text != NULL)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "text",
                   "notice has lang, place or until_ms, but no text");
    } else if (has_text && asked->place.text != NULL && !has_place(ask->host, &asked->place)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "place", "%s", handler_no_place_text);
    } else if (has_text && asked->until_ms != 0 &&
               asked->until_ms <= service_now_ms(ask->service)) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "until_ms",
                   "the notice would end before it begins; until_ms is a time in the future");
    } else if (has_text && asked->until_ms > service_now_ms(ask->service) + UNTIL_MAX_MS) {
        ask_refuse(ask, HEARSAY_CODE_INVALID, "until_ms",
                   "a notice may end within a hundred years; without until_ms it has no end");
    } else {
        return true;
    }
    return false;
}

/* Fills the rule with what the request names. False: there is none of this number, or no room. */
static bool fill_notice(struct rule_job *job, const struct hearsay_notice *asked)
{
    struct rules *rules = &job->base.host->rules;
    struct persist_rule *rule = &job->rule;

    rule->kind = PERSIST_NOTICE;
    if (asked->text.text != NULL) {
        rule->value_bytes = asked->lang.length + 1 + asked->text.length;
        memcpy(job->value, asked->lang.length > 0 ? asked->lang.text : "", asked->lang.length);
        job->value[asked->lang.length] = 0;
        memcpy(job->value + asked->lang.length + 1, asked->text.text, asked->text.length);
        if (asked->place.text != NULL) {
            job->value[rule->value_bytes++] = 0;
            memcpy(job->value + rule->value_bytes, asked->place.text, asked->place.length);
            rule->value_bytes += asked->place.length;
        }
        rule->until_ms = asked->until_ms;
        rule->number = rules_take_number(rules, rule);
        return rule->number != 0;
    }
    const struct notice *notice = rules_notice(rules, asked->drop);
    if (notice != NULL) {
        rule->number = notice->number;
        rule->value_bytes = notice->value_bytes;
        memcpy(job->value, notice->value, notice->value_bytes);
    }
    return notice != NULL;
}

static void change_notice(struct rule_job *job, const struct hearsay_notice *asked)
{
    bool is_new = asked->text.text != NULL;

    if (!fill_notice(job, asked)) {
        char sentence[SENTENCE_BYTES];
        (void)snprintf(sentence, sizeof(sentence),
                       "this host has %d notices, and there may be no more: take one down",
                       LIMIT_NOTICES);
        job_fail(&job->base, is_new ? HEARSAY_CODE_QUOTA : HEARSAY_CODE_NOT_FOUND,
                 is_new ? "text" : "drop", is_new ? sentence : "there is no notice of this number");
        return;
    }
    if (job->rule.until_ms != 0) {
        service_hold_clock(job->base.service, job->op.now_ms);
    }
    rule_job_submit(job, is_new ? PERSIST_RULE_PUT : PERSIST_RULE_DROP, on_noticed);
}

void handler_notice(struct ask *ask)
{
    const struct hearsay_notice *asked = &ask->request->notice;
    struct hearsay_house_notice notices[LIMIT_NOTICES];
    struct hearsay_response response = {.id = ask->request->id};

    if (!ask_host(ask, &asked->host)) {
        return;
    }
    fill_noticed(ask->service, ask->host, notices, &response); /* without those that have ended */
    if (asked->text.text == NULL && asked->drop == 0 && asked->lang.text == NULL &&
        asked->place.text == NULL && asked->until_ms == 0) {
        ask_respond(ask, &response);
    } else if (check_notice(ask)) {
        struct rule_job *job = rule_job_new(ask, asked->drop == 0 ? "notice" : "unnotice");
        if (job != NULL) {
            change_notice(job, asked);
        }
    }
}
