// ---- app: the views and their controls ----------------------------------------------------------
//
// `state` is everything that the user can choose; the address holds it after '#'. refresh()
// recomputes the parts of the model that have changed and shows the current view.

const $ = id => document.getElementById(id);
const VIEWS = ['graph', 'top', 'sandwich', 'source', 'labels'];
const BYS = ['function', 'line', 'file', 'module'];
const ALPHA = 0.01;

let data, graphs;
const state = { view: 'graph', event: 0, type: 0, by: 'function', group: '', side: 0, rootAtBottom: false,
	search: '', zoom: [], name: '', filters: new Map(), sort: 'flat', ascending: false,
	idle: false, color: 'state', range: null, base: null };
// Computed from the state: rows, tree, sums, comparing, scale, total; and the keys they belong to.
const model = { key: '', rows: new Map() };

// The event of the chosen range of time.
const event = () => model.cut || data.events[state.event];
// The colours of a comparison are those of changes.
const isByState = () => state.color === 'state' && event().hasStates && event().sides.length < 2;
const modules = () => state.color === 'module' && !model.comparing ? moduleRanks(model.tree) : null;
// What colours can show; the first is the usual one.
const colors = () => event().hasStates ? ['state', 'function', 'module'] : ['function', 'module'];
const colorNow = () => colors().includes(state.color) ? state.color : colors()[0];
const idleSum = () => event().idle[0].total[state.type];
const hidesIdle = () => !state.idle && !state.filters.has('idle') && idleSum() > 0;
// Idle samples are those with a value of the label idle.
const filters = () => hidesIdle() ? new Map([...state.filters, ['idle', new Set([NO_VALUE])]]) : state.filters;
const unit = () => event().types[state.type].unit;

// ---- the address ----

// A zoomed frame is identified by the names from the root to it, so that other values find it, too.
function zoomPath(node) {
	const path = [];
	for (let i = node; i > 0; i = model.tree.parent[i])
		path.unshift(model.tree.rows.name[model.tree.row[i]]);
	return path;
}

function nodeOfPath(tree, path) {
	let at = 0;
	for (const name of path) {
		let next = 0;
		for (let k = tree.first[at]; k < tree.first[at + 1] && !next; k++)
			if (tree.rows.name[tree.row[tree.children[k]]] === name)
				next = tree.children[k];
		if (!next)
			return at;
		at = next;
	}
	return at;
}

// In the address: indices among the children, which is short.
function zoomText() {
	const places = [];
	for (let i = nodeOfPath(model.tree, state.zoom); i > 0; i = model.tree.parent[i]) {
		const p = model.tree.parent[i];
		const siblings = model.tree.children.subarray(model.tree.first[p], model.tree.first[p + 1]);
		places.unshift(siblings.indexOf(i));
	}
	return places.join('.');
}

function zoomOfText(tree, text) {
	let at = 0;
	for (const place of text.split('.')) {
		const child = tree.first[at] + Number(place);
		if (!/^\d+$/.test(place) || child >= tree.first[at + 1])
			break;
		at = tree.children[child];
	}
	return at;
}

function usualSort() {
	return event().sides.length > 1 ? 'flatDelta' : 'flat';
}

function stateText() {
	const p = new URLSearchParams();
	const put = (key, value, usual) => value !== usual && p.append(key, value);
	put('view', state.view, 'graph');
	put('values', state.event + '.' + state.type, '0.' + data.events[0].type);
	put('by', state.by, BYS[data.by] || 'function');
	put('group', state.group, '');
	put('side', String(state.side), '0');
	put('flame', state.rootAtBottom ? '1' : '', '');
	put('search', state.search, '');
	put('name', state.name, '');
	put('sort', (state.ascending ? '-' : '') + state.sort, usualSort());
	for (const [key, values] of state.filters)
		for (const value of values)
			p.append('label', key + '=' + value);
	put('idle', state.idle ? '1' : '', '');
	put('color', colorNow(), colors()[0]);
	put('time', state.range ? state.range.join('-') : '', '');
	put('base', state.base ? state.base.join('-') : '', '');
	put('zoom', zoomText(), '');
	return p.toString();
}

let pendingZoom = null;   // from a new address; the tree does not exist yet

