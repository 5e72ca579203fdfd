// SPDX-License-Identifier: Apache-2.0
// What the moderators' page can do besides, where scripts run: what was typed is not lost when the connection
// is lost while a form is sent. The page works without this file. Chrome 70 and Safari 12 must be able to read
// it, which tests/unit/script_syntax.py checks.
'use strict';
(() => {
  // Each page with a login answers a form, and for a browser it would stay that form in the tab's history: on
  // Back it asks whether to send the form again. As a page of another address it is loaded anew.
  if (location.pathname !== '/') {
    history.replaceState(null, '', '/' + location.hash);
  }

  // By the id of a field. Back and a reload lead to the form for the password, whose answer is a new entry of the
  // tab's history. So this is kept for the tab, and not for the entry as on the guests' page.
  let typed = {};
  try {
    typed = JSON.parse(sessionStorage.getItem('typed')) || {};
  } catch (e) { /* nothing was kept */ }

  function keep() {
    try {
      sessionStorage.setItem('typed', JSON.stringify(typed));
    } catch (e) { /* storage is full or switched off */ }
  }

  const isBox = (field) => field.type === 'checkbox';
  const isDone = document.querySelector('[role=status]'); // also the end of a login
  for (const id of Object.keys(typed)) {
    const field = document.getElementById(id);
    if (field && field.closest('.acts')) {
      field[isBox(field) ? 'checked' : 'value'] = typed[id];
      field.closest('details').open = true;
    } else if (isDone) {
      delete typed[id]; // the message was removed, or nobody is logged in any more
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
