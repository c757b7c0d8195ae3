'use strict';
// Uses the page of `cprof report --html` as a person would. TAP.
//
//	page.js FOLDER      with main.html (CPU and page faults), diff.html, hostile.html, diff.svg

const { axeSource, violations } = require('./axe.js');
const { Browser } = require('./browser.js');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const folder = path.resolve(process.argv[2]);
let n = 0, failed = 0;

function ok(holds, name, got) {
	console.log((holds ? 'ok ' : 'not ok ') + ++n + ' - ' + name);
	if (holds)
		return;
	failed++;
	console.log('# got ' + JSON.stringify(got));
}

function is(got, want, name) {
	ok(JSON.stringify(got) === JSON.stringify(want), name, got);
}

const url = (file, hash = '') => pathToFileURL(path.join(folder, file)) + hash;
const READY = 'document.documentElement.dataset.ready > 0';
const LEGEND = `[...document.querySelectorAll('#legend span')].map(e => e.textContent)`;
// The top table as lines of text, with thin spaces as spaces.
const ROWS = `[...document.querySelectorAll('#top tbody tr')].map(tr => [...tr.cells].map(td =>
	(td.querySelector('button') || td).textContent.replace(/\\u202f/g, ' ')).slice(0, -1).join('|'))`;
const DETAIL = `document.getElementById('detail-text').textContent.replace(/\\u202f/g, ' ')`;
const MATCHED = `document.getElementById('matched').textContent`;
const FACTS = `document.getElementById('facts').textContent.replace(/\\u202f/g, ' ')`;

// Has the graph boxes of these colours?
const drawn = colors => `(() => { const c = document.querySelector('#graph canvas'), d = c.getContext('2d')
	.getImageData(0, 0, c.width, c.height).data, seen = new Set();
	for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16 | d[i + 1] << 8 | d[i + 2]).toString(16).padStart(6, '0'));
	return ${JSON.stringify(colors)}.map(color => seen.has(color)); })()`;

// Clicks the middle of a box in the graph, given its level and its position as a part of the width.
async function clickBox(page, graph, level, x, bottom = false) {
	const at = await page.eval(`(() => { const e = document.querySelector('${graph}'), b = e.getBoundingClientRect();
		const w = e.clientWidth; return { x: b.x + w * ${x}, y: ${bottom} ? b.bottom - ${level} * 20 - 10 : b.y + ${level} * 20 + 10 }; })()`);
	await page.mouse(at.x, at.y, true);
}

