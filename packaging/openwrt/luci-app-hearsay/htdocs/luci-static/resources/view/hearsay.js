// SPDX-License-Identifier: Apache-2.0
'use strict';
'require view';
'require form';
'require network';
'require rpc';
'require uci';
'require tools.widgets as widgets';

// E('p', {}, [ text ]): LuCI shows the items of a list as text, and a bare string as HTML.

const callStatus = rpc.declare({
	object: 'hearsay',
	method: 'status',
	expect: { '': {} }
});

/* --- what hearsayd and hearsay-web would refuse ------------------------------------------------ */

const TEXT_BYTES = 159;
const HOURS_LINES = 8;
const DURATION_MAX_S = 3650 * 86400;
const UNITS = {
	__proto__: null,
	s: 1, second: 1, seconds: 1,
	m: 60, min: 60, minute: 60, minutes: 60,
	h: 3600, hour: 3600, hours: 3600,
	d: 86400, day: 86400, days: 86400,
	w: 604800, week: 604800, weeks: 604800
};

function checkText(section_id, value) {
	const bytes = new TextEncoder().encode(value).length;

	if (bytes > TEXT_BYTES)
		return _('At most %d bytes, and this has %d; a letter such as ä has two.').format(TEXT_BYTES, bytes);
	if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
		return _('One line without control characters.');
	return true;
}

