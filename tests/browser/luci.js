// SPDX-License-Identifier: Apache-2.0
// A stub of LuCI for tests: as much of its classes as the view of luci-app-hearsay uses, behaving as
// LuCI's own do where the view could notice. A test runs this file in an empty page, sets
// `stub.world`, and calls stub.open(source of the view).
'use strict';

const stub = window.stub = {
	// What the test sets: the UCI file, answers of ubus, networks, translations.
	world: { uci: {}, ubus: {}, networks: [], words: {} },
	// What the view did.
	loaded: [], called: [], saved: [], alerts: []
};

/* --- luci.js, cbi.js ------------------------------------------------------------------------ */

String.prototype.format = function(...values) {
	return String(this).replace(/%([%dsh])/g, (all, type) => {
		if (type === '%')
			return '%';
		const value = values.shift();
		if (type === 'd')
			return Math.floor(Number(value) || 0).toFixed(0);
		return type === 's' ? String(value) : String(value).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
	});
};

window._ = text => stub.world.words[text] ?? text;
window.N_ = (count, one, many) => {
	const forms = stub.world.words[one] ?? [ one, many ];
	return forms[count === 1 ? 0 : 1];
};

// As LuCI's: items of a list become text, a bare string becomes HTML.
function append(node, children) {
	if (Array.isArray(children)) {
		for (const child of children)
			if (child instanceof Node)
				node.appendChild(child);
			else if (child !== null && child !== undefined)
				node.appendChild(document.createTextNode(String(child)));
	}
	else if (children instanceof Node)
		node.appendChild(children);
	else if (children !== null && children !== undefined)
		node.innerHTML = String(children);
}

window.E = (tag, attributes, children) => {
	const node = document.createElement(tag);
	for (const [ name, value ] of Object.entries(attributes ?? {}))
		if (typeof value === 'function')
			node.addEventListener(name, value);
		else if (value !== null && value !== undefined)
			node.setAttribute(name, value);
	append(node, children);
	return node;
};

window.L = {
	toArray: value => value === null || value === undefined ? [] : Array.isArray(value) ? value
		: String(value).trim() === '' ? [] : String(value).trim().split(/\s+/),
	resolveDefault: (promise, value) => Promise.resolve(promise).catch(() => value)
};

/* --- uci.js: changes are kept apart until save() -------------------------------------------------- */

const uci = {
	changes: {},

	load(config) {
		stub.loaded.push(config);
		return Promise.resolve(config);
	},
	get(config, section, option) {
		const changed = uci.changes[section]?.[option];
		if (changed !== undefined)
			return changed;
		return stub.world.uci[section]?.[option] ?? null;
	},
	sections(config, type) {
		return Object.entries(stub.world.uci).filter(entry => entry[1]['.type'] === type)
			.map(([ name, values ]) => ({ '.name': name, ...values }));
	},
	set(config, section, option, value) {
		if (stub.world.uci[section] === undefined)
			return; // as LuCI does: there is no such section
		(uci.changes[section] ??= {})[option] = value;
	},
	unset(config, section, option) {
		if (stub.world.uci[section]?.[option] !== undefined)
			uci.set(config, section, option, null);
	},
	save() {
		stub.saved.push({ config: 'hearsayd', changes: uci.changes });
		for (const [ section, options ] of Object.entries(uci.changes))
			for (const [ option, value ] of Object.entries(options))
				if (value === null)
					delete stub.world.uci[section][option];
				else
					stub.world.uci[section][option] = value;
		uci.changes = {};
		return Promise.resolve();
	}
};

/* --- rpc.js: a refused call resolves with the default, a lost connection rejects -------------------- */

const rpc = {
	declare({ object, method, expect }) {
		return () => {
			const answer = stub.world.ubus[`${object}.${method}`];
			stub.called.push(`${object}.${method}`);
			if (answer === 'lost')
				return Promise.reject(new Error('XHR request timed out'));
			return Promise.resolve(answer === undefined ? expect[''] : structuredClone(answer));
		};
	}
};