async function tries(page) {
	is(await page.eval(`document.getElementById('title').textContent`), 'cpu.pb.gz', 'the title names the file');
	ok(/2\.40 s cpu/.test(await page.eval(FACTS)), 'the total is shown', await page.eval(FACTS));
	ok(await page.eval(`(() => { const c = document.querySelector('#graph canvas'), d = c.getContext('2d')
		.getImageData(0, 0, c.width, c.height).data, seen = new Set();
		for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
		return seen.size > 5; })()`), 'the graph is drawn');

	// zoom
	await clickBox(page, '#graph', 2, 0.25);
	await page.until(`location.hash.includes('zoom=')`);
	ok(/^work.*58\.33% of all/.test(await page.eval(DETAIL)), 'a click on work zooms in on it', await page.eval(DETAIL));
	await clickBox(page, '#graph', 1, 0.5);
	await page.until(`document.getElementById('detail-text').textContent.startsWith('main')`);
	ok(true, 'a click on an outer frame zooms out');
	await page.click('#unzoom');
	await page.until(`!location.hash.includes('zoom=')`);
	ok(true, 'the button shows all again');
	await page.eval(`document.querySelector('#graph canvas').focus()`);
	for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight'])
		await page.key(key);
	ok(/^parse/.test(await page.eval(DETAIL)), 'the arrow keys move to parse', await page.eval(DETAIL));
	await page.key('Enter');
	await page.until(`location.hash.includes('zoom=0.1')`);
	ok(true, 'Enter zooms in on it');
	await page.eval('history.back()');
	await page.until(`!location.hash.includes('zoom=') && document.getElementById('unzoom').disabled`);
	ok(true, "the browser's Back zooms out");

	// colours
	is(await page.eval(`document.getElementById('by-state').hidden`), true, 'without waits there are no states');
	is(await page.eval(`${drawn(['f8e4c4', 'f6ddba', 'f9e9ce', 'f5dbbf', 'f8e5c9', 'f3dec3'])}.some(x => x)`), true,
		'inlined functions have colours of their own');
	await page.click('#by-module');
	await page.until(`location.hash.includes('color=module')`);
	is(await page.eval(LEGEND), ['[app] 91.67%', '[kernel.kallsyms] 8.33%'], 'the legend has the modules and their shares');
	is(await page.eval(drawn(['f3c08a', 'a5c1dc', 'f8e4c4', 'f6ddba', 'f9e9ce', 'f5dbbf', 'f8e5c9', 'f3dec3'])),
		[true, true, false, false, false, false, false, false], 'their boxes have their colours');
	await page.eval('history.back()');
	await page.until(`!location.hash.includes('color=')`);
	ok(true, "the browser's Back returns to kinds");

	await page.click('#flame');
	await clickBox(page, '#graph', 2, 0.25, true);
	await page.until(`location.hash.includes('flame=1') && location.hash.includes('zoom=')`);
	ok(/^work/.test(await page.eval(DETAIL)), 'the flame graph has its root at the bottom', await page.eval(DETAIL));
	await page.key('0');
	await page.click('#icicle');

	// search
	await page.click('#search');
	await page.type('LEX');
	await page.until(`document.getElementById('matched').textContent`);
	is(await page.eval(MATCHED), '16.67% matched', 'the search shows the share of stacks with lex');
	await page.eval(`document.getElementById('search').select()`);
	await page.type('/^(lex|fib)$/');
	await page.until(MATCHED + `.startsWith('25')`);
	ok(true, 'a regular expression matches; a recursive function counts once');
	await page.eval(`document.getElementById('search').select()`);
	await page.type('/(/');
	await page.until(MATCHED + `.includes('not a valid')`);
	ok(true, 'an invalid expression is reported');
	await page.key('Escape');
	await page.until(`!${MATCHED}`);

	// top
	await page.click('[data-view=top]');
	is(await page.eval(ROWS), ['1200.00 ms|50.00%|1400.00 ms|58.33%|work', '400.00 ms|16.67%|400.00 ms|16.67%|lex',
		'400.00 ms|16.67%|800.00 ms|33.33%|parse', '200.00 ms|8.33%|200.00 ms|8.33%|fib',
		'200.00 ms|8.33%|200.00 ms|8.33%|sys_read', '0|0%|2400.00 ms|100%|main'].map(s =>
		s.replaceAll(/(\d)(\d{3}\.)/g, '$1 $2')), 'the table has the numbers of cprof report');
	await page.click('#top [data-sort=cum]');
	is((await page.eval(ROWS))[0].split('|').pop(), 'main', 'sorted by cum');
	await page.click('#top [data-sort=name]');
	is((await page.eval(ROWS))[0].split('|').pop(), 'fib', 'sorted by name');
	is(await page.eval(`[...document.querySelectorAll('#top .tag')].map(e => e.textContent)`), ['inlined', 'kernel'],
		'inlined and kernel frames are marked');

	// sandwich
	await page.click('#top tbody tr:nth-child(2)');
	await page.until(`location.hash.includes('view=sandwich')`);
	is(await page.eval(`document.getElementById('sandwich-name').textContent`), 'lex', 'a click on a row shows its callers');
	await clickBox(page, '#callers', 1, 0.5, true);
	await page.until(`location.hash.includes('name=parse')`);
	ok(true, 'a click on the caller selects it');
	await clickBox(page, '#callees', 1, 0.25);
	await page.until(`location.hash.includes('name=lex')`);
	ok(true, 'a click on the callee returns');

	// source
	await page.click('[data-view=source]');
	await page.until(`document.querySelector('#source tr.hit')`);
	is(await page.eval(`[...document.querySelectorAll('#source tr.hit')].map(tr =>
		[...tr.cells].map(td => td.textContent.replace(/\\u202f/g, ' ')).join('|'))`),
		['400.00 ms|400.00 ms|31|/* line 31 </script> */'], 'the source lines of lex are shown');
	await page.eval(`location.hash = 'view=source&name=fib'`);
	await page.until(`document.querySelector('#source h2').textContent === 'fib'`);
	is(await page.eval(`[...document.querySelectorAll('#source tr.hit')].map(tr => tr.cells[2].textContent + ' ' +
		tr.cells[0].textContent.replace(/\\u202f/g, ' '))`), ['50 ', '51 ', '52 200.00 ms'], 'the source lines of fib are shown');

	// labels
	await page.click('[data-view=labels]');
	await page.click('[data-key=thread_name][data-value=beta]');
	await page.until(`document.querySelector('.chip')`);
	await page.click('[data-view=top]');
	is((await page.eval(ROWS)).find(r => r.endsWith('work')), '300.00 ms|12.50%|350.00 ms|14.58%|work',
		'a filter by thread keeps shares of the total');
	await page.click('.chip');
	await page.until(`!document.querySelector('.chip')`);
	ok((await page.eval(ROWS)).some(r => r.startsWith('1 200')), 'without the filter, all samples are shown', await page.eval(ROWS));
	await page.click('[data-view=graph]');
	await page.select('#group', 'thread_name');
	await clickBox(page, '#graph', 1, 0.9);
	await page.until(`location.hash.includes('zoom=')`);
	ok(/^thread_name: beta.*25\.00% of all/.test(await page.eval(DETAIL)), 'stacks are grouped by thread', await page.eval(DETAIL));
	await page.select('#group', '');

	// frames and values
	await page.click('[data-view=top]');
	await page.select('#by', 'file');
	is(await page.eval(ROWS + '.map(r => r.split("|").pop())'), ['main.c', 'fs/read_write.c'], 'rows are files');
	await page.select('#by', 'module');
	is(await page.eval(ROWS + '.map(r => r.split("|").pop())'), ['[app]', '[kernel.kallsyms]'], 'rows are modules');
	await page.select('#by', 'line');
	ok((await page.eval(ROWS)).some(r => r.endsWith('work main.c:40')), 'rows are lines');
	await page.select('#by', 'function');
	is(await page.eval(`[...document.querySelectorAll('#values option')].map(o => o.textContent)`),
		['samples · cpu', 'cpu (nanoseconds)', 'samples · page-faults', 'page-faults'], 'all events can be chosen');
	await page.select('#values', '1.1');
	is(await page.eval(ROWS), ['70|70.00%|70|70.00%|parse', '30|30.00%|30|30.00%|work', '0|0%|100|100%|main'],
		'page faults have their own values');
	await page.select('#values', '0.0');
	is((await page.eval(ROWS))[0].startsWith('1 200|50.00%'), true, 'samples have their own values');

	// info
	await page.key('n');
	ok(await page.eval(`document.getElementById('info-dialog').open && document.querySelector('#info-text h3').textContent === 'cpu.pb.gz'`),
		'the key n shows what the profile says about itself', await page.eval(`document.getElementById('info-text').textContent`));
	is(await page.eval(`[...document.querySelectorAll('#info-text dt')].map(e => e.textContent + '|' + e.nextSibling.textContent)`),
		['command|app --fast', 'losses|3 samples lost: the ring was full',
			'not in the profile|1.00 s (30 %) of 3.40 s of CPU time, most of it in the kernel'], 'its comments, as keys and texts');
	is(await page.eval(`[...document.querySelectorAll('#info-text dt.lost')].map(e => e.textContent)`),
		['losses', 'not in the profile'], 'what the profile lacks stands out');
	await page.key('Escape');
	await page.until(`!document.getElementById('info-dialog').open`);

	// help, theme
	await page.click('#help');
	ok(await page.eval(`document.getElementById('help-dialog').open`), 'help opens');
	await page.key('Escape');
	await page.until(`!document.getElementById('help-dialog').open`);
	const paper = `getComputedStyle(document.body).backgroundColor`;
	const light = await page.eval(paper);
	await page.click('#theme');
	ok(await page.eval(paper) !== light, 'the dark theme has another background');
}

