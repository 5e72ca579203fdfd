/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/web/form.h"
#include "client/web/html.h"

enum {
    TOPIC_CHARACTERS_MAX = 60,
    TOPICS_URL_BYTES = 800, /* of all topics, percent-encoded: the rest of a URL fits beside them */
    TOPIC_PREFIX_BYTES = 6  /* of "topic:" */
};

/* --- topics ----------------------------------------------------------------------------------- */

/* How long a text is in a URL. */
static size_t url_bytes(const char *text)
{
    size_t bytes = 0;

    for (; *text != '\0'; text++) {
        char encoded[3];

        bytes += html_url_byte(*text, encoded);
    }
    return bytes;
}

/* The length of what comes before the next comma, of Latin or of Arabic script (U+060C). */
static size_t topic_span(const char *text, size_t *out_comma)
{
    size_t latin = strcspn(text, ",");
    const char *arabic = strstr(text, "\xD8\x8C");

    if (arabic != NULL && (size_t)(arabic - text) < latin) {
        *out_comma = 2;
        return (size_t)(arabic - text);
    }
    *out_comma = text[latin] == ',' ? 1 : 0;
    return latin;
}

static bool is_blank(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != ' ' && !(text[i] >= '\t' && text[i] <= '\r')) {
            return false;
        }
    }
    return true;
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7F) {
            return true;
        }
    }
    return false;
}

/* Adds the topics of a text, which commas separate. Empty topics are passed over. */
static int topics_add(struct hearsay_context *context, const char *text)
{
    struct hearsay_error error;
    char topic[VIEW_TOPIC_BYTES + 1];

    while (*text != '\0') {
        size_t comma;
        size_t bytes = topic_span(text, &comma);

        if (!is_blank(text, bytes)) {
            if (bytes > VIEW_TOPIC_BYTES) {
                return HEARSAY_ERR_ARGUMENT;
            }
            memcpy(topic, text, bytes);
            topic[bytes] = '\0';
            int rc = hearsay_context_add_topic(context, topic, &error);
            if (rc != HEARSAY_OK) {
                return rc;
            }
        }
        text += bytes + comma;
    }
    return HEARSAY_OK;
}

static void topics_sort(struct view *view)
{
    for (size_t i = 1; i < view->topic_count; i++) {
        for (size_t j = i; j > 0 && strcmp(view->topics[j - 1], view->topics[j]) > 0; j--) {
            char swap[VIEW_TOPIC_BYTES + 1];

            memcpy(swap, view->topics[j], sizeof(swap));
            memcpy(view->topics[j], view->topics[j - 1], sizeof(swap));
            memcpy(view->topics[j - 1], swap, sizeof(swap));
        }
    }
}

/* Takes the labels, each "topic:" and a topic, into the view. */
static int topics_take(const struct hearsay_context *context, struct view *view)
{
    size_t count;
    size_t encoded = 0;
    const char *const *labels = hearsay_context_labels(context, &count);

    if (count > VIEW_TOPICS_MAX) {
        return HEARSAY_ERR_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) {
        const char *topic = labels[i] + TOPIC_PREFIX_BYTES;
        size_t bytes = strlen(topic);

        encoded += url_bytes(topic);
        if (bytes > VIEW_TOPIC_BYTES || form_count_characters(topic) > TOPIC_CHARACTERS_MAX ||
            encoded > TOPICS_URL_BYTES || has_control(topic)) {
            return HEARSAY_ERR_ARGUMENT;
        }
        memcpy(view->topics[i], topic, bytes + 1);
    }
    view->topic_count = count;
    topics_sort(view);
    return HEARSAY_OK;
}

/* Reads all fields `t`. HEARSAY_OK, HEARSAY_ERR_ARGUMENT or HEARSAY_ERR_NOMEM. */
static int topics_read(const struct form *form, struct view *view)
{
    struct hearsay_context *context;
    struct hearsay_error error;
    int rc = hearsay_context_new(&context, &error);

    if (rc != HEARSAY_OK) {
        return rc;
    }
    for (const struct form_field *field = form_find(form, "t"); field != NULL && rc == HEARSAY_OK;
         field = form_next(form, field)) {
        rc = topics_add(context, field->value);
    }
    if (rc == HEARSAY_OK) {
        rc = topics_take(context, view);
    }
    hearsay_context_free(context);
    return rc;
}

/* --- the other fields ------------------------------------------------------------------------- */

static bool order_read(const char *text, struct view *view)
{
    view->order = strcmp(text, "near") == 0 ? VIEW_NEAREST : VIEW_NEWEST;
    return view->order == VIEW_NEAREST || strcmp(text, "new") == 0 || *text == '\0';
}

static bool now_read(const char *text, struct view *view)
{
    view->is_now = strcmp(text, "1") == 0;
    return view->is_now || strcmp(text, "0") == 0 || *text == '\0';
}

static bool hood_read(const char *text, struct view *view)
{
    view->is_hood = strcmp(text, "1") == 0;
    return view->is_hood || strcmp(text, "0") == 0 || *text == '\0';
}

/* A moment in Unix milliseconds, from 1 to INT64_MAX; "" for none. */
static bool before_read(const char *text, struct view *view)
{
    uint64_t value = 0;

    if (*text == '\0') {
        return true;
    }
    if (!form_read_number(text, INT64_MAX, &value) || value == 0) {
        return false;
    }
    view->before_ms = (int64_t)value;
    return true;
}