function readState(text) {
	const p = new URLSearchParams(text), get = (key, usual) => p.get(key) ?? usual;
	const oneOf = (value, list) => list.includes(value) ? value : list[0];
	const [e, t] = get('values', '0.' + data.events[0].type).split('.').map(Number);
	model.cut = null;
	state.range = readRange(get('time', ''));
	state.base = state.range && readRange(get('base', ''));
	state.view = oneOf(get('view', 'graph'), VIEWS);
	state.event = data.events[e] ? e : 0;
	state.type = event().types[t] ? t : event().type;
	state.by = oneOf(get('by', BYS[data.by]), BYS);
	state.group = model.labelKeys.has(get('group', '')) ? get('group', '') : '';
	state.side = get('side', '0') === '1' && (state.base || event().sides.length > 1) ? 1 : 0;
	state.rootAtBottom = get('flame', '') === '1';
	state.idle = get('idle', '') === '1';
	state.color = oneOf(get('color', 'state'), ['state', 'function', 'module']);
	state.search = get('search', '');
	state.name = get('name', '');
	state.ascending = get('sort', '').startsWith('-');
	state.sort = get('sort', usualSort()).replace(/^-/, '');
	state.filters = new Map();
	for (const label of p.getAll('label')) {
		const at = label.indexOf('='), key = label.slice(0, at);
		if (at > 0 && model.labelKeys.has(key))
			addFilter(key, label.slice(at + 1));
	}
	pendingZoom = get('zoom', '');
}

// In nanoseconds; null: none.
function readRange(text) {
	const [from, to] = text.split('-').map(Number);
	return text && from >= 0 && to > from ? [from, to] : null;
}

// step: whether the browser's Back returns to the present state.
function writeState(step) {
	const text = '#' + stateText();
	if (text === (location.hash || '#'))
		return;
	history[step ? 'pushState' : 'replaceState'](null, '', text);
}

// ---- the model ----

// Ranges of events that have times.
function cutTime() {
	const whole = data.events[state.event];
	if (!whole.buckets.width)
		state.range = state.base = null;
	if (whole.sides.length > 1)
		state.base = null;
	const key = state.range ? [state.event, state.range, state.base].join() : '';
	if (key === model.cutKey)
		return;
	model.cutKey = key;
	model.cut = key ? cutEvent(data, whole, state.range, state.base) : null;
	if (event().sides.length < 2)
		state.side = 0;
}

function compute() {
	const filterKey = [...filters()].map(([k, v]) => k + '=' + [...v].sort()).sort().join('\0');
	const key = [state.event, state.type, state.by, state.group, state.side, filterKey, model.cutKey].join('\0');
	if (key === model.key)
		return;
	if (!model.rows.has(state.by))
		model.rows.set(state.by, makeRows(data, state.by));
	const rows = model.rows.get(state.by);
	model.key = key;
	model.query = { type: state.type, rows, group: state.group, filters: filters(), side: state.side,
		waits: data.waits };
	model.event = hidesIdle() ? withoutIdle(event(), event().idle) : event();
	model.tree = buildTree(data, event(), model.query);
	model.total = model.event.sides[0].total[state.type];
	model.sums = null;
	model.sandwich = null;
	model.comparing = null;
	if (event().sides.length > 1) {
		const comparer = new Comparer(model.event, state.type, data.norm);
		model.comparing = { comparer, z: zFor(ALPHA / (2 * model.tree.n + 1)) };
	}
	model.matches = null;
	model.searched = null;
}

function sums() {
	if (!model.sums) {
		model.sums = sumRows(model.tree, event(), model.query);
		model.tableComparing = model.comparing &&
			{ comparer: model.comparing.comparer, z: zFor(ALPHA / (2 * model.sums.rows.length + 1)) };
		let min = 0;
		for (const row of model.sums.rows) {
			const v = Math.abs(model.sums.flat[0][row] || model.sums.cum[0][row]);
			if (v && (!min || v < min))
				min = v;
		}
		model.scale = chooseScale(min, model.total, unit());
	}
	return model.sums;
}

function rowNamed(name) {
	return name ? model.tree.rows.name.indexOf(name) : -1;
}

function searchTest(text) {
	const regex = text.match(/^\/(.+)\/i?$/);
	if (regex) {
		try {
			const r = new RegExp(regex[1], text.endsWith('i') ? 'i' : '');
			return name => r.test(name);
		} catch {
			return null;
		}
	}
	const wanted = text.toLowerCase();
	return name => name.toLowerCase().includes(wanted);
}