async function compares(page) {
	await page.click('[data-view=top]');
	const rows = await page.eval(ROWS);
	is(rows[0], '25.00%|50.00%|+25.00% ± 1.58%|37.50%|58.33%|+20.83% ± 1.61%|work', 'changes are those of cprof report');
	ok(rows.some(r => r.startsWith('0.00%|0.00%') && r.endsWith('main') && r.includes('~')), 'noise is marked', rows);
	await page.click('[data-view=graph]');
	const colors = `(() => { const c = document.querySelector('#graph canvas').getContext('2d'), r = devicePixelRatio,
		w = document.getElementById('graph').clientWidth; return [[0.25, 2], [0.9, 2], [0.99, 1]].map(([x, level]) => {
		const d = c.getImageData(w * x * r, (level * 20 + 3) * r, 1, 1).data;
		return d[0] > d[2] + 25 ? 'red' : d[2] > d[0] + 25 ? 'blue' : 'grey'; }); })()`;
	is(await page.eval(colors), ['red', 'blue', 'grey'], 'grown frames are red, shrunk ones blue, equal ones grey');
	await page.select('#side', '1');
	await clickBox(page, '#graph', 2, 0.2);
	await page.until(`location.hash.includes('zoom=')`);
	ok(/^parse/.test(await page.eval(DETAIL)), 'with the widths of the base, parse is the largest', await page.eval(DETAIL));
}

