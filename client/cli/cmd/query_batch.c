/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/cmd/query_common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/input/pump.h"

struct batch {
    struct pump_work work; /* first: batch_of casts a pointer to this field back */
    struct cli *cli;
    const struct query_options *options;
    struct epoch_follower epochs; /* to ask in */
    uint64_t failed;              /* lines */
    struct hearsay_left_out left_out;
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

/* Stores `value` as the answer to an item, and takes the reference. NULL means: out of memory. */
static enum pump_verdict query_batch_answer(struct batch *batch, struct pump_item *item,
                                            json_t *value)
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
    text_drop_invalid(text); /* a quoted label may end in the middle of a UTF-8 character */
    batch->failed++;
    return query_batch_answer(batch, item, json_pack("{s:s}", "error", text));
}

/* The query of one line. All pointers but those in `asked` are borrowed. */
struct question {
    const struct batch *batch;
    const struct hearsay_host *host;
    struct hearsay_query query;
    struct hearsay_left_out left_out; /* of the line's scan */
    struct asked asked;               /* asked_free */
};

/*
 * Makes the filters of the query. `contains` holds the labels of "contains" in the line; NULL means
 * the labels of --contains.
 */
static int make_parts(struct question *question, const struct hearsay_context *context,
                      const struct args_list *contains, struct jsonline_error *out_wrong)
{
    const struct batch *batch = question->batch;
    const struct args_list *given = contains != NULL ? contains : &batch->options->contains;
    struct hearsay_error error;
    bool about_contains = false;
    struct asked_from from = {
        .host = question->host,
        .group = batch->options->shared,
        .epochs = &batch->epochs.epochs,
        .contains = given->items,
        .contains_count = given->count,
    };
    from.labels = hearsay_context_labels(context, &from.label_count);
    if (asked_make(&question->asked, batch->cli->connection, &from, &question->query,
                   &about_contains, &error) != HEARSAY_OK) {
        return jsonline_wrong(out_wrong, "%s%s",
                              about_contains && contains == NULL ? "--contains: " : "",
                              error.sentence);
    }
    return 0;
}

/* Reads the context and "contains" of a line, and makes the filters of the query from them. */
static int read_parts(struct question *question, const json_t *object,
                      struct jsonline_error *out_wrong)
{
    struct hearsay_context *context = NULL;
    struct args_list contains = {.items = NULL};
    bool has_contains = jsonline_present(object, "contains") != NULL;
    int status = sensed_parse(object, &context, out_wrong);
    if (status == 0 && context == NULL) {
        status =
            jsonline_wrong(out_wrong, "the context is missing, such as \"labels\", an array of "
                                      "strings");
    }
    if (status == 0) {
        hearsay_context_left_out(context, &question->left_out);
    }
    if (status == 0 && has_contains) {
        status = jsonline_labels(object, "contains", &contains.items, &contains.count, out_wrong);
    }
    if (status == 0) {
        status = make_parts(question, context, has_contains ? &contains : NULL, out_wrong);
    }
    free(contains.items);
    hearsay_context_free(context);
    return status;
}

static int read_question(struct question *question, const json_t *object,
                         struct jsonline_error *out_wrong)
{
    struct hearsay_query *query = &question->query;
    query_prepare(question->batch->options, question->batch->cli->connection, question->host,
                  query);
    int status = read_parts(question, object, out_wrong);
    uint64_t k = query->k;
    if (status == 0) {
        status = jsonline_number(object, "k", 1, UINT32_MAX, &k, out_wrong);
    }
    if (status == 0) {
        query->k = (uint32_t)k;
        status = jsonline_distance(object, "max_distance", &query->max_distance_ppm, out_wrong);
    }
    return status;
}