function search() {
	const { tree } = model, key = state.search;
	if (model.searched === key)
		return;
	model.searched = key;
	const test = key ? searchTest(key) : null;
	$('search').classList.toggle('wrong', !!key && !test);
	model.matches = null;
	let text = key && !test ? 'not a valid expression' : '';
	if (test) {
		model.matches = Uint8Array.from(tree.rows.name, test);
		const value = matchedValue(tree, model.matches, 0);
		// Folded boxes hide names.
		text = (event().isFolded ? '\u2265 ' : '') + formatShare(value, model.total) + ' matched';
		$('matched').title = formatValue(value, unit()) + ' in stacks with a match';
	}
	$('matched').textContent = text;
	graphs.main.matches = graphs.callers.matches = graphs.callees.matches = model.matches;
}

// ---- views ----

function refresh(step) {
	if (model.tree && pendingZoom === null)
		state.zoom = state.zoom.length ? zoomPath(nodeOfPath(model.tree, state.zoom)) : [];
	cutTime();
	compute();
	if (pendingZoom !== null) {
		state.zoom = zoomPath(zoomOfText(model.tree, pendingZoom));
		pendingZoom = null;
	}
	search();
	showControls();
	showChips();
	showTimeline();
	for (const view of VIEWS)
		$('view-' + view).hidden = view !== state.view;
	SHOW[state.view]();
	writeState(step);
	document.documentElement.dataset.ready = String(Number(document.documentElement.dataset.ready || 0) + 1);
}

const SHOW = {
	graph() {
		const { main } = graphs;
		main.show(model.tree, { rootAtBottom: state.rootAtBottom, comparing: model.comparing, byState: isByState(), modules: modules() });
		const node = nodeOfPath(model.tree, state.zoom);
		if (main.zoomed !== node)
			main.zoom(node);
		$('unzoom').disabled = !node;
		$('graph').classList.toggle('none', model.tree.n === 1);
		showLegend();
		showDetails(main, main.chosen >= 0 ? main.chosen : node);
	},
	top() {
		const s = sums(), { rows } = model.tree;
		const list = model.matches ? s.rows.filter(r => model.matches[r]) : s.rows;
		const columns = topColumns(s, rows, model.total, model.scale, model.tableComparing, unit());
		if (!columns.some(c => c.key === state.sort))
			state.sort = usualSort(), state.ascending = false;
		showTable($('top'), columns, sortRows(s, rows, list, state.sort, state.ascending, model.tableComparing), {
			sort: state.sort, ascending: state.ascending, chosen: rowNamed(state.name), empty: 'Nothing here.',
			on: { sort: sortBy, pick: row => pick(row, 'sandwich') } });
		showRowDetails(rowNamed(state.name));
	},
	sandwich() {
		const row = chosenRow();
		showSideList($('sandwich-list'), row);
		if (row < 0)
			return;
		if (!model.sandwich || model.sandwich.row !== row)
			model.sandwich = { row, ...buildSandwich(model.tree, row, state.side) };
		$('sandwich-name').textContent = model.tree.rows.name[row] + (sums().folded[0][row]
			? ' (' + formatShare(sums().folded[0][row], model.total) + ' more in folded boxes)' : '');
		graphs.callers.show(model.sandwich.callers, { rootAtBottom: true, comparing: model.comparing, modules: modules() });
		// Each gets as much room as it has levels.
		for (const name of ['callers', 'callees'])
			$(name).parentElement.style.flexGrow = Math.max(model.sandwich[name].depth.reduce((a, b) => Math.max(a, b), 0) + 1, 4);
		graphs.callees.show(model.sandwich.callees, { rootAtBottom: false, comparing: model.comparing, modules: modules() });
		showRowDetails(row);
	},
	source() {
		const row = chosenRow();
		showSideList($('source-list'), row);
		if (row < 0)
			return;
		const key = model.key + '\0' + row;
		if (!model.lines || model.lines.key !== key)
			model.lines = { key, files: sumLines(data, event(), model.query, row) };
		showSource($('source'), data, model.lines.files, model.total, model.scale, event().sides.length,
			'No line numbers are known.');
		$('source').prepend(make('h2', '', model.tree.rows.name[row]));
		showInstructions(model.tree.rows.name[row]);
		showRowDetails(row);
	},
	labels() {
		const groups = [...model.labelKeys].map(([key]) => ({ key, chosen: state.filters.get(key) || new Set(),
			isGrouped: state.group === key,
			values: [...sumLabel(data, event(), model.query, key)].sort((a, b) => b[1][0] - a[1][0] || (a[0] < b[0] ? -1 : 1)) }))
			.sort((a, b) => a.values.length - b.values.length);
		showLabels($('labels'), groups, model.total, unit(),
			{ toggle: toggleFilter, group: key => set({ group: key }) });
		showRowDetails(-1);
	},
};