async function resists(page) {
	for (const view of ['graph', 'top', 'sandwich', 'source', 'labels']) {
		await page.click(`[data-view=${view}]`);
		await page.until(`!document.getElementById('view-${view}').hidden`);
	}
	await page.click('[data-view=top]');
	ok((await page.eval(ROWS)).some(r => r.includes('</script><img src=x onerror=')), 'hostile names are text',
		await page.eval(ROWS));
	ok((await page.eval(ROWS)).some(r => r.endsWith('__proto__')), '__proto__ is an ordinary name');
	is(await page.eval(`document.querySelectorAll('img, iframe, body svg svg, [onerror], [onload]').length`), 0, 'names do not become elements');
	ok(/hostile/.test(await page.eval('document.title')), 'names do not run as scripts', await page.eval('document.title'));
	await page.select('#group', 'thread_name');
	await page.click('[data-view=graph]');
	await clickBox(page, '#graph', 1, 0.1);
	await page.until(`location.hash.includes('zoom=')`);
	ok(true, 'zooming in on hostile names works');
	const policy = await page.eval(`(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';
		document.body.append(s); const i = new Image(); i.src = 'https://example.invalid/'; return !window.ran; })()`);
	ok(policy, 'the policy blocks other scripts');
	for (let i = 0; i < 100 && !page.refused.length; i++)
		await page.eval('new Promise(resolve => setTimeout(resolve, 20))');
	is(page.refused, ['csp'], 'the policy blocks loading');
	page.requests = page.requests.filter(r => !r.includes('example.invalid'));
	page.errors = page.errors.filter(e => !/Content Security Policy/.test(e));
}

// Most boxes of deep.html are folded.
async function folds(browser) {
	const page = await browser.open(url('deep.html', '#view=top&values=0.1'));
	await page.until(READY);
	ok(/% folded: callees of at most 0\.0\d+% of all/.test(await page.eval(FACTS)), 'the page says what is folded',
		await page.eval(FACTS));
	const row = (list, name) => (list.find(r => r.endsWith('|' + name)) || '').split('|');
	let rows = await page.eval(ROWS);
	is([0, 1, 2, 3].map(i => row(rows, 'leaf' + i)[1]), ['25.00%', '25.00%', '25.00%', '25.00%'],
		'the table has the functions in folded boxes');
	is([row(rows, 'odd')[3], row(rows, 'even')[3], row(rows, 'main')[3]], ['50.00%', '50.00%', '100%'],
		'and the sums of their callers');
	ok(!rows.some(r => r.includes('smaller')), 'folded boxes are no row', rows);
	const filtered = await browser.open(url('deep.html', '#view=top&values=0.1&label=third%3Dyes'));
	await filtered.until(READY);
	rows = await filtered.eval(ROWS);
	is(row(rows, 'main')[3], '33.33%', 'sums by label are those of the label');
	ok(row(rows, '[smaller callees]')[1] !== undefined, 'where folded boxes are a row', rows);
	const byFile = await browser.open(url('deep.html', '#view=top&values=0.1&by=file'));
	await byFile.until(READY);
	rows = await byFile.eval(ROWS);
	is([row(rows, 'odd.c')[3], row(rows, 'leaf.c')[1]], ['50.00%', '100%'], 'rows by file are exact, too');
	const graph = await browser.open(url('deep.html', '#view=graph&values=0.1&search=odd'));
	await graph.until(READY);
	ok(/^≥ /.test(await graph.eval(MATCHED)), 'a search shows a lower limit', await graph.eval(MATCHED));
	for (const p of [page, filtered, byFile, graph])
		is(p.errors, [], 'deep.html: no errors on the console');
}