static enum pump_verdict submit_question(struct batch *batch, struct pump_item *item,
                                         const struct question *question)
{
    struct hearsay_error error;
    switch (hearsay_submit_query(batch->cli->connection, &question->query, &item->ticket, &error)) {
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

static enum pump_verdict batch_submit(struct pump_work *work, struct pump_item *item)
{
    static const char *const keys[] = {SENSED_KEYS, "k", "contains", "max_distance", NULL};
    struct batch *batch = batch_of(work);
    if (item->line == NULL) {
        return answer_error(batch, item, "the line is too long");
    }
    if (strspn(item->line, " \t") == item->length) {
        return answer_error(batch, item, "it is empty: each line is a JSON object");
    }
    const struct hearsay_host *host =
        hearsay_find_host(batch->cli->connection, batch->options->host);
    if (host == NULL) {
        char sentence[400];
        (void)snprintf(sentence, sizeof(sentence), "the server has no host \"%.300s\" any more",
                       batch->options->host);
        return answer_error(batch, item, sentence);
    }
    int code =
        epoch_follow(batch->cli, host, (enum epoch_choice)batch->options->epoch, &batch->epochs);
    if (code != CLI_DONE) {
        batch->work.stop_code = code;
        return PUMP_STOP;
    }
    json_t *object = NULL;
    struct jsonline_error wrong;
    struct question question = {.batch = batch, .host = host};
    int status = jsonline_parse(item->line, item->length, keys, &object, &wrong);
    if (status == 0) {
        status = read_question(&question, object, &wrong);
    }
    json_decref(object);
    enum pump_verdict verdict = status == 0 ? submit_question(batch, item, &question)
                                : status == JSONLINE_WRONG
                                    ? answer_error(batch, item, wrong.sentence)
                                    : stop_nomem(batch);
    if (verdict == PUMP_IS_SENT) { /* not one that comes again because too many are in flight */
        sensed_count_left_out(&question.left_out, &batch->left_out);
    }
    asked_free(&question.asked);
    return verdict;
}

/*
 * Appends a result to the array. With --group, decrypts the result first, and appends nothing if
 * the group's secret cannot decrypt the result. If memory runs out, frees the array and sets *array
 * to NULL.
 */
static void append_result(const struct batch *batch, json_t **array,
                          const struct hearsay_result *found)
{
    struct hearsay_error error;
    struct hearsay_result result = *found;
    struct hearsay_content content = {.payload = NULL};
    int status = HEARSAY_OK;
    if (batch->options->shared != NULL) {
        status = secret_open(batch->options->shared, &result, &content, &error);
    }
    if (status == HEARSAY_NOT_OURS) {
        return;
    }
    out_json_append(array, status == HEARSAY_OK ? out_json_result(&result, false) : NULL);
    hearsay_content_free(&content);
}

static enum pump_verdict batch_reply(struct pump_work *work, struct pump_item *item,
                                     const struct hearsay_reply *reply)
{
    struct batch *batch = batch_of(work);
    if (reply->response.kind != HEARSAY_RESPONSE_RESULTS) {
        char sentence[700];
        (void)snprintf(sentence, sizeof(sentence), "%s: %s", hearsay_code_name(reply->error.code),
                       reply->error.sentence);
        return answer_error(batch, item, sentence);
    }
    const struct hearsay_results *results = &reply->response.results;
    json_t *array = json_array();
    for (size_t i = 0; i < results->result_count; i++) {
        append_result(batch, &array, &results->results[i]);
    }
    return query_batch_answer(batch, item, out_json_results(results, array));
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

int query_batch(struct cli *cli, const struct query_options *options)
{
    struct batch batch = {
        .work = {.submit = batch_submit, .reply = batch_reply, .given = batch_given},
        .cli = cli,
        .options = options,
    };
    const struct hearsay_host *host = NULL;
    int code = cli_find_host(cli, cli->connection, options->host, &host);
    if (code == CLI_DONE) {
        code = epoch_follow(cli, host, (enum epoch_choice)options->epoch, &batch.epochs);
    }
    int fd = code == CLI_DONE ? cli_open(cli, options->batch) : -1;
    if (fd < 0) {
        return CLI_USAGE;
    }
    struct lines lines;
    struct pump pump;
    lines_init(&lines, fd);
    code = pump_init(&pump, cli, &batch.work, &lines);
    if (code == CLI_DONE) {
        code = pump_run(&pump);
    }
    sensed_say_left_out(cli, &batch.left_out);
    pump_deinit(&pump);
    lines_deinit(&lines);
    cli_close(fd);
    return code == CLI_DONE && batch.failed > 0 ? CLI_NEGATIVE : code;
}