// Instructions have costs of the whole profile, in the type that is shown first.
function showInstructions(name) {
	const whole = data.events[state.event], { type, unit } = whole.types[whole.type];
	const total = whole.sides[0].total[whole.type], functions = whole.code.filter(f => f.name === name);
	const costs = functions.flatMap(f => f.instructions.map(x => Math.abs(x.flat || x.cum)).filter(c => c));
	const least = costs.reduce((a, b) => Math.min(a, b), total);
	showCode($('code'), functions, total, chooseScale(least, total, unit), 'Costs of the whole profile, ' + type + '.');
}

// The function that sandwich and source show: the chosen one, or the most expensive.
function chosenRow() {
	const s = sums(), row = rowNamed(state.name);
	if (row >= 0 && row < model.tree.rows.n && s.rows.includes(row))
		return row;
	return s.rows.reduce((best, r) => best < 0 || Math.abs(s.flat[0][r]) > Math.abs(s.flat[0][best]) ? r : best, -1);
}

function showSideList(to, chosen) {
	const s = sums(), { rows } = model.tree;
	const list = model.matches ? s.rows.filter(r => model.matches[r]) : s.rows;
	const columns = [
		{ key: 'flat', title: 'flat', help: 'own cost', cell: r => formatShare(s.flat[0][r], model.total) },
		{ key: 'cum', title: 'cum', help: 'including callees', cell: r => formatShare(s.cum[0][r], model.total) },
		{ key: 'name', title: 'name', isText: true, cell: r => nameCell(rows, r) },
	];
	const sort = columns.some(c => c.key === state.sort) ? state.sort : 'flat';
	const { scrollTop } = to;
	showTable(to, columns, sortRows(s, rows, list, sort, state.ascending, null), { sort, ascending: state.ascending,
		chosen, empty: 'Nothing matches.', on: { sort: sortBy, pick: row => pick(row, state.view) } });
	to.scrollTop = scrollTop;
}

function showControls() {
	for (const tab of $('tabs').children) {
		tab.ariaSelected = tab.dataset.view === state.view;
		tab.classList.toggle('on', tab.dataset.view === state.view);
	}
	$('values').value = state.event + '.' + state.type;
	$('by').value = state.by;
	$('group').value = state.group;
	$('side').value = String(state.side);
	$('side-pick').hidden = event().sides.length < 2;
	if ($('search').value !== state.search)
		$('search').value = state.search;
	$('icicle').ariaPressed = !state.rootAtBottom;
	$('flame').ariaPressed = state.rootAtBottom;
	$('color-pick').hidden = event().sides.length > 1;
	$('by-state').hidden = !event().hasStates;
	for (const color of colors())
		$('by-' + color).ariaPressed = color === colorNow();
	$('idle').hidden = !idleSum() || state.filters.has('idle');
	$('idle').textContent = (state.idle ? 'Hide idle: ' : 'Show idle: ') + formatValue(idleSum(), unit());
	showFacts();
}