// Most callees of narrow.html are narrower than a pixel.
async function sharesBox(browser) {
	const page = await browser.open(url('narrow.html'), { width: 390, height: 780 });
	await page.until(READY);
	const isDrawn = x => `(() => { const c = document.querySelector('#graph canvas'), r = devicePixelRatio;
		return c.getContext('2d').getImageData(c.width * ${x}, (2 * 20 + 5) * r, 1, 1).data[3] > 0; })()`;
	is([await page.eval(isDrawn(0.1)), await page.eval(isDrawn(0.3)), await page.eval(isDrawn(0.9))], [true, true, true],
		'narrow callees share a box');
	const at = await page.eval(`(() => { const b = document.querySelector('#graph').getBoundingClientRect();
		return { x: b.x + b.width * 0.8, y: b.y + 50 }; })()`);
	await page.mouse(at.x, at.y, true);
	const tip = `document.getElementById('tip').textContent.replace(/\u202f/g, ' ')`;
	ok(/^3000 smaller callees3\.00 s · 75\.00% of all.*too narrow to draw$/.test(await page.eval(tip)),
		'and it says what it stands for', await page.eval(tip));
	is(page.errors.filter(e => !/willReadFrequently/.test(e)), [], 'narrow.html: no errors on the console');
}

// Turns the wheel over a graph.  The functions under the pointer, before and after.
async function turnWheel(page, graph) {
	const under = `document.querySelector('#tip strong').textContent`, top = `document.querySelector('${graph}').scrollTop`;
	const at = await page.eval(`(() => { const b = document.querySelector('${graph}').getBoundingClientRect();
		return { x: b.x + b.width / 2, y: b.y + b.height / 2 }; })()`);
	await page.mouse(at.x, at.y, false);
	const before = await page.eval(under), begin = await page.eval(top);
	await page.send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...at, deltaX: 0, deltaY: begin ? -100 : 100 });
	for (let i = 0; i < 100 && await page.eval(top) === begin; i++)
		await new Promise(done => setTimeout(done, 50));
	await page.eval('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
	return { before, after: await page.eval(under), moved: await page.eval(top) !== begin };
}

// The only stack of tall.html is higher than the window.
async function scrolls(browser) {
	const page = await browser.open(url('tall.html'), { width: 1280, height: 600 });
	await page.until(READY);
	for (const [hash, graph] of [['view=graph', '#graph'], ['view=sandwich&name=f50', '#callers'], ['view=sandwich&name=f5', '#callees']]) {
		await page.eval(`location.hash = '${hash}'`);
		await page.until(`document.querySelector('${graph}').scrollHeight > document.querySelector('${graph}').clientHeight + 100 &&
			document.querySelector('${graph}').clientHeight > 50`);
		const { before, after, moved } = await turnWheel(page, graph);
		ok(moved, graph + ': a high stack scrolls');
		ok(/^f\d+$/.test(before) && /^f\d+$/.test(after) && before !== after, graph + ': the tooltip follows', [before, after]);
	}
	is(page.errors.filter(e => !/willReadFrequently/.test(e)), [], 'tall.html: no errors on the console');
}

// Colours as words, at places of the graph: [level, part of the width].
const stateAt = places => `(() => { const c = document.querySelector('#graph canvas').getContext('2d'), r = devicePixelRatio,
	w = document.getElementById('graph').clientWidth; return ${JSON.stringify(places)}.map(([level, x]) => {
	const [red, green, blue] = c.getImageData(w * x * r, (level * 20 + 3) * r, 1, 1).data;
	return green > red && green > blue ? 'green' : red > blue + 80 ? 'orange' : red > green + 30 ? 'red' : 'other'; }); })()`;

