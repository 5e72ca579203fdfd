/* SPDX-License-Identifier: Apache-2.0 */
/* query --batch: questions pipelined, answers in order. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/jsonline.h"
#include "client/cli/pump.h"
#include "client/cli/query.h"
#include "client/cli/text.h"

struct batch {
    struct pump_work work; /* first: the pump hands it back */
    const struct cli *cli;
    const struct query_options *options;
    uint64_t failed; /* lines */
};

static struct batch *batch_of(struct pump_work *work)
{
    return (struct batch *)(void *)work;
}

static enum pump_verdict stop_nomem(struct batch *batch)
{
    batch->work.stop_code = cli_report_nomem(batch->cli);
    return PUMP_STOP;
}

/* Takes `value` (NULL: out of memory) as the answer to an item. */
static enum pump_verdict answer(struct batch *batch, struct pump_item *item, json_t *value)
{
    item->answer = out_json_text(value);
    json_decref(value);
    return item->answer != NULL ? PUMP_IS_DONE : stop_nomem(batch);
}

static enum pump_verdict answer_error(struct batch *batch, struct pump_item *item,
                                      const char *sentence)
{
    char text[800];
    (void)snprintf(text, sizeof(text), "line %" PRIu64 ": %s", item->number, sentence);
    text_drop_invalid(text); /* labels are quoted, and may be cut within a character */
    batch->failed++;
    return answer(batch, item, json_pack("{s:s}", "error", text));
}

/* The context of a line as a filter. 0, JSONLINE_WRONG or JSONLINE_NOMEM. */
static int encode_context(const json_t *object, const struct hearsay *server, const char *host,
                          struct hearsay_filter *out, struct jsonline_error *out_wrong)
{
    struct hearsay_context *context = NULL;
    int status = sensed_parse(object, &context, out_wrong);
    if (status == 0 && context == NULL) {
        status =
            jsonline_wrong(out_wrong, "the context is missing, such as \"labels\", an array of "
                                      "strings");
    }
    if (status == 0) {
        struct hearsay_error error;
        size_t count = 0;
        const char *const *labels = hearsay_context_labels(context, &count);
        if (hearsay_encode(server, host, labels, count, out, &error) != HEARSAY_OK) {
            status = jsonline_wrong(out_wrong, "%s", error.sentence);
        }
    }
    hearsay_context_free(context);
    return status;
}

/* Labels under `key` as a filter. 0, JSONLINE_WRONG or JSONLINE_NOMEM. */
static int encode_key(const json_t *object, const char *key, const struct hearsay *server,
                      const char *host, struct hearsay_filter *out,
                      struct jsonline_error *out_wrong)
{
    const char **labels = NULL;
    size_t count = 0;
    int status = jsonline_labels(object, key, &labels, &count, out_wrong);
    if (status != 0) {
        return status;
    }
    struct hearsay_error error;
    if (hearsay_encode(server, host, labels, count, out, &error) != HEARSAY_OK) {
        status = jsonline_wrong(out_wrong, "%s", error.sentence);
    }
    free(labels);
    return status;
}

struct question {
    struct hearsay_query query;
    struct hearsay_part part;
    struct hearsay_filter filter;
    struct hearsay_filter contains;
};

static int read_contains(const struct query_options *options, const json_t *object,
                         const struct hearsay *server, struct question *out,
                         struct jsonline_error *out_wrong)
{
    const json_t *value = json_object_get(object, "contains");
    if (value != NULL && !json_is_null(value)) {
        out->part.contains = &out->contains;
        return encode_key(object, "contains", server, out->query.host, &out->contains, out_wrong);
    }
    if (options->contains.count > 0) {
        struct hearsay_error error;
        out->part.contains = &out->contains;
        if (hearsay_encode(server, out->query.host, options->contains.items,
                           options->contains.count, &out->contains, &error) != HEARSAY_OK) {
            return jsonline_wrong(out_wrong, "--contains: %s", error.sentence);
        }
    }
    return 0;
}

static int read_question(const struct batch *batch, const json_t *object,
                         const struct hearsay *server, struct question *out,
                         struct jsonline_error *out_wrong)
{
    const struct hearsay_host *host = hearsay_find_host(server, batch->options->host);
    if (host == NULL) {
        return jsonline_wrong(out_wrong, "the server has no host \"%s\" any more",
                              batch->options->host);
    }
    query_prepare(batch->options, server, host, &out->query);
    out->query.parts = &out->part;
    out->query.part_count = 1;
    out->part.filter = &out->filter;
    int status = encode_context(object, server, host->name, &out->filter, out_wrong);
    if (status == 0) {
        status = read_contains(batch->options, object, server, out, out_wrong);
    }
    uint64_t k = out->query.k;
    if (status == 0) {
        status = jsonline_number(object, "k", 1, UINT32_MAX, &k, out_wrong);
    }
    if (status == 0) {
        out->query.k = (uint32_t)k;
        status = jsonline_distance(object, "max_distance", &out->query.max_distance, out_wrong);
    }
    return status;
}

