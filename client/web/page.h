/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: the pages, from plain structs to HTML. No page asks for anything: what a page shows is in
 * its struct, which is borrowed for the call. Each function writes a whole document, or for a head
 * request the same; html_failed tells when memory was out.
 *
 * The fields that the forms send, beside `h` and `l` of the view where it has them:
 * - POST /leave: text, t (topics with commas between), now (1), ttl (seconds), id, f, place, here,
 *   re and e (of an answer: the id and the epoch of its message), to (a language: nothing is left,
 *   and the form comes back in it)
 * - POST /withdraw: id, code, f, place
 * - POST /report: id, why (illegal, about-me, harassment, spam, other), text, f, place
 * - POST /stay: f
 * - GET /: t (once for each topic; may be empty), o, now
 *
 * `place` is page.store and `here` is page.here: by them the page at another access point knows
 * that a phone has moved.
 */
#pragma once

#include "client/web/board.h"
#include "client/web/lang.h"

enum {
    PAGE_TEXT_CHARACTERS = 500,
    PAGE_TEXT_BYTES = 4 * PAGE_TEXT_CHARACTERS, /* as many as that in UTF-8, at most */
    PAGE_MESSAGE_CHARACTERS = 16384,            /* of a message's own page: more is not shown */
    PAGE_MESSAGE_LINES = 1000,
    PAGE_ID_TEXT_BYTES = 33,
};

/* What every page has. */
struct page {
    const struct lang *lang;
    const char *title;         /* of the place, from the configuration */
    const char *subtitle;      /* what the page is, in the operator's words; NULL: in ours */
    const char *name;          /* the address of the page, such as hearsay.lan */
    const char *store;         /* digits of live_write_store without a place; "": not known */
    const char *here;          /* the same with the reader's place; "": not known */
    const char *statics;       /* the folder of style and script, such as /s/0123456789abcdef/ */
    const char *operator_name; /* NULL: not said */
    const char *contact;       /* NULL: not said */
    const struct view *view;   /* for links and the form; a default view where a page has none */
    /* offered; those of a message are among them */
    const struct topics *topics;
    int64_t now_ms; /* hearsayd's clock */
    bool is_clock_trusted;
    uint32_t ttl_max_s; /* the longest lifetime of a message here; 0: not known */
    bool has_hood;      /* the choice "here | around here" stands above a list */
    bool asks_to_stay;  /* the form "Stay connected" stands above a list */
    bool may_stay;      /* there is such a form: /about says what it stores */
    /* what the operator says above a list: notice_count of them */
    const struct hearsay_house_notice *notices;
    size_t notice_count;
    uint64_t notices_version; /* as in struct hearsay_host */
};

/* The form to leave a message. */
struct page_form {
    const char *text;          /* what was typed; kept over an error. NULL: nothing */
    const char *topics;        /* the same */
    const struct view *ticked; /* has the topics that are ticked; NULL: those that are read */
    uint32_t bytes_max; /* of a text in UTF-8, as hearsayd limits it; 0: PAGE_TEXT_BYTES or more */
    uint32_t ttl_s;     /* chosen; 0: the default */
    uint32_t ttl_default_s;
    uint32_t ttl_max_s;
    bool is_found_around;           /* what is left here is found from other hosts of the hood */
    enum hearsay_acceptance accept; /* open, review, closed */
    int64_t accept_until_ms;        /* when that changes; 0: not known */
    /* of an answer: id and epoch of its message, as texts; NULL: it is none */
    const char *re;
    const char *epoch;
};

enum page_notice {
    PAGE_NO_NOTICE,
    PAGE_FIELD,     /* 400: `field` is wrong */
    PAGE_EXPIRED,   /* 403: the form was open too long; send again */
    PAGE_MOVED,     /* the phone has moved to another access point; send again? */
    PAGE_GONE,      /* 404: what was there may have gone */
    PAGE_ADDRESS,   /* 404: nothing ever has such an address */
    PAGE_ELSEWHERE, /* 404: at `host`, which another server has */
    PAGE_REMOVED,   /* 410: by the operator */
    PAGE_TOO_LONG,  /* 413: a text has `excess` characters or bytes too many */
    PAGE_NAME,      /* 421: another name was asked for */
    PAGE_LIMITED,   /* 429: wait `seconds` */
    PAGE_AWAY,      /* 503: hearsayd is away */
    PAGE_FULL,      /* 507: the board is full until `until_ms` */
    PAGE_ANSWERS,   /* 507: the message takes no more answers, of this sender or of all */
    PAGE_CLOSED,    /* closed until `until_ms` */
    PAGE_REFUSED,   /* any other error, with the sentence of hearsayd */
    PAGE_WRONG_CODE
};