async function waits(page) {
	ok(/4\.00 s wall.*2\.00 threads on average.*6\.00 s idle hidden/.test(await page.eval(FACTS)),
		'idle threads are not in the total, and their sum is shown', await page.eval(FACTS));
	is(await page.eval(LEGEND), ['running 12.50%', 'preempted 12.50%', 'blocked 75.00%'], 'the legend has the states');
	// main (2 s) | start_thread (2 s); fetch (1.5 s) | compute (0.5 s) below run
	is(await page.eval(stateAt([[1, 0.02], [1, 0.2], [1, 0.4], [1, 0.9], [3, 0.45]])),
		['green', 'orange', 'red', 'red', 'green'], 'boxes are divided by state');
	await clickBox(page, '#graph', 3, 0.1);
	await page.until(`location.hash.includes('zoom=')`);
	ok(/^fetch.*blocked 66\.67%, preempted 33\.33%/.test(await page.eval(DETAIL)), 'a box says its states', await page.eval(DETAIL));
	await page.key('0');
	await page.click('#by-function');
	await page.until(`location.hash.includes('color=function')`);
	is(await page.eval(LEGEND), ['own code', 'libraries', 'kernel'], 'the switch shows kinds of functions');
	await page.key('c');
	await page.until(`location.hash.includes('color=module')`);
	await page.key('c');
	await page.until(`!location.hash.includes('color=')`);
	ok(true, 'the key c goes on to modules, and back to states');
	await page.click('[data-view=top]');
	is(await page.eval(ROWS + '.slice(0, 3)'), ['2 000.00 ms|50.00%|2 000.00 ms|50.00%|serve', '1 500.00 ms|37.50%|1 500.00 ms|37.50%|fetch',
		'500.00 ms|12.50%|500.00 ms|12.50%|clear_page'], 'waits belong to the function that waits');
	await page.click('[data-view=graph]');
	is(await page.eval(`document.getElementById('idle').textContent.replace(/\u202f/g, ' ')`), 'Show idle: 6.00 s', 'a button shows idle threads');
	await page.click('#idle');
	await page.until(`location.hash.includes('idle=1')`);
	ok(/10\.00 s wall.*5\.00 threads on average/.test(await page.eval(FACTS)), 'then they are in the total', await page.eval(FACTS));
	await page.click('[data-view=labels]');
	await page.click('[data-key=idle][data-value=pool]');
	await page.until(`document.querySelector('.chip')`);
	ok(/40\.00% shown/.test(await page.eval(FACTS)), 'the label idle selects them', await page.eval(FACTS));
	await page.click('.chip');
	await page.click('[data-view=graph]');
	await page.key('w');
	await page.until(`!location.hash.includes('idle=')`);
	ok(true, 'the key w hides them');
	await page.select('#values', '1.1');
	is(await page.eval(`[$ => 0, 'by-state', 'idle'].slice(1).map(id => document.getElementById(id).hidden)`), [true, true],
		'a profile without waits has no such switches');
}

async function comparesWaits(page) {
	await page.click('[data-view=top]');
	const fetch = (await page.eval(ROWS)).find(r => r.endsWith('fetch'));
	ok(/^37\.50%\|50\.00%\|/.test(fetch), 'shares of a comparison are without idle threads', fetch);
}

// Marks a part of the strip, given as parts of its time.
async function drag(page, from, to) {
	const at = await page.eval(`(() => { const b = document.querySelector('#strip canvas').getBoundingClientRect(), left = b.width < 600 ? 84 : 150;
		return [${from}, ${to}].map(part => ({ x: b.x + left + part * (b.width - left), y: b.y + 20 })); })()`);
	for (const [type, place] of [['mousePressed', at[0]], ['mouseMoved', at[1]], ['mouseReleased', at[1]]])
		await page.send('Input.dispatchMouseEvent', { type, ...place, button: 'left', buttons: 1, clickCount: 1 });
}