/* --- form.js -------------------------------------------------------------------------------- */

class Option {
	constructor(map, section, option, title, description) {
		Object.assign(this, { map, section, option, title, description });
		this.rmempty = true;
		this.default = null;
		this.nodes = {};
		this.choices = [];
	}
	value(key, text) {
		this.choices.push([ key, text ?? key ]);
	}
	validate() {
		return true;
	}
	cfgvalue(section_id) {
		return uci.get(this.map.config, section_id, this.option);
	}
	formvalue(section_id) {
		return this.nodes[section_id].value;
	}
	textOf(section_id) {
		return this.formvalue(section_id) ?? '';
	}
	widget(section_id) {
		const input = E('input', { type: 'text', placeholder: this.placeholder });
		input.value = this.cfgvalue(section_id) ?? this.default ?? '';
		return input;
	}
	render(section_id) {
		const id = `${section_id}.${this.option}`;
		const node = this.nodes[section_id] = this.widget(section_id);
		const error = E('div', { class: 'error' });
		node.id = id;
		node.addEventListener('change', () => this.map.check());
		this.errors = Object.assign(this.errors ?? {}, { [section_id]: error });
		return E('div', { class: 'cbi-value' }, [
			E('label', { class: 'cbi-value-title', for: id }, this.title),
			E('div', { class: 'cbi-value-field' }, [
				node, error,
				this.description ? E('div', { class: 'cbi-value-description' }, this.description) : null
			])
		]);
	}
	check(section_id) {
		const rule = this.validate(section_id, this.textOf(section_id));
		this.errors[section_id].textContent = rule === true ? '' : rule;
		return rule === true;
	}
	parse(section_id) {
		const old = this.cfgvalue(section_id);
		const value = this.formvalue(section_id);
		if (value === null || value === '' || value.length === 0) {
			if (this.rmempty)
				uci.unset(this.map.config, section_id, this.option);
		}
		else if (JSON.stringify(value) !== JSON.stringify(old))
			uci.set(this.map.config, section_id, this.option, value);
	}
}

class Flag extends Option {
	constructor(...all) {
		super(...all);
		this.default = '0';
	}
	widget(section_id) {
		const input = E('input', { type: 'checkbox' });
		input.checked = (this.cfgvalue(section_id) ?? this.default) === '1';
		return input;
	}
	formvalue(section_id) {
		return this.nodes[section_id].checked ? '1' : '0';
	}
	parse(section_id) {
		const value = this.formvalue(section_id);
		if (value === this.default && this.rmempty)
			uci.unset(this.map.config, section_id, this.option);
		else if (value !== this.cfgvalue(section_id))
			uci.set(this.map.config, section_id, this.option, value);
	}
}

class ListValue extends Option {
	widget(section_id) {
		const select = E('select', {}, this.choices.map(([ key, text ]) => E('option', { value: key }, text)));
		select.value = this.cfgvalue(section_id) ?? this.default;
		return select;
	}
}

// Items stand above an input; what is typed there is checked by itself and becomes an item by Enter.
class DynamicList extends Option {
	widget(section_id) {
		const input = E('input', { type: 'text', placeholder: this.placeholder });
		const list = E('ul', {}, []);
		const add = text => list.appendChild(E('li', { click: event => event.currentTarget.remove() }, [ text ]));
		L.toArray(this.cfgvalue(section_id)).forEach(add);
		input.addEventListener('keydown', event => {
			if (event.key === 'Enter' && input.value !== '' && this.check(section_id)) {
				add(input.value);
				input.value = '';
			}
		});
		return E('div', { class: 'list' }, [ list, input ]);
	}
	formvalue(section_id) {
		return Array.from(this.nodes[section_id].querySelectorAll('li'), item => item.textContent);
	}
	textOf(section_id) {
		return this.nodes[section_id].querySelector('input').value;
	}
}

