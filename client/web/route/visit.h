/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit: one request on its way to its answer. A visit is made when a request has come, and freed
 * by the function that answers.
 */
#pragma once

#include "client/web/form.h"
#include "client/web/lang.h"
#include "client/web/page.h"
#include "client/web/route/router.h"
#include "client/web/route/secret.h"
#include "client/web/view.h"

enum { VISIT_NUMBER_BYTES = 24 };

/* What a list is written as. */
enum visit_format { VISIT_HTML, VISIT_TEXT, VISIT_JSON, VISIT_FEED, VISIT_FORMATS };

struct visit {
    struct router *router;              /* borrowed */
    struct http_exchange *exchange;     /* borrowed */
    const struct http_request *request; /* borrowed */
    const struct lang *lang;
    enum visit_format format; /* other than VISIT_HTML: of programs, also where it fails */
    struct view view;         /* the default one until it has been read */
    char *body;               /* owned: what `form` points into; NULL: no form was sent */
    struct form form;
    /* What the form to leave a message had; kept over an error. */
    char *text; /* in `body`; NULL: none */
    size_t text_bytes;
    const char *topics; /* in `body`; NULL: none */
    uint32_t ttl_s;
    bool is_stale;               /* the token of the form is not right */
    char seed[SECRET_HEX_BYTES]; /* "": not drawn yet */
    /* Of an answer: id (message.parent, too) and epoch of its message; "": it is none. */
    char re[SECRET_HEX_BYTES];
    char epoch[VISIT_NUMBER_BYTES];
    /* One message, without texts, and its page up to its answers, which are awaited. */
    struct board_message message;
    struct html html; /* owned */
    struct secret secret;
    /* What only this phone's pages have (html_hole), beside the seed. */
    char token[NONCE_TEXT_BYTES];
    char key[NONCE_TEXT_BYTES];
    /* Buffers of struct page. */
    char store[LIVE_STORE_BYTES];
    char here[LIVE_STORE_BYTES]; /* "": visit_take_place was not called */
};

/* Makes a visit. NULL: no memory. */
struct visit *visit_new(struct router *router, struct http_exchange *exchange,
                        const struct http_request *request);
void visit_free(struct visit *visit); /* NULL is fine; answers nothing */

/* Sets the language: of the tag, else of the configuration, else what the browser asks for. */
void visit_choose_language(struct visit *visit, const char *tag);

/* The field of the form that was sent; NULL: none. */
const char *visit_field(const struct visit *visit, const char *name);

/* The host that a visit is about: of the URL, else of the configuration; "": the first. */
const char *visit_host(const struct visit *visit);

/* Writes the name of that host into the view. */
void visit_name_host(struct visit *visit);

/* What hearsayd says about that host; NULL: not known, or there is none. */
const struct hearsay_host *visit_find_host(const struct visit *visit);

/*
 * Checks the hosts of the view. False: there is no such host, or `at` is not in the hood of `host`.
 * Without a hood, "around here" is "here".
 */
bool visit_check_host(struct visit *visit);

/* Whether `at` names no host of hearsayd, but may be one of another server in the hood of `host`.
 */
bool visit_is_elsewhere(const struct visit *visit);

/* The host of one message: `at` of the view, else its `host`. */
const char *visit_host_at(const struct visit *visit);

/* Takes the labels of the reader's place, which may be none, and its name into the view. Does
 * nothing where they are not known. */
void visit_take_place(struct visit *visit, const struct board_reply *reply);

/* Fill what every page has, and the form. The structs borrow from the visit. */
void visit_page(struct visit *visit, struct page *out_page);
void visit_form(struct visit *visit, struct page_form *out_form);

/* How many bytes hearsayd takes of a text, if a text that the page lets through may have more; else
 * 0, also if this is not known. */
uint32_t visit_bytes_max(const struct visit *visit);

/* These answer and free the visit. */
void visit_answer(struct visit *visit, const struct http_answer *answer);
void visit_answer_text(struct visit *visit, unsigned status, const char *text);
void visit_answer_page(struct visit *visit, unsigned status, uint64_t retry_after_s,
                       struct html *html); /* frees what html has */

/* Answers with a copy of a page; NULL: no memory. `head` has no body, and for HTML no type. */
void visit_answer_sheet(struct visit *visit, const struct http_answer *head,
                        const struct html *sheet);
void visit_redirect_to_list(struct visit *visit);

/*
 * Answers with a page that has nothing of this phone and no time, and is written once until the
 * configuration is read again. `write` gets a struct visit_fixed. `name` tells fixed pages apart,
 * and `error` is what the page says besides the view; NULL: nothing. `head` is as for
 * visit_answer_sheet.
 */
struct visit_fixed {
    const struct visit *visit;
    const struct page *page; /* without hearsayd's clock */
    const struct page_error *error;
};
void visit_answer_fixed(struct visit *visit, const char *name, const struct http_answer *head,
                        const struct page_error *error,
                        void (*write)(void *context, struct html *html));

/* Answers with a page about an error; with the form to send again, where a text was sent. */
void visit_fail(struct visit *visit, unsigned status, const struct page_error *error);

/* How long the phone should wait after an error, in seconds; 0: not said. */
uint64_t visit_retry_s(unsigned status, const struct page_error *error);

/* The same for what board says. Not for BOARD_DONE. */
void visit_fail_reply(struct visit *visit, const struct board_reply *reply);

/* What to show for an outcome of board, and its status. Not for BOARD_DONE. */
struct visit_failure {
    unsigned status;
    struct page_error error;
};
struct visit_failure visit_failure_of(const struct visit *visit, const struct board_reply *reply);

/* --- writing.c -------------------------------------------------------------------------------- */

/* The forms. Each function answers the visit, now or later; its form has been read. */

/*
 * Reads the body of a form, and checks where it comes from: Content-Type, Origin, and the token f.
 * False: something is wrong, and the visit was answered; with the text kept. A form to leave a
 * message may be accepted with visit->is_stale: writing_leave refuses it when it knows why.
 */
bool writing_accept(struct visit *visit);

void writing_leave(struct visit *visit);    /* POST /leave */
void writing_withdraw(struct visit *visit); /* POST /withdraw */
void writing_report(struct visit *visit);   /* POST /report */
void writing_stay(struct visit *visit);     /* POST /stay */