function showFacts() {
	const [fresh, base] = event().sides, facts = [];
	$('title').textContent = base ? fresh.name + ' compared with ' + base.name : fresh.name;
	document.title = $('title').textContent + ' \u2013 cprof';
	const shown = model.tree.weight[0];
	const { type } = event().types[state.type];
	facts.push(formatValue(model.total, unit()) + ' ' + type);
	if (THREAD_TIME.includes(type) && fresh.duration > 0)
		facts.push((model.total / fresh.duration).toFixed(2) + ' threads on average');
	if (hidesIdle())
		facts.push(formatValue(idleSum(), unit()) + ' idle hidden');
	if (!state.side && shown < model.total && formatShare(shown, model.total) !== '100%')
		facts.push(formatShare(shown, model.total) + ' shown');
	if (model.tree.folded.size) {
		const folded = [...model.tree.folded.keys()].reduce((sum, i) => sum + Math.abs(model.tree.cum[0][i]), 0);
		facts.push(formatShare(folded, model.total) + ' folded: callees of at most ' +
			Number((event().foldedMax * 100).toPrecision(2)) + '% of all');
	}
	if (state.range)
		facts.push('from ' + rangeText(state.range));
	else if (fresh.duration > 0)
		facts.push('recorded for ' + formatValue(fresh.duration, 'ns'));
	if (fresh.time > 0)
		facts.push(new Date(fresh.time / 1e6).toISOString().slice(0, 16).replace('T', ' ') + ' UTC');
	$('facts').textContent = facts.join(' \u00b7 ');
}

// "key: text", or a whole sentence; losses stand out.
function showInfo() {
	const parts = data.events[state.event].sides.flatMap(side => {
		const list = make('dl', '');
		for (const comment of side.comments) {
			const at = comment.indexOf(': '), key = at > 0 && at < 32 ? comment.slice(0, at) : '';
			const isLoss = /^(losses|missing|not in the profile|user code only|.*\blost\b)/.test(comment);
			list.append(make('dt', isLoss ? 'lost' : '', key), make('dd', isLoss ? 'lost' : '', key ? comment.slice(at + 2) : comment));
		}
		return [make('h3', '', side.name), side.comments.length ? list : make('p', '', 'It has no comments.')];
	});
	$('info-text').replaceChildren(...parts);
	$('info-dialog').showModal();
}

function showChips() {
	const chips = [];
	for (const [key, values] of state.filters)
		for (const value of values) {
			const chip = make('button', 'chip', key + ' = ' + value);
			chip.append(make('span', 'x', '\u00d7'));
			chip.title = 'Remove this filter';
			chip.addEventListener('click', () => toggleFilter(key, value));
			chips.push(chip);
		}
	$('chips').hidden = !chips.length;
	$('chips').replaceChildren(...chips);
}

function showTimeline() {
	const whole = data.events[state.event], { buckets } = whole;
	$('timeline').hidden = !buckets.width;
	if (!buckets.width)
		return;
	const allowed = allowedSets(data, filters());
	graphs.strip.show({ rows: readActivity(data, whole, state.type, allowed, buckets,
		innerWidth < 600 ? STRIP_ROWS / 2 : STRIP_ROWS), buckets, unit: unit(),
		range: state.range, base: state.base });
	for (const [name, range] of [['range', state.range || [0, buckets.n * buckets.width]], ['base', state.base]])
		['from', 'to'].forEach((end, k) => $(name + '-' + end).value = range ? Number((range[k] / 1e9).toPrecision(7)) : '');
	for (const e of document.querySelectorAll('.base'))
		e.hidden = !state.base && !model.picksBase;
	$('compare').hidden = whole.sides.length > 1 || !state.range;
	$('compare').ariaPressed = !!model.picksBase;
	$('all-time').disabled = !state.range;
}

// A range that the user has marked; null: the whole time.
function pickTime(range) {
	const isBase = model.picksBase && range;
	model.picksBase = false;
	set(isBase ? { base: range } : { range, base: range ? state.base : null });
}

// The numbers beside the strip.
function typeTime(name) {
	const [from, to] = ['from', 'to'].map(end => Math.round($(name + '-' + end).value * 1e9));
	if ($(name + '-from').value !== '' && to > from)
		set(name === 'base' ? { base: [from, to] } : { range: [from, to] });
}

function showLegend() {
	const items = legendItems(model.comparing, isByState() ? model.tree : null, model.tree, modules()).map(([name, color, dashed]) => {
		const item = make('span', dashed ? 'dashed' : '', name), swatch = make('i');
		swatch.style.background = color;
		item.prepend(swatch);
		return item;
	});
	$('legend').replaceChildren(...items);
}