function checkTopics(section_id, value) {
	const topics = value.split(',').map((topic) => topic.trim());
	const names = topics.map((topic) => topic.normalize('NFKC').toLowerCase().replace(/^#\s*/, ''));

	if (value !== '' && topics.some((topic) => topic === '' || [...topic].length > 24))
		return _('Topics of 1 to 24 characters with one comma between, such as: coffee, help');
	if (topics.length > 20)
		return _('At most 20 topics.');
	if (new Set(names).size < names.length)
		return _('Each topic once.');
	return true;
}

function checkHours(section_id, value) {
	const time = '(?:[01][0-9]|2[0-3]):[0-5][0-9]';
	const lines = L.toArray(this.formvalue(section_id));
	const parts = new RegExp('^(%s)-(%s) [ \t]*(?:open|review|closed)$'.format(time, time)).exec(value.trim());

	if (value === '')
		return true;
	if (!parts || parts[1] === parts[2])
		return _('Two different times and open, review or closed, such as 22:00-06:00 closed.');
	if (lines.length >= HOURS_LINES && !lines.includes(value))
		return _('At most %d lines.').format(HOURS_LINES);
	return true;
}

// null: not a duration.
function secondsOf(value) {
	const parts = /^([0-9]+)[ \t]*([a-z]+)$/.exec(value.trim());

	return parts && UNITS[parts[2]] ? parts[1] * UNITS[parts[2]] : null;
}

function checkDuration(section_id, value) {
	const seconds = secondsOf(value);

	if (value === '')
		return true;
	if (seconds === null)
		return _('A whole number with s, m, h, d or w, such as 12h or 2 days.');
	if (seconds < 1 || seconds > DURATION_MAX_S)
		return _('From 1s to 3650d.');
	return true;
}

function checkLongest(section_id, value) {
	const rule = checkDuration(section_id, value);
	const usual = this.section.formvalue(section_id, 'ttl_default') || '24h';

	if (rule === true && secondsOf(value || '7d') < secondsOf(usual))
		return _('The longest time is shorter than the usual one, which is %s.').format(usual);
	return rule;
}

function checkPassword(section_id) {
	if (this.formvalue(section_id) === '1' && !uci.get('hearsayd', section_id, 'password'))
		return _('It needs a password first. Log in by SSH, and type: /etc/init.d/hearsay-moderate set_password');
	return true;
}

/* --- how the board is ----------------------------------------------------------------------- */

const MODES = {
	__proto__: null,
	open: _('New messages are shown at once.'),
	review: _('New messages wait for review.'),
	closed: _('No new messages are taken.')
};

const SOURCES = {
	__proto__: null,
	operator: _('An operator has set this; it holds until "hearsay admin accept auto", whatever this page says.'),
	schedule: _('The hours below say so.')
};

function sumOf(stats, name) {
	return Object.keys(stats).filter(key => key.startsWith('host/') && key.endsWith(name))
		.reduce((sum, key) => sum + (Number(stats[key]) || 0), 0);
}

function countsOf(stats) {
	const messages = Number(stats.messages) || 0;
	const pending = sumOf(stats, '/pending');
	const counts = [
		N_(messages, '%d message', '%d messages').format(messages),
		_('%d reported').format(sumOf(stats, '/reported'))
	];

	if (pending > 0)
		counts.push(_('%d waiting for review').format(pending));
	return counts.join(', ');
}

// What to say if there are no figures.
function absenceOf(status) {
	if (status.running !== false)
		return _('The figures cannot be asked for. Has rpcd been restarted since this page was installed?');
	if (status.code === 127)
		return _('The figures cannot be asked for, because the package hearsay is not installed.');
	if (uci.get('hearsayd', 'main', 'enabled') !== '1')
		return _('hearsayd does not run, because the board is switched off.');
	return _('hearsayd is switched on and does not answer. The system log says why: look for hearsayd.');
}

function isRefused(status) {
	const isOn = name => uci.get('hearsayd', name, 'enabled') === '1';

	return [ 'main', 'web', 'moderate' ].some(name => isOn(name) && (status.refused || {})[name])
		|| (status.stats || {}).reload_ok === 0;
}

function statusOf(status) {
	const stats = status.stats || {};

	if (status.running !== true)
		return [ E('div', { class: 'alert-message warning' }, [ absenceOf(status) ]) ];
	return [
		E('p', {}, [ E('strong', {}, [ countsOf(stats) ]) ]),
		E('p', {}, [ MODES[status.accept] || '', ' ', SOURCES[status.set_by] || '' ]),
		isRefused(status)
			? E('div', { class: 'alert-message warning' }, [ _('The last change was refused, and the settings before it hold. The system log says why: look for hearsayd.') ])
			: ''
	];
}

// Where a page is, if it is on and one of its networks is up.
function addressOf(networks, section, usual) {
	const names = L.toArray(uci.get('hearsayd', section, 'network'));
	const one = networks.find(net => names.includes(net.getName()) && net.getIPAddr());
	const port = uci.get('hearsayd', section, 'port') || usual;

	if (!one || uci.get('hearsayd', section, 'enabled') !== '1')
		return null;
	return 'http://%s%s'.format(one.getIPAddr(), port === '80' ? '' : ':' + port);
}

function linksOf(networks) {
	const phones = addressOf(networks, 'web', '7118');
	const moderators = addressOf(networks, 'moderate', '7119');
	const link = (href, text) => E('a', { href: href, target: '_blank', rel: 'noreferrer' }, [ text ]);

	return [
		phones === null
			? E('p', {}, [ _('The poster can be printed here when the page for phones is on and its network is up.') ])
			: E('p', {}, [ link(phones + '/', _('Page for phones')), ' · ', link(phones + '/poster', _('Poster to print')) ]),
		moderators === null
			? E('p', {}, [ _('To decide on reported messages, log in by SSH:'), ' ', E('code', {}, [ 'hearsay admin list' ]) ])
			: E('p', {}, [ _('To decide on reported messages:'), ' ', link(moderators + '/', _('Page for moderators')) ])
	];
}

/* --- the page ------------------------------------------------------------------------------- */

function addBoard(map) {
	const section = map.section(form.NamedSection, 'main', 'daemon', _('Board'));
	let option;

	option = section.option(form.Flag, 'enabled', _('Switched on'));
	option.rmempty = false;

	option = section.option(widgets.NetworkSelect, 'network', _('Networks for programs'),
		_('From these networks, programs such as the command hearsay reach the board. The page for phones needs none.'));
	option.multiple = true;
	option.nocreate = true;
}

function addModeration(map) {
	const section = map.section(form.TypedSection, 'host', _('Open or closed'));
	let option;

	section.anonymous = uci.sections('hearsayd', 'host').length < 2;

	option = section.option(form.ListValue, 'accept', _('New messages'));
	option.value('open', _('open: shown at once'));
	option.value('review', _('review: shown after you have looked at them'));
	option.value('closed', _('closed: not taken'));
	option.default = 'open';

	option = section.option(form.DynamicList, 'accept_schedule', _('Hours'),
		_('At these times of the day something else holds, such as 22:00-06:00 closed. The first line that fits counts.'));
	option.placeholder = '22:00-06:00 closed';
	option.validate = checkHours;
}

function addLimits(map) {
	const section = map.section(form.NamedSection, 'limits', 'limits', _('How long messages stay'));
	let option;

	option = section.option(form.Value, 'ttl_default', _('Usually'));
	option.placeholder = '24h';
	option.validate = checkDuration;

	option = section.option(form.Value, 'ttl_max', _('At most'), _('The longest time that a guest may ask for.'));
	option.placeholder = '7d';
	option.validate = checkLongest;
}

function addPage(map) {
	const section = map.section(form.NamedSection, 'web', 'web', _('Page for phones'));
	let option;

	option = section.option(form.Flag, 'enabled', _('Switched on'),
		_('Guests also need the rule Allow-hearsay-web, which is off at first: Network, Firewall, Traffic Rules.'));
	option.rmempty = false;

	option = section.option(widgets.NetworkSelect, 'network', _('Network of the guests'));
	option.multiple = true;
	option.nocreate = true;

	option = section.option(form.Value, 'title', _('Title'), _('The name of the place, the heading of the page.'));
	option.placeholder = 'Hearsay';
	option.validate = checkText;

	option = section.option(form.Value, 'subtitle', _('Line below the name'),
		_('What the page is, in your words. Otherwise it says so in the language of the phone.'));
	option.validate = checkText;

	option = section.option(form.Value, 'topics', _('Topics'),
		_('To read and to leave with by one tap, with commas between: up to 20, each of at most 24 characters.'));
	option.placeholder = 'coffee, lost+found, help';
	option.validate = checkTopics;

	option = section.option(form.Value, 'operator', _('Operator'),
		_('Who runs the board. Guests see this on the page "Who can read what"; the law of many countries demands it.'));
	option.validate = checkText;

	option = section.option(form.Value, 'contact', _('Contact'), _('How to reach the operator, such as an address for mail.'));
	option.validate = checkText;
}

function addDesk(map) {
	const section = map.section(form.NamedSection, 'moderate', 'moderate', _('Page for moderators'));
	const option = section.option(form.Flag, 'enabled', _('Switched on'),
		_('To decide on reported messages with a browser, with a password. Guests do not reach this page.'));

	option.rmempty = false;
	option.validate = checkPassword;
}

return view.extend({
	load() {
		return Promise.all([
			L.resolveDefault(callStatus(), {}),
			L.resolveDefault(network.getNetworks(), []),
			uci.load('hearsayd')
		]);
	},

	render([ status, networks ]) {
		const map = new form.Map('hearsayd', _('Hearsay'),
			_('Guests of this WiFi leave short messages for others who are here. Other settings stand in /etc/config/hearsayd.'));
		const state = map.section(form.NamedSection, 'main', 'daemon');

		state.render = () => E('div', { class: 'cbi-section' }, [
			E('h3', {}, [ _('Now') ]),
			...statusOf(status),
			...linksOf(networks)
		]);
		addBoard(map);
		addModeration(map);
		addLimits(map);
		addPage(map);
		addDesk(map);
		return map.render();
	}
});