async function times(page) {
	ok(await page.eval(`!document.getElementById('timeline').hidden`), 'a profile with times has a strip');
	ok(/Activity over 2\.00 s of all threads, alpha 11, beta 12/.test(await page.eval(
		`document.querySelector('#strip canvas').getAttribute('aria-label').replace(/\u202f/g, ' ')`)), 'with a row for each thread',
		await page.eval(`document.querySelector('#strip canvas').getAttribute('aria-label')`));
	const cell = (part, row) => `(() => { const c = document.querySelector('#strip canvas'), r = devicePixelRatio, w = c.width / r;
		const left = w < 600 ? 84 : 150, d = c.getContext('2d').getImageData((left + ${part} * (w - left)) * r, (${row} * 17 + 6) * r, 1, 1).data;
		return d[0] + d[1] + d[2]; })()`;
	ok(await page.eval(cell(0.75, 2)) > await page.eval(cell(0.25, 2)) + 30, 'a thread that does less is paler');
	is(await page.eval(`[...document.querySelectorAll('#group option')].map(o => o.value)`), ['', 'thread_name', 'tid'],
		'times are no label to group by');
	await page.click('[data-view=top]');
	ok((await page.eval(ROWS)).some(r => r.endsWith('parse')), 'at first the whole time is shown', await page.eval(ROWS));
	await drag(page, 0.5, 1);
	await page.until(`location.hash.includes('time=')`);
	is((await page.eval(ROWS)).filter(r => !r.endsWith('main')).map(r => r.split('|').slice(1, 2) + ' ' + r.split('|').pop()),
		['80.00% work', '20.00% idle'], 'a marked range filters the table');
	ok(/1\.25 s cpu.*from 1\.00 s to 2\.00 s/.test(await page.eval(FACTS)), 'and the total', await page.eval(FACTS));
	await page.click('[data-view=graph]');
	await clickBox(page, '#graph', 2, 0.5);
	await page.until(`location.hash.includes('zoom=')`);
	ok(/^work.*80\.00% of all/.test(await page.eval(DETAIL)), 'and the graph', await page.eval(DETAIL));
	await page.key('0');
	await page.click('#compare');
	await drag(page, 0, 0.5);
	await page.until(`location.hash.includes('base=')`);
	await page.click('[data-view=top]');
	let rows = await page.eval(ROWS);
	ok(rows.some(r => /^0\.00%\|80\.00%\|\+80\.00%/.test(r) && r.endsWith('work')), 'two ranges are compared', rows);
	ok(/1\.00 s to 2\.00 s compared with 0.* to 1\.00 s/.test(await page.eval(`document.title.replace(/\u202f/g, ' ')`)), 'by name',
		await page.eval('document.title'));
	await page.click('#compare');
	await page.until(`!location.hash.includes('base=')`);
	await page.click('#compare');
	await page.eval(`(() => { const e = document.getElementById('range-from'); e.value = '0';
		document.getElementById('range-to').value = '0.1'; e.dispatchEvent(new Event('change')); })()`);
	await page.until(`location.hash.includes('time=0-100000000')`);
	rows = await page.eval(ROWS);
	ok(rows.some(r => r.endsWith('parse')) && !rows.some(r => r.endsWith('work')), 'a range can be typed', rows);
	await page.key('t');
	await page.until(`!location.hash.includes('time=')`);
	ok(await page.eval(`document.getElementById('all-time').disabled`), 'the key t shows the whole time');
}

// Instructions beside the source
async function disassembles(page) {
	await page.eval(`location.hash = 'view=source&name=spin_leaf'`);
	await page.until(`document.querySelector('#code tr.hit')`);
	const rows = await page.eval(`[...document.querySelectorAll('#code tr.hit')].map(tr => [...tr.cells].map(td => td.textContent))`);
	ok(rows.every(r => /^[0-9a-f]{3,}$/.test(r[3]) && /^[a-z]/.test(r[4])), 'instructions have addresses', rows);
	const marked = await page.eval(`(() => { const tr = document.querySelector('#code tr.hit[data-line]');
		tr.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
		return ['#source', '#code'].map(v => [...document.querySelectorAll(v + ' tr.marked')].map(m => m.dataset.line === tr.dataset.line)); })()`);
	ok(marked.every(m => m.length && m.every(same => same)), 'a line and its instructions are marked together', marked);
	await page.eval(`location.hash = 'view=source&name=main'`);
	await page.until(`document.querySelector('#source h2').textContent === 'main'`);
	ok(await page.eval(`document.getElementById('code').hidden`), 'a function without cost of its own has none');
}

