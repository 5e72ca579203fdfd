// SPDX-License-Identifier: Apache-2.0
// What the moderators' page can do besides, where scripts run: what was typed is not lost when the connection
// is lost while a form is sent. The page works without this file. Chrome 70 and Safari 12 must be able to read
// it, which tests/unit/script_syntax.py checks.
'use strict';
(() => {
  // A form is answered with another address, but not where the password is asked for. For a browser that page
  // would stay the form in the tab's history: on Back it asks whether to send the form again.
  if (location.pathname.endsWith('/act')) {
    history.replaceState(null, '', '/' + location.hash);
  }

  // Back may bring a page whole out of the browser's memory, as it was before what was done, or before "Log out".
  addEventListener('pageshow', (event) => {
    if (event.persisted) {
      location.reload();
    }
  });

  const isDone = document.querySelector('[role=status]'); // also the end of a login
  const key = document.body.dataset.key;
  if (!key) {
    try {
      if (isDone) {
        sessionStorage.removeItem('typed');
      }
    } catch (e) { /* storage is switched off */ }
    return;
  }

  // Another place may have the same address, and read what is kept. So it is masked by SipHash-2-4 of a start, which
  // is drawn each time, and of a counter, with a key that only the page has. A number of 64 bits is a pair of 32 bits,
  // the upper half first.
  const part = (text) => [parseInt(text.slice(0, 8), 16) | 0, parseInt(text.slice(8), 16) | 0];
  const hex = (n, digits) => (n >>> 0).toString(16).padStart(digits, '0');

  function hash(start, counter) {
    const xor = (x, y) => [x[0] ^ y[0], x[1] ^ y[1]];
    const rotate = (x, n) => n === 32 ? [x[1], x[0]] :
      [x[0] << n | x[1] >>> 32 - n, x[1] << n | x[0] >>> 32 - n];
    const add = (x, y) => {
      const low = (x[1] >>> 0) + (y[1] >>> 0);
      return [x[0] + y[0] + (low > 0xffffffff ? 1 : 0) | 0, low | 0];
    };
    const [k, l] = [part(key.slice(0, 16)), part(key.slice(16))];
    let [a, b, c, d] = [xor(k, [0x736f6d65, 0x70736575]), xor(l, [0x646f7261, 0x6e646f6d]),
      xor(k, [0x6c796765, 0x6e657261]), xor(l, [0x74656462, 0x79746573])];
    const mix = (times) => {
      for (; times > 0; times--) {
        a = add(a, b);
        b = xor(rotate(b, 13), a);
        c = add(c, d);
        d = xor(rotate(d, 16), c);
        a = add(rotate(a, 32), d);
        d = xor(rotate(d, 21), a);
        c = add(c, b);
        b = xor(rotate(b, 17), c);
        c = rotate(c, 32);
      }
    };
    for (const word of [part(start), [0, counter], [16 << 24, 0]]) {
      d = xor(d, word);
      mix(2);
      a = xor(a, word);
    }
    c = xor(c, [0, 0xff]);
    mix(4);
    return xor(xor(a, b), xor(c, d));
  }

  // Masks numbers of 16 bits, or takes the mask off.
  function mask(start, numbers) {
    return numbers.map((number, at) => {
      const word = hash(start, at >> 1)[0] >>> 0;
      return number ^ (at % 2 === 0 ? word >>> 16 : word & 0xffff);
    });
  }

  // By the id of a field. Each act, and each login, is a new entry of the tab's history. So this is kept for the
  // tab, and not for the entry as on the guests' page. The address of the page is in no storage.
  let typed = {};
  try {
    const [start, kept] = sessionStorage.getItem('typed').split('.');
    typed = JSON.parse(String.fromCharCode(...mask(start, kept.match(/.{4}/g).map((four) => parseInt(four, 16)))));
  } catch (e) { /* nothing was kept, or by another place */ }

  function keep() {
    const text = JSON.stringify(typed);
    const start = [...crypto.getRandomValues(new Uint32Array(2))].map((n) => hex(n, 8)).join('');
    const numbers = [...Array(text.length).keys()].map((at) => text.charCodeAt(at));
    try {
      sessionStorage.setItem('typed', start + '.' + mask(start, numbers).map((n) => hex(n, 4)).join(''));
    } catch (e) { /* storage is full or switched off */ }
  }

  const isBox = (field) => field.type === 'checkbox';
  const hasAll = /^\/\w+\/$/.test(location.pathname); // the page has each message that can be decided on
  for (const id of Object.keys(typed)) {
    const field = document.getElementById(id);
    if (field && field.closest('.acts')) {
      field[isBox(field) ? 'checked' : 'value'] = typed[id];
      field.closest('details').open = true;
    } else if (isDone && hasAll) {
      delete typed[id]; // the message was removed
      keep();
    }
  }

  addEventListener('input', (event) => {
    const field = event.target;
    if (field.id && field.closest('.acts')) {
      typed[field.id] = isBox(field) ? field.checked : field.value;
      keep();
    }
  });
})();