/* Copies a text of allowed bytes that fits. */
static bool copy_allowed(const char *text, const char *allowed, char *out, size_t size)
{
    size_t bytes = strlen(text);

    if (bytes >= size || strspn(text, allowed) != bytes) {
        return false;
    }
    memcpy(out, text, bytes + 1);
    return true;
}

/* A language tag such as de or pt-BR. */
static const char tag_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

static bool language_read(const char *text, struct view *view)
{
    return copy_allowed(text, tag_bytes, view->language, sizeof(view->language));
}

static bool second_read(const char *text, struct view *view)
{
    return copy_allowed(text, tag_bytes, view->second, sizeof(view->second));
}

/* A name of letters a-z, digits and hyphens. */
static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

static bool host_read(const char *text, struct view *view)
{
    return copy_allowed(text, name_bytes, view->host, sizeof(view->host));
}

static bool at_read(const char *text, struct view *view)
{
    view->is_hood = view->is_hood || *text != '\0';
    return copy_allowed(text, name_bytes, view->at, sizeof(view->at));
}

/* The fields but `t`: the first of each name counts. */
static const struct {
    const char *name;
    bool (*read)(const char *text, struct view *view);
} fields[] = {
    {"o", order_read}, {"now", now_read}, {"before", before_read}, {"l", language_read},
    {"h", host_read},  {"a", hood_read},  {"at", at_read},         {"and", second_read},
};

bool view_read_form(const struct form *form, struct view *out_view, const char **out_field)
{
    struct view view = {.before_ms = INT64_MAX};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct form_field *field = form_find(form, fields[i].name);

        if (field != NULL && !fields[i].read(field->value, &view)) {
            *out_field = fields[i].name;
            return false;
        }
    }
    int rc = topics_read(form, &view);
    if (rc != HEARSAY_OK) {
        *out_field = rc == HEARSAY_ERR_NOMEM ? NULL : "t";
        return false;
    }
    if (view.order == VIEW_NEAREST) {
        view.before_ms = INT64_MAX; /* pages go by time, and this order has one */
    }
    *out_view = view;
    return true;
}

bool view_read(const char *query, struct view *out_view, const char **out_field)
{
    char text[VIEW_URL_BYTES + 1];
    struct form form;
    size_t bytes = strlen(query);

    if (bytes >= sizeof(text)) {
        *out_field = "url";
        return false;
    }
    memcpy(text, query, bytes + 1);
    if (!form_read(text, bytes, &form)) {
        *out_field = "url";
        return false;
    }
    return view_read_form(&form, out_view, out_field);
}

/* --- writing ---------------------------------------------------------------------------------- */

struct url {
    char *text; /* VIEW_URL_BYTES */
    size_t bytes;
    char separator; /* '?' before the first field, then '&' */
};

static void url_put(struct url *url, char c)
{
    if (url->bytes + 1 < VIEW_URL_BYTES) { /* always: view_read bounds what a view can hold */
        url->text[url->bytes++] = c;
    }
}

static void url_put_field(struct url *url, const char *name, const char *value)
{
    url_put(url, url->separator);
    url->separator = '&';
    for (; *name != '\0'; name++) {
        url_put(url, *name);
    }
    url_put(url, '=');
    for (; *value != '\0'; value++) {
        char encoded[3];
        size_t count = html_url_byte(*value, encoded);

        for (size_t i = 0; i < count; i++) {
            url_put(url, encoded[i]);
        }
    }
}

void view_write(const struct view *view, char *out_url)
{
    struct url url = {.text = out_url, .separator = '?'};
    char number[24];

    url_put(&url, '/');
    if (view->host[0] != '\0') {
        url_put_field(&url, "h", view->host);
    }
    for (size_t i = 0; i < view->topic_count; i++) {
        url_put_field(&url, "t", view->topics[i]);
    }
    if (view->is_now) {
        url_put_field(&url, "now", "1");
    }
    if (view->is_hood) {
        url_put_field(&url, "a", "1");
    }
    if (view->order == VIEW_NEAREST) {
        url_put_field(&url, "o", "near");
    }
    if (view->before_ms != INT64_MAX) {
        (void)snprintf(number, sizeof(number), "%" PRId64, view->before_ms);
        url_put_field(&url, "before", number);
    }
    if (view->language[0] != '\0') {
        url_put_field(&url, "l", view->language);
    }
    if (view->store[0] != '\0') {
        url_put_field(&url, "p", view->store);
    }
    out_url[url.bytes] = '\0';
}

size_t view_find_topic(const struct view *view, const char *topic)
{
    size_t i = 0;

    while (i < view->topic_count && strcmp(view->topics[i], topic) != 0) {
        i++;
    }
    return i;
}

bool view_is_at(const struct view *view, const char *place_name)
{
    return place_name == NULL || strcmp(view->place_name, place_name) == 0;
}

bool view_same_labels(const struct view *a, const struct view *b)
{
    bool same = a->topic_count == b->topic_count && a->is_now == b->is_now &&
                strcmp(a->host, b->host) == 0 && strcmp(a->place, b->place) == 0;

    for (size_t i = 0; same && i < a->topic_count; i++) {
        same = strcmp(a->topics[i], b->topics[i]) == 0;
    }
    return same;
}

bool view_equal(const struct view *a, const struct view *b)
{
    return view_same_labels(a, b) && a->order == b->order && a->is_hood == b->is_hood &&
           a->before_ms == b->before_ms;
}