// States of a page in which its elements differ: part of its address, and what is opened.
const STATES = [['view=graph'], ['view=top&search=main'], ['view=sandwich&name=main'], ['view=source&name=main'],
	['view=labels'], ['view=graph&label=thread_name%3Dalpha', '#help'], ['view=top', '#info']];

// No rule of axe-core is violated, in any view, light and dark, on wide and narrow windows.
async function accessible(browser, files) {
	const axe = await axeSource(browser), found = new Set();
	let n = 0;
	for (const [file, states] of files)
		for (const [k, [hash, button]] of states.entries()) {
			const narrow = k % 2 === 1;
			const page = await browser.open(url(file, '#' + hash),
				{ width: narrow ? 390 : 1400, height: 800, mobile: narrow });
			await page.until(READY);
			if (button)
				await page.eval(`document.querySelector('${button}').click()`);
			for (let theme = 0; theme < 2; theme++) {
				for (const line of await violations(page, axe))
					found.add(file + ' ' + hash + ' ' + (button || '') + ': ' + line);
				n++;
				await page.eval(`document.getElementById('theme').click()`);
			}
			await browser.send('Target.closeTarget', { targetId: page.targetId });
		}
	ok(n > 20, 'axe-core looks at the pages', n);
	is([...found], [], 'and finds no violation');
}

async function main() {
	const browser = await Browser.start(folder);
	const end = code => {
		browser.kill();
		process.exit(code);
	};
	process.on('SIGTERM', () => end(1));
	try {
		for (const [file, steps, options] of [['main.html', tries, {}], ['diff.html', compares, { dark: true }],
			['waits.html', waits, {}], ['times.html', times, {}], ['later.html', comparesWaits, {}],
			...fs.existsSync(path.join(folder, 'code.html')) ? [['code.html', disassembles, {}]] : [],
			['hostile.html', resists, { width: 390, height: 780, mobile: true }]]) {
			const page = await browser.open(url(file), options);
			await page.until(READY);
			await steps(page);
			// this warning is about the test's own reading of the canvas
			page.errors = page.errors.filter(e => !/willReadFrequently/.test(e));
			is(page.errors, [], file + ': no errors on the console');
			is(page.requests.filter(r => !r.startsWith(pathToFileURL(folder).href)), [], file + ': no requests');
			const over = await page.eval('document.documentElement.scrollWidth - innerWidth');
			ok(over <= 0, file + ': nothing is wider than the window', over);
		}
		const deep = await browser.open(url('main.html', '#view=top&by=file&values=1.1&label=thread_name%3Dalpha&search=main'));
		await deep.until(READY);
		is(await deep.eval(ROWS), ['70|70.00%|70|70.00%|main.c'], 'an address restores the view');
		await folds(browser);
		await sharesBox(browser);
		await scrolls(browser);
		const code = fs.existsSync(path.join(folder, 'code.html'));
		await accessible(browser, [['main.html', STATES], ['diff.html', [['view=graph'], ['view=top']]],
			['times.html', [['view=top&time=0-1000000000'], ['view=graph&time=0-1000000000&base=1000000000-2000000000']]],
			['waits.html', [['view=graph&idle=1']]], ...code ? [['code.html', [['view=source&name=spin_leaf']]]] : []]);
		const svg = await browser.open(url('diff.svg'));
		await svg.until(`document.querySelectorAll('rect').length > 5`);
		ok(await svg.eval(`[...document.querySelectorAll('title')].some(t => /^work\\n1.40s, 58.33%\\n\\+20.83% of all/.test(t.textContent))`),
			'the SVG has the same values', await svg.eval(`[...document.querySelectorAll('title')].map(t => t.textContent)`));
		is(svg.errors, [], 'the SVG is well formed');
		console.log('1..' + n);
		await browser.stop();
		process.exit(failed ? 1 : 0);
	} catch (error) {
		console.log('Bail out! ' + String(error.stack || error).replaceAll('\n', ' '));
		end(1);
	}
}

main();
