// ---- tables: rows of functions, labels and source lines -----------------------------------------
//
// Text from the profile enters the page as text nodes, never as markup.

function make(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}

const TABLE_STEP = 400;

function columnClass(c) {
	return (c.isText ? 'text' : 'number') + (c.isMinor ? ' minor' : '');
}

// isMinor: hidden if there is no room; isShare: sorted like the column with the same key.
// columns: [{ key, title, isText, isMinor, isShare, cell(row) -> text or element, help }]; rows are sorted.
// on: { sort(key), pick(row) }.
function showTable(to, columns, rows, { sort, ascending, chosen, on, empty }) {
	const table = make('table', 'rows'), head = make('tr'), body = make('tbody');
	for (const c of columns) {
		const th = make('th', columnClass(c));
		const isSorted = c.key === sort;
		const button = make('button', isSorted ? 'sorted' + (ascending ? ' up' : '') + (c.isShare ? ' also' : '') : '', c.title);
		button.title = c.help || '';
		button.dataset.sort = c.key;
		button.addEventListener('click', () => on.sort(c.key));
		th.ariaSort = isSorted ? ascending ? 'ascending' : 'descending' : 'none';
		th.append(button);
		head.append(th);
	}
	const thead = make('thead');
	thead.append(head);
	table.append(thead, body);
	let shown = 0;
	const more = make('button', 'more');
	const grow = () => {
		const end = Math.min(shown + TABLE_STEP, rows.length);
		for (; shown < end; shown++) {
			const row = rows[shown], tr = make('tr', row === chosen ? 'chosen' : '');
			tr.dataset.row = row;
			for (const c of columns) {
				const td = make('td', columnClass(c)), content = c.cell(row);
				if (c.className)
					td.classList.add(...[c.className(row)].filter(Boolean));
				td.append(content);
				tr.append(td);
			}
			body.append(tr);
		}
		more.hidden = shown === rows.length;
		more.textContent = groupDigits(rows.length - shown) + ' more';
	};
	more.addEventListener('click', grow);
	body.addEventListener('click', e => {
		const tr = e.target.closest('tr');
		if (tr)
			on.pick(Number(tr.dataset.row));
	});
	grow();
	to.replaceChildren(table, more);
	if (!rows.length)
		to.append(make('p', 'empty', empty));
}

function nameCell(rows, row) {
	const cell = make('span', 'name');
	const button = make('button', 'link', rows.name[row]);
	cell.append(button);
	if (rows.isInlined[row])
		cell.append(make('small', 'tag', rows.isCalled[row] ? 'partly inlined' : 'inlined'));
	if (rows.isKernel[row])
		cell.append(make('small', 'tag kernel', 'kernel'));
	return cell;
}

function barCell(share) {
	const bar = make('span', 'meter'), fill = make('span');
	fill.style.width = Math.min(Math.abs(share) * 100, 100) + '%';
	bar.append(fill);
	return bar;
}

// The columns of the table of functions.
function topColumns(sums, rows, total, scale, comparing, unit) {
	const value = (key, title, help) => ({ key, title, help, isMinor: true,
		cell: row => formatScaled(sums[key][0][row], scale) });
	const share = (key, help) => ({ key, title: key + ' %', help, isShare: true,
		cell: row => formatShare(sums[key][0][row], total) });
	const columns = comparing ? [] : [
		value('flat', 'flat', 'own cost'), share('flat', 'of all'),
		value('cum', 'cum', 'including callees'), share('cum', 'of all'),
	];
	if (comparing) {
		const { comparer, z } = comparing;
		for (const key of ['flat', 'cum']) {
			const change = row => rowChange(sums, comparer, key, row);
			const verdict = row => comparer.isSignificant(change(row), z);
			columns.push(
				{ key: key + 'Base', title: key + ' base', isMinor: true, cell: row => comparer.format(change(row).base, unit) },
				{ key, title: key + ' new', isMinor: true, cell: row => comparer.format(change(row).fresh, unit) },
				{ key: key + 'Delta', title: key + ' change', help: '± standard error; ~: could be noise',
				  className: row => verdict(row) === false || !change(row).delta ? 'chance' :
					change(row).delta > 0 ? 'grown' : 'shrunk',
				  cell: row => {
					const c = change(row);
					return comparer.format(c.delta, unit, true) + (c.error ? ' ± ' +
						comparer.format(c.error, unit) : '') + (verdict(row) === false ? ' ~' : '');
				  } });
		}
	}
	columns.push({ key: 'name', title: 'name', isText: true, cell: row => nameCell(rows, row) });
	columns.push({ key: 'file', title: 'file', isText: true, cell: row => {
		const where = make('span', 'where', rows.file[row] || rows.module[row]);
		where.title = where.textContent;
		return where;
	} });
	return columns;
}

