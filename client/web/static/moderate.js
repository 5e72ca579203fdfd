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

  // By the id of a field. Each act, and each login, is a new entry of the tab's history. So this is kept for the
  // tab, and not for the entry as on the guests' page. The address of the page is in no storage.
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