// tools/widgets.js: a network that is not there any more is not shown, and so is not kept.
class NetworkSelect extends Option {
	widget(section_id) {
		const chosen = L.toArray(this.cfgvalue(section_id));
		const select = E('select', { multiple: this.multiple ? '' : null, size: stub.world.networks.length },
			stub.world.networks.map(one => E('option', { value: one.name }, [ one.name ])));
		for (const option of select.options)
			option.selected = chosen.includes(option.value);
		return select;
	}
	formvalue(section_id) {
		return Array.from(this.nodes[section_id].selectedOptions, option => option.value);
	}
}

class NamedSection {
	constructor(map, name, type, title, description) {
		Object.assign(this, { map, name, type, title, description, options: [] });
	}
	sections() {
		return [ this.name ];
	}
	option(kind, ...all) {
		const option = new kind(this.map, this, ...all);
		this.options.push(option);
		return option;
	}
	formvalue(section_id, option) {
		return this.options.find(one => one.option === option).formvalue(section_id);
	}
	each(act) {
		return this.sections().filter(id => uci.sections(this.map.config, this.type).some(one => one['.name'] === id))
			.flatMap(id => this.options.map(option => act(option, id)));
	}
	render() {
		return E('div', { class: 'cbi-section' }, [
			this.title ? E('h3', {}, this.title) : null,
			...this.sections().flatMap(id => [
				this.anonymous === false ? E('h4', {}, [ id.toUpperCase() ]) : null,
				...this.each((option, own) => own === id ? option.render(id) : null).filter(Boolean)
			])
		]);
	}
}

class TypedSection extends NamedSection {
	constructor(map, type, title, description) {
		super(map, null, type, title, description);
	}
	sections() {
		return uci.sections(this.map.config, this.type).map(one => one['.name']);
	}
}

class FormMap {
	constructor(config, title, description) {
		Object.assign(this, { config, title, description, children: [] });
	}
	section(kind, ...all) {
		const section = new kind(this, ...all);
		this.children.push(section);
		return section;
	}
	check() {
		return this.children.flatMap(section => section.each((option, id) => option.check(id))).every(Boolean);
	}
	render() {
		this.root = E('div', { class: 'cbi-map' }, [
			E('h2', {}, this.title),
			E('div', { class: 'cbi-map-descr' }, this.description),
			...this.children.map(section => section.render())
		]);
		return Promise.resolve(this.root);
	}
	save() {
		if (!this.check()) {
			stub.alerts.push('Cannot save due to invalid values');
			return Promise.reject(new Error('invalid'));
		}
		this.children.forEach(section => section.each((option, id) => option.parse(id)));
		return uci.save();
	}
}

const form = {
	Map: class extends FormMap {
		constructor(...all) {
			super(...all);
			stub.map = this;
		}
	},
	NamedSection, TypedSection, Flag, ListValue, DynamicList, Value: Option
};

const network = {
	getNetworks: () => stub.world.networks === 'lost' ? Promise.reject(new Error('lost')) : Promise.resolve(
		stub.world.networks.map(one => ({ getName: () => one.name, getIPAddr: () => one.address ?? null })))
};

/* --- view.js -------------------------------------------------------------------------------- */

const modules = {
	view: { extend: properties => properties },
	form, network, rpc, uci,
	'tools.widgets': { NetworkSelect }
};

// Loads a view as LuCI does: its 'require' lines name the arguments of a function, its text is the body.
stub.open = async source => {
	const wanted = Array.from(source.matchAll(/^'require ([a-z.]+)(?: as ([a-z]+))?';$/gm));
	const names = wanted.map(match => match[2] ?? match[1]);
	const values = wanted.map(match => modules[match[1]]);
	const view = new Function(...names, source)(...values);
	document.body.replaceChildren(await view.render(await view.load()), E('button', { id: 'save', click: () => stub.save() }, [ 'Save' ]));
	stub.map.check();
};

stub.save = () => stub.map.save().catch(() => null);