// The texts about a frame, for the footer and the tooltip.
function describe(graph, i) {
	const { tree } = graph, { rows } = tree, row = tree.row[i], cum = tree.cum[0][i], facts = [];
	facts.push(formatValue(cum, unit()) + ' \u00b7 ' + formatShare(cum, model.total) + ' of all');
	if (i && tree.parent[i])
		facts.push(formatShare(cum, tree.cum[0][tree.parent[i]]) + ' of ' + graph.nameOf(tree.parent[i]));
	if (graph === graphs.main && tree.self[0][i])
		facts.push(formatValue(tree.self[0][i], unit()) + ' in itself');
	if (model.comparing && i) {
		const { comparer, z } = model.comparing, c = comparer.node(tree, i);
		facts.push(comparer.format(c.base, unit()) + ' \u2192 ' + comparer.format(c.fresh, unit()) + ': ' +
			comparer.format(c.delta, unit(), true) + (c.error ? ' \u00b1 ' + comparer.format(c.error, unit()) : '') +
			(comparer.isSignificant(c, z) === false ? ', could be noise' : ''));
	}
	if (isByState() && graph === graphs.main)
		facts.push(shareOfStates(tree, i));
	const tags = [];
	if (row >= 0 && row < rows.n) {
		if (rows.isKernel[row])
			tags.push('kernel');
		if (tree.inlined[i])
			tags.push('inlined');
		const where = [rows.file[row] && rows.file[row] + (rows.line[row] ? ':' + rows.line[row] : ''), rows.module[row]];
		facts.push(...where.filter(Boolean));
	}
	return { name: graph.nameOf(i), tags, facts };
}

function showDetails(graph, i) {
	const d = describe(graph, i), row = graph.tree.row[i];
	const name = make('strong', '', d.name);
	$('detail-text').replaceChildren(name, ...d.tags.map(t => make('small', 'tag ' + t, t)),
		make('span', 'facts', d.facts.slice(0, 3).join(' \u00b7 ')));
	showDetailButtons(row);
}

function showRowDetails(row) {
	if (row < 0 || row >= model.tree.rows.n) {
		$('detail-text').replaceChildren(make('span', 'facts', ''));
		showDetailButtons(-1);
		return;
	}
	const s = sums();
	$('detail-text').replaceChildren(make('strong', '', model.tree.rows.name[row]), make('span', 'facts',
		'flat ' + formatValue(s.flat[0][row], unit()) + ' (' + formatShare(s.flat[0][row], model.total) + ') \u00b7 cum ' +
		formatValue(s.cum[0][row], unit()) + ' (' + formatShare(s.cum[0][row], model.total) + ')'));
	showDetailButtons(row);
}

function showDetailButtons(row) {
	const buttons = [];
	$('details').hidden = row < 0 && state.view !== 'graph';
	if (row >= 0 && row < model.tree.rows.n) {
		for (const [view, text] of [['sandwich', 'Callers & callees'], ['source', 'Source']]) {
			if (view === state.view)
				continue;
			const b = make('button', '', text);
			b.addEventListener('click', () => pick(row, view));
			buttons.push(b);
		}
	}
	$('detail-buttons').replaceChildren(...buttons);
}

// Of the strip: lines of text; e: null hides it.
function showTimeTip(lines, e) {
	const tip = $('tip');
	tip.hidden = !e;
	showTip.graph = null;
	if (!e)
		return;
	tip.replaceChildren(make('strong', '', lines[0]), ...lines.slice(1).map(text => make('div', '', text)));
	placeTip(tip, e);
}

// What a box of callees stands for that are too narrow to draw.
function describeNarrow(graph, i) {
	const { value } = graph.narrow.get(i), canGrow = graph.place(i).w < graph.scroller.clientWidth;
	return { name: graph.nameOf(narrowOf(i)), tags: [], facts: [
		formatValue(value, unit()) + ' \u00b7 ' + formatShare(value, model.total) + ' of all',
		'too narrow to draw' + (canGrow ? ': a click on ' + graph.nameOf(i) + ' widens them' : '')] };
}

function showTip(graph, i, e) {
	const tip = $('tip');
	if (i === -1 || !e) {
		tip.hidden = true;
		return;
	}
	if (tip.hidden || showTip.graph !== graph || showTip.node !== i) {
		const d = i < 0 ? describeNarrow(graph, narrowOf(i)) : describe(graph, i), name = make('strong', '', d.name);
		tip.replaceChildren(name, ...d.tags.map(t => make('small', 'tag ' + t, t)), ...d.facts.map(f => make('div', '', f)));
		tip.hidden = false;
		showTip.graph = graph;
		showTip.node = i;
	}
	placeTip(tip, e);
}