function rowChange(sums, comparer, key, row) {
	const values = sums[key], variance = sums[key + 'Variance'];
	return comparer.change(values[0][row], variance[0][row], values[1][row], variance[1][row]);
}

function changeRank(sums, { comparer, z }, key, row) {
	const change = rowChange(sums, comparer, key, row);
	return Math.abs(change.delta) * (comparer.isSignificant(change, z) === false ? 1e-9 : 1);
}

function sortRows(sums, rows, list, sort, ascending, comparing) {
	const number = {
		flat: row => Math.abs(sums.flat[0][row]), cum: row => Math.abs(sums.cum[0][row]),
		flatBase: row => Math.abs(sums.flat[1][row]), cumBase: row => Math.abs(sums.cum[1][row]),
		// significant changes come first
		flatDelta: row => changeRank(sums, comparing, 'flat', row),
		cumDelta: row => changeRank(sums, comparing, 'cum', row),
	}[sort];
	const text = sort === 'file' ? rows.file : rows.name;
	const byText = (a, b) => text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : a - b;
	const order = number ? (a, b) => number(b) - number(a) || byText(a, b) : byText;
	const sorted = [...list].sort(order);
	return ascending ? sorted.reverse() : sorted;
}

// ---- source ----

const LINES_AROUND = 6;

function showSource(to, data, files, total, scale, nSides, empty) {
	to.replaceChildren();
	const order = [...files].sort((a, b) => heat(b[1]) - heat(a[1]));
	for (const [file, lines] of order) {
		to.append(make('h3', 'file', data.strings[file] || 'unknown source file'));
		const table = make('table', 'lines');
		const head = make('tr');
		for (const title of nSides > 1 ? ['flat', 'cum', 'cum base', 'line'] : ['flat', 'cum', 'line'])
			head.append(make('th', 'number', title));
		head.append(make('th', 'text', 'source'));
		table.append(head);
		const text = data.sources.get(file) || new Map(), numbers = new Set(lines.keys());
		for (const n of lines.keys())
			for (let k = n - LINES_AROUND; n > 0 && k <= n + LINES_AROUND; k++)
				if (text.has(k))
					numbers.add(k);
		let before = 0;
		for (const n of [...numbers].sort((a, b) => a - b)) {
			if (before && n > before + 1)
				table.append(make('tr', 'gap'));
			before = n;
			table.append(sourceLine(n, lines.get(n), text.get(n), total, scale, nSides));
		}
		to.append(table);
		if (!text.size)
			to.append(make('p', 'note', data.strings[file] ? 'The page does not include the text of this file.'
				: 'There was no debug information about this code when it was recorded.'));
	}
	if (!order.length)
		to.append(make('p', 'empty', empty));
}

function heat(lines) {
	let sum = 0;
	for (const l of lines.values())
		sum += Math.abs(l.cum[0]) + Math.abs(l.cum[1]);
	return sum;
}

