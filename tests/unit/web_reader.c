/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/web_reader.h"

#include <ctype.h>

#include "tests/lib/check.h"

enum { VALUE_BYTES = 8192 };

static void reader_refuse(const struct web_reader *reader, const char *why)
{
    print_error("%s: %s at: %.80s\n", reader->page, why, reader->at);
    fail();
}

static bool names_have(const struct web_reader_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->values[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void names_add(struct web_reader_names *names, const char *name)
{
    assert_true(names->count < WEB_READER_IDS && strlen(name) < WEB_READER_NAME_BYTES);
    (void)snprintf(names->values[names->count++], WEB_READER_NAME_BYTES, "%s", name);
}

/* Reads one of the writer's five escapes, or a plain byte. */
static char reader_take(struct web_reader *reader)
{
    static const struct {
        const char *escape;
        char byte;
    } escapes[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&#34;", '"'}, {"&#39;", '\''}};

    if (*reader->at != '&') {
        return *reader->at++;
    }
    for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
        if (strncmp(reader->at, escapes[i].escape, strlen(escapes[i].escape)) == 0) {
            reader->at += strlen(escapes[i].escape);
            return escapes[i].byte;
        }
    }
    reader_refuse(reader, "an unknown escape");
    return '\0';
}

static void reader_add_text(struct web_reader *reader, char byte)
{
    assert_true(reader->text_bytes + 1 < sizeof(reader->text));
    if (reader->unread == 0) {
        reader->text[reader->text_bytes++] = byte;
        reader->text[reader->text_bytes] = '\0';
    }
}

static void reader_name(struct web_reader *reader, char *out_name)
{
    size_t count = 0;

    while (islower((unsigned char)*reader->at) || isdigit((unsigned char)*reader->at) ||
           *reader->at == '-' || *reader->at == 'B' /* viewBox */) {
        assert_true(count + 1 < WEB_READER_NAME_BYTES);
        out_name[count++] = *reader->at++;
    }
    out_name[count] = '\0';
    if (count == 0) {
        reader_refuse(reader, "a name is missing");
    }
}

static void reader_value(struct web_reader *reader, char *out_value)
{
    size_t count = 0;

    out_value[0] = '\0';
    if (*reader->at != '=') {
        return;
    }
    if (*++reader->at != '"') {
        reader_refuse(reader, "a value without quotes");
    }
    reader->at++;
    while (*reader->at != '"') {
        if (strchr("<>\n", *reader->at) != NULL) { /* NUL, too */
            reader_refuse(reader, "a value does not end");
        }
        assert_true(count + 1 < VALUE_BYTES);
        out_value[count++] = reader_take(reader);
    }
    out_value[count] = '\0';
    reader->at++;
}

/* What is known of an element when its attributes were read. */
struct element {
    char name[WEB_READER_NAME_BYTES];
    char id[WEB_READER_NAME_BYTES];
    char type[WEB_READER_NAME_BYTES];
    bool is_value_of_others; /* its text is a name in its own language, an address or a code */
    bool has_integrity;
};

static void reader_ids(struct web_reader *reader, const char *value)
{
    char copy[VALUE_BYTES];
    char *rest = copy;
    char *id;

    (void)snprintf(copy, sizeof(copy), "%s", value);
    while ((id = strtok_r(rest, " ", &rest)) != NULL) {
        names_add(&reader->labelled, id);
    }
}

static void reader_link(struct web_reader *reader, const char *name, const char *value)
{
    if (value[0] == '#' && strcmp(name, "href") == 0) {
        reader_ids(reader, value + 1);
    } else if (strncmp(value, "http://", 7) != 0 && value[0] != '/') {
        reader_refuse(reader, "a link that leads elsewhere");
    }
}

static void reader_attribute(struct web_reader *reader, struct element *element, const char *name,
                             const char *value)
{
    static const char *const texts[] = {"aria-label", "alt", "title", "placeholder", "data-new"};

    if (strcmp(name, "style") == 0 || strncmp(name, "on", 2) == 0) {
        reader_refuse(reader, "inline style or script");
    }
    if (strcmp(name, "id") == 0) {
        if (names_have(&reader->ids, value)) {
            reader_refuse(reader, "an id stands twice");
        }
        names_add(&reader->ids, value);
        (void)snprintf(element->id, sizeof(element->id), "%.*s", (int)sizeof(element->id) - 1,
                       value);
    } else if (strcmp(name, "type") == 0) {
        (void)snprintf(element->type, sizeof(element->type), "%.*s", (int)sizeof(element->type) - 1,
                       value);
    } else if (strcmp(name, "for") == 0 || strcmp(name, "aria-describedby") == 0) {
        reader_ids(reader, value);
    } else if (strcmp(name, "href") == 0 || strcmp(name, "src") == 0 ||
               strcmp(name, "action") == 0) {
        reader_link(reader, name, value);
    } else if ((strcmp(name, "lang") == 0 && strcmp(element->name, "html") != 0) ||
               strcmp(value, "code") == 0 || strcmp(value, "link code") == 0) {
        element->is_value_of_others = true;
    } else if (strcmp(name, "integrity") == 0) {
        element->has_integrity = strncmp(value, "sha384-", 7) == 0 && strlen(value) == 71;
    } else if (strcmp(name, "value") == 0 && reader->typed != NULL &&
               strcmp(value, reader->typed) == 0) {
        reader->has_typed = true;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (size_t j = 0; strcmp(name, texts[i]) == 0 && value[j] != '\0'; j++) {
            reader_add_text(reader, value[j]);
        }
    }
}

static bool is_void(const char *name)
{
    static const char *const voids[] = {"meta", "link", "input", "wbr"};

    for (size_t i = 0; i < sizeof(voids) / sizeof(voids[0]); i++) {
        if (strcmp(name, voids[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What an element must have, once its attributes are read. */
static void reader_element(struct web_reader *reader, const struct element *element)
{
    bool is_field = strcmp(element->name, "textarea") == 0 ||
                    strcmp(element->name, "select") == 0 ||
                    (strcmp(element->name, "input") == 0 && strcmp(element->type, "hidden") != 0);

    if (is_field) {
        bool is_in_label =
            reader->depth > 0 && strcmp(reader->open[reader->depth - 1], "label") == 0;

        if (element->id[0] == '\0' && !is_in_label) {
            reader_refuse(reader, "a field without an id");
        }
        if (!is_in_label) {
            names_add(&reader->fields, element->id);
        }
    }
    if (strcmp(element->name, "script") == 0 && !element->has_integrity) {
        reader_refuse(reader, "a script without its hash");
    }
    if (strcmp(element->name, "style") == 0) {
        reader_refuse(reader, "an inline style sheet");
    }
    reader->headings += strcmp(element->name, "h1") == 0;
}

static void reader_open(struct web_reader *reader)
{
    struct element element = {.id = ""};
    bool is_closed = false;

    reader_name(reader, element.name);
    while (*reader->at == ' ') {
        char name[WEB_READER_NAME_BYTES];
        char value[VALUE_BYTES];

        reader->at++;
        reader_name(reader, name);
        reader_value(reader, value);
        reader_attribute(reader, &element, name, value);
    }
    if (*reader->at == '/') { /* of the code's SVG */
        is_closed = true;
        reader->at++;
    }
    if (*reader->at++ != '>') {
        reader_refuse(reader, "an element does not end");
    }
    reader_element(reader, &element);
    if (is_void(element.name) || is_closed) {
        return;
    }
    assert_true(reader->depth < WEB_READER_DEPTH);
    (void)snprintf(reader->open[reader->depth++], WEB_READER_NAME_BYTES, "%s", element.name);
    if (element.is_value_of_others && reader->unread == 0) {
        reader->unread = (unsigned)reader->depth;
    }
}

static void reader_close(struct web_reader *reader)
{
    char name[WEB_READER_NAME_BYTES];

    reader_name(reader, name);
    if (reader->depth == 0 || strcmp(reader->open[reader->depth - 1], name) != 0) {
        reader_refuse(reader, "elements do not close in order");
    }
    if (reader->unread == reader->depth) {
        reader->unread = 0;
    }
    reader->depth--;
    if (*reader->at++ != '>') {
        reader_refuse(reader, "an element does not end");
    }
}

/* Reads the inside of a <textarea>: only text, behind one line feed. */
static void reader_textarea(struct web_reader *reader)
{
    char value[VALUE_BYTES];
    size_t count = 0;

    reader->at += *reader->at == '\n';
    while (*reader->at != '<' && *reader->at != '\0') {
        assert_true(count + 1 < sizeof(value));
        value[count++] = reader_take(reader);
    }
    value[count] = '\0';
    if (reader->typed != NULL && strcmp(value, reader->typed) == 0) {
        reader->has_typed = true;
    }
}

static void reader_run(struct web_reader *reader)
{
    static const char doctype[] = "<!DOCTYPE html>\n";

    assert_int_equal(strncmp(reader->at, doctype, strlen(doctype)), 0);
    reader->at += strlen(doctype);
    while (*reader->at != '\0') {
        if (strncmp(reader->at, "</", 2) == 0) {
            reader->at += 2;
            reader_close(reader);
        } else if (*reader->at == '<') {
            reader->at++;
            reader_open(reader);
            if (reader->depth > 0 && strcmp(reader->open[reader->depth - 1], "textarea") == 0) {
                reader_textarea(reader);
            }
        } else if (*reader->at == '>') {
            reader_refuse(reader, "a stray >");
        } else {
            reader_add_text(reader, reader_take(reader));
        }
    }
    if (reader->depth != 0) {
        reader_refuse(reader, "an element stays open");
    }
    for (size_t i = 0; i < reader->labelled.count; i++) {
        if (!names_have(&reader->ids, reader->labelled.values[i])) {
            print_error("%s: no id %s\n", reader->page, reader->labelled.values[i]);
            fail();
        }
    }
    for (size_t i = 0; i < reader->fields.count; i++) {
        if (!names_have(&reader->labelled, reader->fields.values[i])) {
            print_error("%s: no label for %s\n", reader->page, reader->fields.values[i]);
            fail();
        }
    }
    assert_int_equal(reader->headings, 1);
}

struct web_reader *web_reader_read(const struct web_pages_sample *sample,
                                   const struct web_pages_values *values, const struct lang *lang)
{
    struct web_reader *reader = calloc(1, sizeof(*reader));
    struct view view;
    struct page page = web_pages_page(values, lang, &view);
    struct html html;

    assert_non_null(reader);
    html_init(&html);
    sample->write(&html, &page, values);
    html_raw(&html, "");
    assert_false(html_failed(&html));
    html.bytes = realloc(html.bytes, html.count + 1);
    html.bytes[html.count] = '\0';
    assert_int_equal(strlen(html.bytes), html.count);
    reader->page = sample->name;
    reader->at = html.bytes;
    reader->typed = values->typed;
    reader_run(reader);
    reader->at = NULL;
    html_deinit(&html);
    return reader;
}