function placeTip(tip, e) {
	const box = tip.getBoundingClientRect(), gap = 14;
	const x = e.clientX + gap + box.width > innerWidth ? Math.max(4, e.clientX - gap - box.width) : e.clientX + gap;
	const y = e.clientY + gap + box.height > innerHeight ? Math.max(4, e.clientY - gap - box.height) : e.clientY + gap;
	tip.style.left = x + 'px';
	tip.style.top = y + 'px';
}

// ---- actions ----

function set(changes, step = true) {
	Object.assign(state, changes);
	$('tip').hidden = true;
	refresh(step);
}

function pick(row, view) {
	set({ name: model.tree.rows.name[row], view });
}

function sortBy(key) {
	if (state.sort === key)
		set({ ascending: !state.ascending });
	else
		set({ sort: key, ascending: false });
}

function addFilter(key, value) {
	if (!state.filters.has(key))
		state.filters.set(key, new Set());
	state.filters.get(key).add(value);
}

function toggleFilter(key, value) {
	const values = state.filters.get(key);
	if (!values || !values.has(value))
		addFilter(key, value);
	else if (values.delete(value) && !values.size)
		state.filters.delete(key);
	set({});
}

function setTheme(dark) {
	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	palette = dark ? PALETTES.dark : PALETTES.light;
	if (graphs && model.tree) {
		for (const name of ['main', 'callers', 'callees'])
			graphs[name].recolor();
		graphs.strip.draw();
		showLegend();
	}
}

function isDark() {
	return document.documentElement.dataset.theme === 'dark';
}

function keyed(e) {
	const inField = e.target.closest('input, select, dialog');
	if (e.key === 'Escape' && e.target === $('search')) {
		$('search').blur();
		return set({ search: '' });
	}
	if (inField || e.ctrlKey || e.metaKey || e.altKey)
		return undefined;
	const { main } = graphs, row = state.view === 'graph' && main.chosen >= 0 ? main.tree.row[main.chosen]
		: state.view === 'graph' ? main.tree.row[main.zoomed] : rowNamed(state.name);
	if (e.key === '/') {
		e.preventDefault();
		$('search').focus();
		$('search').select();
	} else if (e.key === '?') {
		$('help-dialog').showModal();
	} else if (VIEWS[Number(e.key) - 1]) {
		set({ view: VIEWS[Number(e.key) - 1] });
	} else if (e.key === 'i') {
		set({ rootAtBottom: !state.rootAtBottom });
	} else if (e.key === 'c') {
		set({ color: colors()[(colors().indexOf(colorNow()) + 1) % colors().length] });
	} else if (e.key === 'w') {
		set({ idle: !state.idle });
	} else if (e.key === 'n') {
		showInfo();
	} else if (e.key === 't') {
		pickTime(null);
	} else if (e.key === 'd') {
		setTheme(!isDark());
	} else if ((e.key === 's' || e.key === 'l') && row >= 0 && row < model.tree.rows.n) {
		pick(row, e.key === 's' ? 'sandwich' : 'source');
	} else if (e.key === '0' || e.key === 'Escape') {
		set({ zoom: [] });
	} else if (e.key === 'Backspace') {
		set({ zoom: state.zoom.slice(0, -1) });
	} else if (state.view === 'graph' && e.key.startsWith('Arrow')) {
		main.key(e);
	}
	return undefined;
}

// ---- start ----

function fillControls() {
	const seen = new Map();
	data.events.forEach((e, n) => e.types.forEach((t, k) => {
		const label = typeLabel(e, k);
		seen.set(label, (seen.get(label) || 0) + 1);
	}));
	data.events.forEach((e, n) => e.types.forEach((t, k) => {
		const label = typeLabel(e, k);
		const option = make('option', '', label + (seen.get(label) > 1 ? ' \u00b7 ' + (e.sides[0].periodType || e.sides[0].name) : ''));
		option.value = n + '.' + k;
		$('values').append(option);
	}));
	const none = make('option', '', 'none');
	none.value = '';
	$('group').append(none);
	for (const key of model.labelKeys.keys()) {
		const option = make('option', '', key);
		option.value = key;
		$('group').append(option);
	}
	$('group-pick').hidden = !model.labelKeys.size;
	$('help-waits').hidden = !data.events.some(e => e.hasStates);
	$('help-diff').hidden = !data.events.some(e => e.sides.length > 1);
}