function sourceLine(n, line, text, total, scale, nSides) {
	const tr = make('tr', line ? 'hit' : '');
	if (line && n > 0)
		tr.dataset.line = n;
	const flat = make('td', 'number', line && line.flat[0] ? formatScaled(line.flat[0], scale) : '');
	const cum = make('td', 'number', line && line.cum[0] ? formatScaled(line.cum[0], scale) : '');
	if (line) {
		const share = total ? Math.min(Math.abs(line.cum[0] / total), 1) : 0;
		tr.style.setProperty('--heat', (share ? 6 + 40 * Math.sqrt(share) : 0) + '%');
		cum.title = flat.title = formatShare(line.flat[0], total) + ' flat, ' + formatShare(line.cum[0], total) + ' cum';
	}
	tr.append(flat, cum);
	if (nSides > 1)
		tr.append(make('td', 'number', line && line.cum[1] ? formatScaled(line.cum[1], scale) : ''));
	tr.append(make('td', 'number line', n > 0 ? String(n) : '?'), make('td', 'code', text === undefined ? '' : text));
	return tr;
}

// ---- instructions ----

// functions: those of the source on the other side, as decode.js reads them.
function showCode(to, functions, total, scale, note) {
	to.replaceChildren();
	to.hidden = !functions.length;
	for (const f of functions) {
		to.append(make('h3', 'file', f.module), make('p', 'note', note));
		const table = make('table', 'lines'), head = make('tr');
		for (const title of ['flat', 'cum', 'line', 'address'])
			head.append(make('th', 'number', title));
		head.append(make('th', 'text', 'instruction'));
		table.append(head);
		let before = 0;
		for (const x of f.instructions) {
			// The longest instruction of x86-64 has 15 bytes.
			if (before && x.address > before + 15)
				table.append(make('tr', 'gap'));
			before = x.address;
			const tr = sourceLine(x.line || -1, x.flat || x.cum ? { flat: [x.flat, 0], cum: [x.cum, 0] } : undefined, x.text,
				total, scale, 1);
			tr.dataset.line = x.line;
			tr.children[2].textContent = x.line || '';
			tr.children[2].after(make('td', 'number line', x.address.toString(16)));
			table.append(tr);
		}
		to.append(table);
	}
}

// A line and its instructions are marked together.
function markLine(views, line) {
	for (const view of views)
		for (const tr of view.querySelectorAll('tr[data-line], tr.marked'))
			tr.classList.toggle('marked', line > 0 && Number(tr.dataset.line) === line);
}

function pairLines(views) {
	for (const view of views)
		view.addEventListener('mouseover', e => {
			const tr = e.target.closest('tr');
			markLine(views, tr && tr.dataset.line ? Number(tr.dataset.line) : 0);
		});
}

// ---- labels ----

const VALUES_SHOWN = 50;

// groups: [{ key, values: [[value, [fresh, base]]], chosen: Set }]; on: { toggle(key, value), group(key) }
function showLabels(to, groups, total, unit, on) {
	to.replaceChildren();
	for (const g of groups) {
		const box = make('section', 'label'), head = make('h2', '', g.key);
		const by = make('button', 'link', g.isGrouped ? 'ungroup' : 'group by this');
		by.addEventListener('click', () => on.group(g.isGrouped ? '' : g.key));
		head.append(by);
		box.append(head);
		const list = make('ul', 'values');
		const add = ([value, sums]) => {
			const li = make('li'), button = make('button', g.chosen.has(value) ? 'value on' : 'value');
			button.setAttribute('aria-pressed', g.chosen.has(value));
			button.dataset.key = g.key;
			button.dataset.value = value;
			const share = total ? sums[0] / total : 0;
			button.append(make('span', 'what', value), barCell(share), make('span', 'number', formatValue(sums[0], unit)),
				make('span', 'number share', formatShare(sums[0], total)));
			button.addEventListener('click', () => on.toggle(g.key, value));
			li.append(button);
			list.append(li);
		};
		g.values.slice(0, VALUES_SHOWN).forEach(add);
		box.append(list);
		if (g.values.length > VALUES_SHOWN) {
			const more = make('button', 'more', groupDigits(g.values.length - VALUES_SHOWN) + ' more');
			more.addEventListener('click', () => {
				g.values.slice(VALUES_SHOWN).forEach(add);
				more.remove();
			});
			box.append(more);
		}
		to.append(box);
	}
	if (!groups.length)
		to.append(make('p', 'empty', 'No sample in this profile has labels.'));
}