static enum pump_verdict submit_question(struct batch *batch, struct hearsay *server,
                                         struct pump_item *item, const struct question *question)
{
    struct hearsay_error error;
    switch (hearsay_submit_query(server, &question->query, &item->ticket, &error)) {
    case HEARSAY_OK:
        return PUMP_IS_SENT;
    case HEARSAY_FULL:
        return PUMP_IS_FULL;
    case HEARSAY_ERR_ARGUMENT:
        return answer_error(batch, item, error.sentence);
    case HEARSAY_ERR_NOMEM:
        return stop_nomem(batch);
    default:
        return PUMP_IS_LOST;
    }
}

static enum pump_verdict batch_submit(struct pump_work *work, struct hearsay *server,
                                      struct pump_item *item)
{
    static const char *const keys[] = {SENSED_KEYS, "k", "contains", "max_distance", NULL};
    struct batch *batch = batch_of(work);
    if (item->line == NULL) {
        return answer_error(batch, item, "the line is too long");
    }
    json_t *object = NULL;
    struct jsonline_error wrong;
    struct question question;
    memset(&question, 0, sizeof(question));
    int status = jsonline_parse(item->line, item->length, keys, &object, &wrong);
    if (status == 0) {
        status = read_question(batch, object, server, &question, &wrong);
    }
    json_decref(object);
    if (status == 0) {
        return submit_question(batch, server, item, &question);
    }
    return status == JSONLINE_WRONG ? answer_error(batch, item, wrong.sentence) : stop_nomem(batch);
}

static enum pump_verdict batch_reply(struct pump_work *work, struct pump_item *item,
                                     const struct hearsay_reply *reply)
{
    struct batch *batch = batch_of(work);
    if (reply->kind != HEARSAY_REPLY_RESULTS) {
        char sentence[700];
        (void)snprintf(sentence, sizeof(sentence), "%s: %s", hearsay_code_name(reply->error.code),
                       reply->error.sentence);
        return answer_error(batch, item, sentence);
    }
    const struct hearsay_results *results = &reply->results;
    json_t *array = json_array();
    for (size_t i = 0; i < results->result_count; i++) {
        if (json_array_append_new(array, out_json_result(&results->results[i], false)) != 0) {
            json_decref(array);
            return stop_nomem(batch);
        }
    }
    return answer(batch, item,
                  json_pack("{s:o, s:I, s:b, s:b}", "results", array, "comparisons",
                            (json_int_t)results->comparisons, "exact", results->exact ? 1 : 0,
                            "capped", results->capped ? 1 : 0));
}

static enum pump_verdict batch_given(struct pump_work *work, struct pump_item *item)
{
    struct batch *batch = batch_of(work);
    (void)fputs(item->answer, batch->cli->out.stream);
    (void)fputc('\n', batch->cli->out.stream);
    if (ferror(batch->cli->out.stream) != 0) {
        batch->work.stop_code = cli_flush(batch->cli);
        return PUMP_STOP;
    }
    return PUMP_IS_DONE;
}

int query_batch(const struct cli *cli, const struct query_options *options, struct hearsay *server)
{
    struct batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.cli = cli;
    batch.options = options;
    batch.work.submit = batch_submit;
    batch.work.reply = batch_reply;
    batch.work.given = batch_given;
    const struct hearsay_host *host = NULL;
    int code = cli_find_host(cli, server, options->host, &host);
    int fd = code == CLI_DONE ? cli_open(cli, options->batch) : -1;
    if (fd < 0) {
        hearsay_close(server);
        return CLI_USAGE;
    }
    struct lines lines;
    struct pump pump;
    lines_init(&lines, fd);
    code = pump_init(&pump, cli, &batch.work, &lines, server);
    if (code == CLI_DONE) {
        code = pump_run(&pump);
    }
    pump_deinit(&pump);
    lines_deinit(&lines);
    cli_close(fd);
    return code == CLI_DONE && batch.failed > 0 ? CLI_NEGATIVE : code;
}