function makeGraphs() {
	const on = name => ({
		hover: (i, e) => showTip(graphs[name], i, e),
		choose: i => i >= 0 && showDetails(graphs[name], i),
		zoom: i => name === 'main' ? set({ zoom: zoomPath(i) }) : graphs[name].tree.row[i] < graphs[name].tree.rows.n &&
			pick(graphs[name].tree.row[i], 'sandwich'),
	});
	return { main: new Graph($('graph'), 'Stacks; use the arrow keys to move between frames', on('main')),
		callers: new Graph($('callers'), 'Callers', on('callers')),
		callees: new Graph($('callees'), 'Callees', on('callees')),
		strip: new Strip($('strip'), { pick: pickTime, tip: showTimeTip }) };
}

function listen() {
	for (const tab of $('tabs').children)
		tab.addEventListener('click', () => set({ view: tab.dataset.view }));
	$('values').addEventListener('change', e => {
		const [n, k] = e.target.value.split('.').map(Number);
		set({ event: n, type: k, side: data.events[n].sides.length > 1 ? state.side : 0 });
	});
	$('by').addEventListener('change', e => set({ by: e.target.value, name: '' }));
	$('group').addEventListener('change', e => set({ group: e.target.value }));
	$('side').addEventListener('change', e => set({ side: Number(e.target.value) }));
	$('search').addEventListener('input', e => set({ search: e.target.value }, false));
	$('icicle').addEventListener('click', () => set({ rootAtBottom: false }));
	$('flame').addEventListener('click', () => set({ rootAtBottom: true }));
	for (const color of ['state', 'function', 'module'])
		$('by-' + color).addEventListener('click', () => set({ color }));
	$('idle').addEventListener('click', () => set({ idle: !state.idle }));
	for (const name of ['range', 'base'])
		for (const end of ['from', 'to'])
			$(name + '-' + end).addEventListener('change', () => typeTime(name));
	$('all-time').addEventListener('click', () => pickTime(null));
	$('compare').addEventListener('click', () => {
		model.picksBase = !model.picksBase;
		set({ base: null });
	});
	$('unzoom').addEventListener('click', () => set({ zoom: [] }));
	pairLines([$('source'), $('code')]);
	$('help').addEventListener('click', () => $('help-dialog').showModal());
	$('info').addEventListener('click', showInfo);
	$('theme').addEventListener('click', () => setTheme(!isDark()));
	document.addEventListener('keydown', keyed);
	const preferred = matchMedia('(prefers-color-scheme: dark)');
	preferred.addEventListener('change', () => setTheme(preferred.matches));
	const follow = () => {
		readState(location.hash.slice(1));
		refresh(false);
	};
	addEventListener('popstate', follow);
}

async function start() {
	setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
	try {
		data = await readData();
	} catch (error) {
		$('title').textContent = 'The data of this page cannot be read';
		$('facts').textContent = typeof DecompressionStream === 'undefined' ? 'This browser is too old: it needs ' +
			'DecompressionStream.' : error.message;
		return;
	}
	model.labelKeys = labelKeys(data);
	data.waits = readWaits(data);
	data.times = readTimes(data);
	if (data.times.some(t => t >= 0))
		model.labelKeys.delete(TIME_KEY);
	for (const e of data.events) {
		e.buckets = readBuckets(e, data.times);
		e.idle = sumIdle(e, data.waits);
		e.hasStates = hasStates(e, data.waits);
	}
	fillControls();
	graphs = makeGraphs();
	listen();
	readState(location.hash.slice(1));
	refresh(false);
	performance.mark('picture');
}

// A page that `cprof report --http` shows has a request open, so that the server knows when it is
// closed.
async function stayOpen() {
	for (let failed = 0; failed < 3;) {
		try {
			const response = await fetch('alive', { cache: 'no-store' });
			await response.text();
			failed = response.ok ? 0 : 3;
		} catch {
			failed++;
		}
		if (failed)
			await new Promise(done => setTimeout(done, 300));
	}
}

if (location.protocol.startsWith('http'))
	stayOpen();
start();