struct page_error {
    enum page_notice notice;
    const char *field;    /* of PAGE_FIELD */
    const char *sentence; /* of PAGE_REFUSED */
    const char *host;     /* of PAGE_ELSEWHERE */
    const char *kept;     /* typed words or a code, to copy, where no form has them; NULL: none */
    uint64_t seconds;
    int64_t until_ms; /* 0: not known */
    uint64_t excess;
    bool is_excess_of_bytes; /* else of characters */
};

/* The list: `/`. */
struct page_list {
    const struct board_list *list;  /* NULL: not known, hearsayd is away */
    const struct page_error *error; /* NULL: none; shown above all */
    const struct page_form *form;
};
void page_write_list(struct html *html, const struct page *page, const struct page_list *list);

/*
 * The list for programs: as text in lines of at most 80 columns for a terminal, as JSON, and as a
 * feed (Atom), whose links have the name `host`. `list` is not NULL.
 */
void page_write_text(struct html *html, const struct page *page, const struct board_list *list);
void page_write_json(struct html *html, const struct page *page, const struct board_list *list);
void page_write_feed(struct html *html, const struct page *page, const struct board_list *list,
                     const char *host);

/* One message: `/m/ID`. With forms to report and to withdraw. */
struct page_message {
    const struct board_message *message;
    const struct page_error *error; /* NULL: none */
    /* What was typed, kept over an error. NULL: nothing. */
    const char *code;
    const char *why;
    const char *words;
    /* For page_end_message. The form to answer; NULL: it cannot be answered here. */
    const struct page_form *form;
    const struct board_list *answers; /* NULL: none, or they cannot be read */
    bool lacks_answers;               /* they cannot be read */
};
void page_write_message(struct html *html, const struct page *page,
                        const struct page_message *message);

/* The same in two parts: what is read of the message itself, and the rest, which does not use its
 * text and its media type. */
void page_begin_message(struct html *html, const struct page *page,
                        const struct page_message *message);
void page_end_message(struct html *html, const struct page *page,
                      const struct page_message *message);

/* The form alone, with what was typed: as its language was changed. */
void page_write_draft(struct html *html, const struct page *page, const struct page_form *form);

/* The answer to POST /leave. */
struct page_left {
    const char *id;   /* hexadecimal */
    const char *code; /* to withdraw */
    int64_t expires_ms;
    bool is_pending; /* the operator looks at it first */
    const char *re;  /* of an answer: the id of its message; NULL: it is none */
};
void page_write_left(struct html *html, const struct page *page, const struct page_left *left);

/* A page with one sentence and a link back. */
enum page_done { PAGE_WITHDRAWN, PAGE_REPORTED, PAGE_STAYS };
void page_write_done(struct html *html, const struct page *page, enum page_done done);

/* An error without a list; `form` is NULL, or has the text that was typed, to send again. */
void page_write_error(struct html *html, const struct page *page, const struct page_error *error,
                      const struct page_form *form);

/* Who can read what, what is kept, who runs this. `rules`: the operator's text; NULL: none.
 * `rules_lang`: the language that the text is in; NULL: not known. */
void page_write_about(struct html *html, const struct page *page, const char *rules,
                      const struct lang *rules_lang);

/* The poster, to print: how to join and what to open. Codes are SVG of qr.h; NULL: not there. */
struct page_poster {
    const char *join_svg;
    const char *open_svg;
    const char *ssid;
    const char *password;
    const char *url;
    const struct lang
        *second;            /* what the sheet says, it says in this language, too; NULL: in one */
    const char *second_svg; /* opens the page in that language */
};
void page_write_poster(struct html *html, const struct page *page,
                       const struct page_poster *poster);

/* Writes a document up to the end of its <title>: `heading`, a key, and `title`. */
void page_write_head(struct html *html, const struct lang *lang, const char *heading,
                     const char *title);
