// SPDX-License-Identifier: Apache-2.0
// What the pages can do besides, where scripts run: live updates, unread, "yours", hiding, times, drafts,
// a counter, a form that comes and goes. Everything else works without this file. Text of others is only ever
// textContent or a title, or comes as a document that the server wrote. What is kept is in sessionStorage, and says
// nothing to other places but the language that was chosen.
// Chrome 70 and Safari 12 must be able to read the whole script: tests/unit/script_syntax.py checks that it
// has no newer syntax.
'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  const firstOf = (what) => document.querySelector(what);
  const body = document.body;
  const lang = document.documentElement.lang || 'en';
  const list = byId('messages');
  const button = byId('new');
  const empty = byId('empty');
  const main = byId('main');
  const title = document.title;
  const atLoad = Date.now();
  let serverAtLoad = Number(body.dataset.now) || atLoad;
  const isAsked = (name) => new URLSearchParams(location.search).has(name);
  const isList = location.pathname === '/';
  const shown = location.pathname.slice(3); // the id of the message whose page this is
  const isFirstPage = isList && !isAsked('before');

  const serverNow = () => serverAtLoad + Date.now() - atLoad;
  const itemId = (item) => item.id.slice(2); // "m-..."
  const itemOf = (id) => byId('m-' + id);
  const focusOn = (what) => what.focus({preventScroll: true});
  const isId = (id) => /^[0-9a-f]{32}$/.test(id);

  // Items of this host have their id in their link only.
  function itemsName(items) {
    for (const item of items.children) {
      item.id = item.id || 'm-' + item.querySelector('a').pathname.slice(3);
    }
  }

  // The text for a number, of the attributes data-NAME-one and so on, else of data-NAME.
  function plural(element, name, number) {
    const text = (category) => element.getAttribute('data-' + name + category);
    let category = '';
    try {
      category = '-' + new Intl.PluralRules(lang).select(Math.abs(number));
    } catch (e) { /* an old browser */ }
    return (text(category) || text('')).replace('{0}', number);
  }

  // --- what this phone knows of this place, until the tab is closed

  const KEPT_MAX = 500;
  let store = body.dataset.store || '';
  let key = body.dataset.key || '';
  const kept = {mine: [], hidden: [], seen: [], language: ''};
  // What other places must not read. `typed`: drafts, by form and field. `sent`: the form that was sent last. `past`:
  // those whose text has come here. `codes`: by the ids of messages that were left here. `read`: by the same ids, how
  // many answers their author has seen. `left`: the message that the next list shows to its author, and what it says
  // of it.
  const secretNew = () => ({typed: {}, sent: '', past: [], codes: {}, read: {}, left: []});
  let secret = secretNew();

  // Other places may have the same address, and read what is kept: so that is SipHash-2-4 of ids, with a
  // key that this place gives this phone and that is not kept. `text` has 32 hexadecimal digits, as an id has. A
  // `kind` is one byte more behind them, so that no id is taken for what `masked` and `tagOf` need.
  // A number of 64 bits is a pair of 32 bits, the upper half first: Safari 12 has no BigInt, and would read
  // nothing of a script that has one of its numbers.
  function keptName(text, kind) {
    const part = (half) => [parseInt(half.slice(0, 8), 16) | 0, parseInt(half.slice(8), 16) | 0];
    const xor = (x, y) => [x[0] ^ y[0], x[1] ^ y[1]];
    const rotate = (x, n) => n === 32 ? [x[1], x[0]] :
      [x[0] << n | x[1] >>> 32 - n, x[1] << n | x[0] >>> 32 - n];
    const add = (x, y) => {
      const low = (x[1] >>> 0) + (y[1] >>> 0);
      return [x[0] + y[0] + (low > 0xffffffff ? 1 : 0) | 0, low | 0];
    };
    const hex = (n) => (n >>> 0).toString(16).padStart(8, '0');
    const [k, l] = [part(key.slice(0, 16)), part(key.slice(16))];
    let [a, b, c, d] = [xor(k, [0x736f6d65, 0x70736575]), xor(l, [0x646f7261, 0x6e646f6d]),
      xor(k, [0x6c796765, 0x6e657261]), xor(l, [0x74656462, 0x79746573])];
    const mix = () => {
      a = add(a, b);
      b = xor(rotate(b, 13), a);
      c = add(c, d);
      d = xor(rotate(d, 16), c);
      a = add(rotate(a, 32), d);
      d = xor(rotate(d, 21), a);
      c = add(c, b);
      b = xor(rotate(b, 17), c);
      c = rotate(c, 32);
    };
    const end = kind ? [17 << 24, kind] : [16 << 24, 0];
    for (const word of [part(text.slice(0, 16)), part(text.slice(16)), end]) {
      d = xor(d, word);
      mix();
      mix();
      a = xor(a, word);
    }
    c = xor(c, [0, 0xff]);
    mix();
    mix();
    mix();
    mix();
    return xor(xor(a, b), xor(c, d)).map(hex).join('');
  }

  const halfOf = (number) => number.toString(16).padStart(16, '0');

  // Masks hexadecimal digits, or unmasks them, with a stream of digits that only the key and `nonce` give.
  function masked(digits, nonce) {
    let stream = '';
    return digits.replace(/./g, (digit, at) => {
      stream = at % 16 ? stream : keptName(nonce + halfOf(at), 1);
      return (parseInt(digit, 16) ^ parseInt(stream[at % 16], 16)).toString(16);
    });
  }

  // Shows that nobody without the key changed the digits.
  function tagOf(digits) {
    let tag = halfOf(digits.length);
    for (const part of digits.match(/.{1,16}/g)) {
      tag = keptName(tag + part.padEnd(16, '0'), 2);
    }
    return tag;
  }

  function secretMask() {
    const nonce = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => halfOf(byte).slice(14)).join('');
    const text = JSON.stringify(secret).replace(/[^]/g, (sign) => halfOf(sign.charCodeAt(0)).slice(12));
    const digits = nonce + masked(text, nonce);
    return digits + tagOf(digits);
  }

  function secretUnmask(text) {
    const digits = text.slice(0, -16);
    return tagOf(digits) !== text.slice(-16) ? secretNew() :
      {...secretNew(), ...JSON.parse(masked(digits.slice(16), digits.slice(0, 16)).replace(/..../g, (sign) =>
        String.fromCharCode(parseInt(sign, 16))))};
  }

  // What another place kept goes. Storage may throw.
  function keptRead() {
    kept.mine = kept.hidden = kept.seen = [];
    secret = secretNew();
    if (!key) {
      return;
    }
    try {
      const found = JSON.parse(sessionStorage.getItem('hearsay')) || {};
      sessionStorage.clear();
      kept.language = /^[a-z-]{2,7}$/i.test(found.language) ? String(found.language) : '';
      const isOurs = found.place === keptName('0'.repeat(32));
      if (isOurs) {
        for (const name of ['mine', 'hidden', 'seen']) {
          kept[name] = Array.isArray(found[name]) ? found[name].slice(-KEPT_MAX) : [];
        }
        secret = secretUnmask(found.words);
      }
      if (isOurs || kept.language) {
        keptWrite();
      }
    } catch (e) { /* nothing was kept */ }
  }

  // False: nothing is kept.
  function keptWrite() {
    try {
      sessionStorage.setItem('hearsay', JSON.stringify(
        {place: keptName('0'.repeat(32)), words: secretMask(), ...kept}));
      return true;
    } catch (e) {
      return false;
    }
  }

  // The drafts of a place outlive its key, which may be lost when its program starts again.
  function keyTake(fresh, isOther) {
    if (fresh !== key) {
      const before = secret;
      key = fresh;
      keptRead();
      secret = isOther ? secret : before;
      keptWrite();
    }
  }

  const keptHas = (name, id) => kept[name].length > 0 && kept[name].includes(keptName(id));

  function keptAdd(name, id) {
    if (key && isId(id) && !keptHas(name, id)) {
      kept[name] = kept[name].concat(keptName(id)).slice(-KEPT_MAX);
    }
  }

  // replaceChildren is newer than the oldest browsers that we serve.
  function childrenReplace(parent, children) {
    parent.textContent = '';
    parent.append(...children);
  }

  // --- times

  // As lang.c rounds and says them.
  const timeSay = (frame, name, number) => frame.replace('{0}',
    (list.dataset.about ? list.dataset.about + ' ' : '') + plural(list, name, number));
  const agoSay = (frame, s) => s < 3600 ? timeSay(frame, 'minutes', Math.floor(s / 60)) :
    s < 86400 ? timeSay(frame, 'hours', Math.floor(s / 3600)) :
    timeSay(frame, 'days', Math.floor(s / 86400));
  const untilSay = (frame, s) => s < 3570 ?
    timeSay(frame, 'minutes', Math.max(1, Math.round(s / 60))) :
    s < 171000 ? timeSay(frame, 'hours', Math.round(s / 3600)) :
    timeSay(frame, 'days', Math.round(s / 86400));

  function timesUpdate() {
    for (const item of document.querySelectorAll('article, #messages > li')) {
      const [left, goes] = item.querySelectorAll('[data-ms]');
      if (!left || !goes) {
        continue;
      }
      const age = (serverNow() - Number(left.dataset.ms)) / 1000;
      const rest = (Number(goes.dataset.ms) - serverNow()) / 1000;
      if (rest <= 0 && item.id) { // the message of this page stays
        itemRemove(item);
        continue;
      }
      if (age >= 60) {
        left.textContent = agoSay(list.dataset.ago, age);
      }
      goes.textContent = rest <= 0 ? goes.parentNode.dataset.gone : untilSay(list.dataset.gone, rest);
    }
  }

  // --- items: unread, yours, hidden, gone

  // Takes an item out. The focus goes to the next one, so that the keyboard stays where it was.
  function itemRemove(item) {
    const next = item.nextElementSibling || item.previousElementSibling;
    const target = next && next.querySelector('a') || main;
    if (item.contains(document.activeElement)) {
      focusOn(target);
    }
    item.remove();
    emptyShow();
  }

  // A tap on the text of a card is one on its link; the end of a selection is not.
  function cardTap(event) {
    const item = event.target.closest('li');
    if (item && !event.target.closest('a, button') && !String(getSelection())) {
      item.querySelector('a').click();
    }
  }

  function emptyShow() {
    list.hidden = [...list.children].every((item) => item.hidden);
    if (!isList) {
      list.parentNode.hidden = !list.children.length; // with the heading of answers
    }
    if (empty) {
      empty.hidden = list.children.length > 0; // they may be hidden in this tab
    }
  }

  function badgeAdd(item, name, text) {
    const meta = item.querySelector('.meta');
    if (meta && text && !item.querySelector('.badge.' + name)) {
      const badge = document.createElement('span');
      badge.className = 'badge ' + name;
      badge.textContent = text;
      meta.prepend(badge, ' ');
    }
  }

  // Leads to the form that takes the message back, where codeFill fills in its code.
  function backAdd(item, id) {
    if (secret.codes[id] && !item.querySelector('.back')) {
      const heading = item.querySelector('h3 a');
      const link = heading.cloneNode();
      link.title = heading.textContent; // tells links of several messages apart
      link.className = 'back';
      link.hash = 'withdraw';
      link.textContent = list.dataset.back;
      item.querySelector('.meta').append(' ', link);
    }
  }

  const showAgain = document.createElement('button');
  showAgain.type = 'button';
  showAgain.className = 'link';
  showAgain.hidden = true;
  showAgain.addEventListener('click', () => {
    kept.hidden = [];
    keptWrite();
    itemsUpdate(new Set());
    focusOn(main);
  });

  // `fresh`: ids of the items that nobody has seen on this phone.
  function itemsUpdate(fresh) {
    let hidden = 0;
    for (const item of list.children) {
      const id = itemId(item);
      item.hidden = keptHas('hidden', id);
      hidden += item.hidden;
      if (keptHas('mine', id)) {
        badgeAdd(item, 'mine', list.dataset.mine);
        backAdd(item, id);
      } else if (fresh.has(id)) {
        badgeAdd(item, 'fresh', list.dataset.new);
      }
    }
    showAgain.hidden = !hidden;
    emptyShow();
  }

  function itemMs(item) {
    const left = item.querySelector('[data-ms]');
    return left ? Number(left.dataset.ms) : 0;
  }

  // All messages are seen now. Returns the ids of those that were not; none on the first page that is opened, and
  // none of older pages.
  function itemsSee() {
    const isFirst = !kept.seen.length;
    const fresh = [...list.children].map(itemId).filter((id) => !keptHas('seen', id));
    for (const id of fresh) {
      keptAdd('seen', id);
    }
    if (secret.codes[shown]) {
      secret.read[shown] = counted;
    }
    keptWrite();
    return new Set(isFirst || isAsked('before') ? [] : fresh);
  }

  // --- the list, loaded again

  const waiting = new Set(); // ids of new messages that are not in the list
  const answered = byId('answered');
  let answers = {}; // by the ids of messages that were left in this tab: how many answers there are
  let counted = list && Number(list.parentNode.dataset.answers); // how many answers the page of a message is of
  let more = 0; // and how many have come since

  function newShow() {
    const count = waiting.size + more;
    const ids = Object.keys(answers).filter((id) => answers[id] > (secret.read[id] || 0));
    const unread = ids.reduce((sum, id) => sum + answers[id] - (secret.read[id] || 0), 0);
    document.title = count + unread ? '(' + (count + unread) + ') ' + title : title;
    if (answered) {
      answered.hidden = !unread;
    }
    if (unread) {
      answered.textContent = plural(answered, 'new', unread);
      answered.pathname = '/m/' + ids.pop();
    }
    if (count) {
      button.textContent = plural(button, 'new', count);
    }
    if (!count && document.activeElement === button) {
      focusOn(main);
    }
    button.hidden = !count;
  }

  // --- what the house says, in a region with a heading, which no message gets into

  const house = byId('house');

  function houseShow(notices) {
    const [heading, ...old] = house.children;
    const said = (all) => JSON.stringify(all.map((one) => [one.lang, one.textContent]));
    if (said(notices) !== said(old)) { // else screen readers would say them again
      childrenReplace(house, [heading, ...notices]);
      house.hidden = !notices.length;
    }
  }

  function houseWrite(notices) {
    houseShow(notices.map(({lang: tag, text: said}) => {
      const notice = document.createElement('p');
      notice.dir = 'auto';
      if (tag) {
        notice.lang = tag;
      }
      notice.textContent = said;
      return notice;
    }));
  }

  function houseUpdate(page) {
    const next = page.getElementById('house');
    if (next) {
      houseShow([...next.querySelectorAll('p')]);
    }
  }

  // What the page shows. `p` gets random digits: those of the place would tell another place where the phone was. And
  // no other place can guess them, so the phone cannot have kept a page of another place for this address. Without `a`:
  // other hosts are asked only when a guest taps "Around here".
  function viewQuery(isTapped) {
    const query = new URLSearchParams(location.search);
    query.set('p', Math.random());
    if (!isTapped) {
      query.delete('a');
    }
    return query;
  }

  // The browser makes the document of the answer; no text of ours becomes markup.
  function listLoad(done, isTapped) {
    const request = new XMLHttpRequest();
    request.open('GET', location.pathname + '?' + viewQuery(isTapped));
    request.responseType = 'document';
    request.timeout = 10000;
    request.setRequestHeader('Accept', 'text/html'); // else it is that of a program
    request.addEventListener('load', () => {
      const page = request.response;
      const next = page && page.getElementById('messages');
      if (request.status === 200 && next) {
        itemsName(next);
        const shift = page.body.dataset.now - serverNow() || 0;
        serverAtLoad += shift;
        formUpdate(page);
        houseUpdate(page);
        done(page, next, shift);
      } else {
        liveAgain();
      }
    });
    request.onerror = request.ontimeout = liveAgain;
    request.send();
  }

  function listReplace(page, next) {
    const hadFocus = list.contains(document.activeElement);
    childrenReplace(list, [...next.children].map((item) => document.adoptNode(item)));
    if (hadFocus) {
      focusOn(main);
    }
    const older = firstOf('a[rel=next]');
    const nextOlder = page.querySelector('a[rel=next]');
    if (older && nextOlder) {
      older.setAttribute('href', nextOlder.getAttribute('href'));
    } else if (nextOlder) {
      list.after(document.adoptNode(nextOlder.parentElement));
    }
    waiting.clear();
    more = 0;
    counted = Number(next.parentNode.dataset.answers);
    newShow();
    itemsUpdate(itemsSee());
    timesUpdate();
  }

  // Shows what waits, and moves the focus there: the button goes away.
  function newTake() {
    const old = new Set([...list.children].map(itemId));
    listLoad((page, next) => {
      listReplace(page, next);
      const items = [...list.querySelectorAll('li:not([hidden])')];
      const first = items.find((item) => !old.has(itemId(item))) || items[0];
      if (first) {
        first.tabIndex = -1;
        first.focus();
      }
    }, true);
  }

  // Takes out what a newer list has no more. Items beyond its end may still be there.
  function itemsCompare(page, next) {
    const newest = !page.querySelector('a[rel=next]') ? 0 : Math.min(...[...next.children].map(itemMs));
    const isFull = next.children.length >= list.children.length;
    const isByTime = !isAsked('o');
    for (const item of [...list.children]) {
      if (!page.getElementById(item.id) && (!isFull || isByTime && itemMs(item) > newest)) {
        itemRemove(item);
      }
    }
  }

  // Events were missed, or may have been, or this is another place, or its clock was set. A page around here is not
  // compared, since this is the list of here.
  function listCheck() {
    listLoad((page, next, shift) => {
      const {store: now = '', key: fresh = ''} = page.body.dataset;
      const isOther = now !== store;
      keyTake(fresh, isOther);
      store = now;
      if (isOther || next.dataset.place !== list.dataset.place || Math.abs(shift) > 60000) {
        list.dataset.place = next.dataset.place;
        listReplace(page, next);
      } else if (!isAsked('a')) {
        itemsCompare(page, next);
        [...next.children].map(itemId).forEach(messageNote);
      }
    });
  }

  // --- live updates

  let source = null;
  let timer = 0; // until the list is compared: the stream tells what goes while it is open only
  let last = ''; // the id of the last event
  let listAt = serverAtLoad; // when the list was written

  // Says that the page has had no stream for ten seconds, and of when the list is. A stream has a sign of life every
  // 25 s: without one the connection is lost, which a browser does not see by itself.
  const said = byId('said');
  let lostTimer = 0;
  let silence = 0;
  let liveAt = atLoad;
  let isLost = false;

  function say(text) {
    said.textContent = text;
    said.hidden = !text;
  }

  function lostNote() {
    lostTimer = lostTimer || setTimeout(() => {
      isLost = true;
      const at = new Date(liveAt);
      say(said.dataset.lost.replace('{0}',
        [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')));
    }, 10000);
  }

  function lostEnd() {
    clearTimeout(lostTimer);
    lostTimer = 0;
  }

  function messageNote(id) {
    if (isId(id) && !itemOf(id) && !keptHas('hidden', id)) {
      waiting.add(id);
      newShow();
    }
  }

  // How many answers messages have. The place tells it of all messages; which of them were left in this tab, the tab
  // tells nobody. The page of a message asks for nothing by itself, since its address might be sent to another place,
  // which may know the ids of this one.
  function answersTake(counts) {
    if (!isList && counts[shown] >= 0) {
      more = Math.max(0, counts[shown] - counted);
    }
    for (const id of Object.keys(secret.codes)) {
      if (isList && counts[id] >= 0) {
        answers[id] = counts[id];
        secret.read[id] = Math.min(secret.read[id] || 0, counts[id]);
      }
    }
    newShow();
  }

  function eventRead(event) {
    try {
      return JSON.parse(event.data);
    } catch (e) {
      return {};
    }
  }

  function silenceWait() {
    clearTimeout(silence);
    silence = setTimeout(liveAgain, 60000);
  }

  function liveHear() {
    liveAt = Date.now();
    silenceWait();
  }

  function sourceClose() {
    clearTimeout(timer);
    clearTimeout(silence);
    if (source) {
      source.close();
      source = null;
    }
  }

  function liveClose() {
    lostEnd();
    sourceClose();
  }

  // The place does not answer: a new stream opens, or lostNote says that none does.
  function liveAgain() {
    sourceClose();
    liveOpen();
  }

  function liveOpen() {
    if (source || document.hidden || !window.EventSource) {
      return;
    }
    const query = viewQuery();
    if (last) {
      query.set('last', last);
    } else if (isList) {
      query.set('since', Math.round(listAt - 2000)); // what came behind the page
    }
    const mine = source = new EventSource('/events?' + query);
    const hear = (name, act) => mine.addEventListener(name, act);
    lostNote();
    silenceWait();
    hear('alive', liveHear);
    hear('open', () => {
      liveHear();
      lostEnd();
      if (isLost) {
        isLost = false;
        say('');
      }
      answers = {}; // a new stream tells of all that have answers
      newShow();
      clearTimeout(timer);
      timer = isList && setTimeout(listCheck, 20000 + 20000 * Math.random());
    });
    hear('answers', (event) => answersTake(eventRead(event)));
    hear('error', () => {
      lostNote();
      if (mine.readyState === EventSource.CLOSED && source === mine) {
        source = null; // refused: too many streams, or hearsayd is away
        setTimeout(liveOpen, 10000 + 30000 * Math.random());
      }
    });
    if (!isList) {
      return;
    }
    hear('message', (event) => {
      last = event.lastEventId || last;
      messageNote(eventRead(event).id);
    });
    hear('out', (event) => {
      const id = eventRead(event).id;
      const item = isId(id) && itemOf(id);
      if (item) {
        itemRemove(item);
      }
      if (waiting.delete(id)) {
        newShow();
      }
    });
    hear('house', (event) => houseWrite(eventRead(event)));
    hear('look', () => setTimeout(listCheck, 2000 * Math.random()));
    hear('gone', () => {
      last = '';
      listAt = serverNow();
      listCheck();
    });
  }

  // --- forms

  function counterStart() {
    const text = byId('text');
    const limit = byId('limit');
    if (!text || !limit) {
      return;
    }
    // At maxlength a browser cuts off what is pasted, without a word. The counter says how much is too much instead.
    const most = text.maxLength / 2;
    text.maxLength = 9999;
    // As check_text of route/writing.c counts; a Blob has the bytes of UTF-8. Without data-max-bytes, the
    // characters run out first.
    const update = (event) => {
      const typed = text.value.replace(/[ \t\n]+$/, '');
      const characters = most - [...typed].length;
      const bytes = (limit.dataset.maxBytes || Infinity) - new Blob([typed]).size;
      const rest = Math.min(characters, bytes);
      const number = Math.abs(rest);
      const says = limit.getAttribute('data-' + (rest < 0 ? 'over' : 'rest') + (bytes < characters ? '-bytes' : ''))
        .replace('{0}', number < 1000 ? number : limit.dataset.thousand
          .replace('{0}', Math.floor(number / 1000)).replace('{1}', String(number % 1000).padStart(3, '0')));
      limit.textContent = says;
      text.setCustomValidity(rest < 0 ? says : '');
      if (rest < 0) {
        text.setAttribute('aria-invalid', 'true');
      } else if (event) { // until then the text is as the place has refused it
        text.removeAttribute('aria-invalid');
      }
    };
    text.addEventListener('input', update);
    if (text.value) {
      update();
    }
  }

  // A browser gives back what was typed when a person comes back from its error page or reloads. Firefox does
  // not do so for pages that it may not store, as no page of ours may be (Cache-Control: no-store), and none does
  // on another page with the same form. So texts that were not sent are kept, until a page says that they have come
  // here. With a message the id of its form is kept, which makes its own: where only the answer was lost, the same
  // text sent again is no second message. A secret has autocomplete="off" and is not kept.
  // In a form with a field that is named id, that field is the form's `id`. The form of an answer has another name than
  // that of a report of the same message.
  const formName = (f) => f.re ? 're' + f.re.value : f.getAttribute('id') || f.id.value;
  const typedFields = () => [...document.querySelectorAll('textarea, select, input:not([type=hidden])')]
    .filter((field) => field.form && formName(field.form) && !field.readOnly && field.autocomplete !== 'off');
  // A topic is a box without an id; the reasons of a report have one name.
  const fieldName = (field) => field.id.split('.')[0] || '=' + field.value;
  const isText = (field) => field.type.startsWith('text');

  // What was chosen, if that is not what the page chose; a blank for a box that was emptied.
  const choiceOf = (field) => field.options ? [...field.options].every((one) => one.selected === one.defaultSelected) ?
    '' : field.value : field.checked === field.defaultChecked ? '' : field.checked ? field.value : ' ';

  function typedPut(field, text) {
    const name = formName(field.form);
    secret.typed[name] = {...secret.typed[name], [fieldName(field)]: text,
      ...field.id === 'text' && {id: field.form.id.value}};
  }

  // What the page itself says stays, and what somebody types already; not on a page that Back brings whole. The browser
  // brings back a text that was sent, too, which has to go: else a tap leaves it again.
  function typedRestore(isBack) {
    for (const field of typedFields()) {
      const name = formName(field.form);
      const typed = secret.typed[name] || {};
      const text = !secret.typed[name] && secret.past.includes(name) ? '' : typed[fieldName(field)];
      if (isText(field) ? text !== undefined && (isBack || !field.defaultValue && field !== document.activeElement) :
        text) {
        if (isText(field)) {
          field.value = text;
          if (field.id === 'text') {
            field.form.id.value = typed.id || field.form.id.value;
          }
          if (isBack) {
            field.dispatchEvent(new Event('input')); // to the counter
          }
        } else if (!field.options) {
          field.checked = text === field.value;
        } else if ([...field.options].some((one) => one.value === text)) {
          field.value = text;
        }
        const details = text && field.closest('details');
        if (details) {
          details.open = true;
        }
      }
    }
  }

  let typedTimer = 0;

  function typedWrite() {
    typedTimer = 0;
    for (const field of typedFields().filter(isText)) {
      typedPut(field, field.value);
    }
    keptWrite();
  }

  function typedStart() {
    typedRestore();
    addEventListener('input', () => {
      typedTimer = typedTimer || setTimeout(typedWrite, 300);
    });
    addEventListener('change', ({target: field}) => {
      if (!isText(field) && typedFields().includes(field)) {
        typedPut(field, choiceOf(field));
        typedWrite();
      }
    });
    addEventListener('submit', (event) => {
      secret.sent = formName(event.target);
      typedWrite();
    });
    addEventListener('pagehide', () => typedTimer && typedWrite());
    addEventListener('pageshow', ({persisted: isBack}) => {
      if (isBack) { // other pages of the tab have written since
        keptRead();
      }
      typedRestore(isBack);
    });
  }

  // Stays open, so that nothing moves under a tap on what is in it.
  addEventListener('focusin', (event) => {
    const form = event.target.closest('#leave');
    if (form) {
      form.classList.add('open');
    }
  });

  // A place that closes takes the form away, and brings it back: with what was typed in it.
  let formAway = null;

  function formSwap(mine, other) {
    const closes = mine.tagName === 'FORM';
    const text = closes && byId('text');
    const hadFocus = mine.contains(document.activeElement);
    if (text && text.value) {
      const copy = text.cloneNode();
      copy.value = text.value;
      copy.readOnly = true;
      const label = mine.querySelector('label[for=text]').cloneNode(true);
      label.className = '';
      other.append(label, copy);
    }
    if (closes) {
      typedWrite(); // also what was typed a moment ago
      other.setAttribute('role', 'alert');
    }
    mine.replaceWith(other);
    if (!closes && !formAway) { // the page was loaded without a form
      typedRestore();
      counterStart();
    }
    formAway = closes ? mine : null;
    for (const link of document.querySelectorAll('a[href="#text"]')) {
      link.hidden = closes;
    }
    if (hadFocus) {
      focusOn(byId('text') || main);
    }
  }

  function formUpdate(page) {
    const mine = byId('leave');
    const next = page.getElementById('leave');
    const says = page.getElementById('who'); // who reads it, and when
    if (mine && next && mine.tagName !== next.tagName) {
      formSwap(mine, formAway || document.adoptNode(next));
    }
    const who = byId('who');
    if (who && says) {
      childrenReplace(who, [...says.childNodes].map((node) => document.adoptNode(node)));
    }
  }

  // A language that was chosen by its link holds in this tab where somebody types the address again,
  // which says none. Only the list is asked for again: other pages may be the answer to a form.
  function languageKeep() {
    const isChosen = isAsked('l');
    const link = firstOf('.top .langs a[lang="' + kept.language + '"]');
    if (isChosen && kept.language !== lang) {
      kept.language = lang;
      keptWrite();
    } else if (!isChosen && link && kept.language !== lang && list && isList) {
      location.replace(link.href);
    }
  }

  // Fills in the code of a message that was left in this tab, and opens its form. The list leads there.
  function codeFill() {
    const code = byId('code');
    const known = code && secret.codes[code.form.id.value];
    if (known && !code.value) {
      code.value = known;
      const help = byId('code-help');
      help.textContent = help.dataset.kept;
      code.closest('details').open = true;
    }
  }

  function codeForget(id) {
    delete secret.codes[id];
    delete secret.read[id];
  }

  // The code of a message that was just left is kept while the tab lives, and the list shows the message. Nothing
  // happens where nothing can be kept: the page has the code.
  function leftTake(left) {
    keptAdd('mine', left.dataset.id);
    secret.codes[left.dataset.id] = left.dataset.code;
    for (const id of Object.keys(secret.codes).slice(0, -20)) {
      codeForget(id);
    }
    const isShown = left.dataset.pending === undefined;
    secret.left = isShown ? [left.dataset.id, firstOf('h1').textContent] : [];
    if (key && keptWrite() && isShown) {
      location.replace(left.querySelector('a').href);
    }
  }

  // Shows a message to who has just left it.
  function leftShow() {
    const [id, text] = secret.left;
    const item = id && itemOf(id);
    if (item) {
      item.classList.add('just');
      item.tabIndex = -1;
      item.focus();
      say(text);
      setTimeout(() => isLost || say(''), 10000);
    }
    secret.left = [];
  }

  keptRead();
  languageKeep();
  const left = byId('left');
  if (left || byId('done')) {
    delete secret.typed[secret.sent];
    secret.past = secret.past.concat(secret.sent).slice(-20);
    if (location.pathname === '/withdraw') {
      codeForget(secret.sent);
    }
    keptWrite();
  }
  if (left) {
    leftTake(left);
  } else if (/^.[lrw]/.test(location.pathname)) { // answers /leave, /report or /withdraw: no form is sent again
    history.replaceState(null, '', firstOf('.place').href);
  }
  typedStart();
  counterStart();
  codeFill();
  const hide = byId('hide');
  if (hide && key && keptWrite()) {
    hide.hidden = false;
    hide.addEventListener('click', () => {
      keptAdd('hidden', hide.dataset.id);
      keptWrite();
      location.href = hide.nextElementSibling.querySelector('a').href;
    });
  }
  if (list) {
    itemsName(list);
    showAgain.textContent = list.dataset.hidden;
    list.after(showAgain);
    leftShow();
    list.addEventListener('click', cardTap);
    itemsUpdate(itemsSee());
    if (body.dataset.now) {
      setInterval(timesUpdate, 30000);
    }
  }
  if (list && button && (isFirstPage || !isList)) {
    button.addEventListener('click', newTake);
    document.addEventListener('visibilitychange', () => document.hidden ? liveClose() : liveOpen());
    addEventListener('pagehide', liveClose);
    addEventListener('pageshow', liveOpen);
    liveOpen();
  }
})();
