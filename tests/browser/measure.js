'use strict';
// Measures the time and memory of pages: measure.js RUNS PAGE.html...
// Prints medians for each page: milliseconds from the start of loading to the first picture, and for
// each view, and the memory of the page's process after that (Pss in MiB).

const { Browser } = require('./browser.js');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

function median(list) {
	return [...list].sort((a, b) => a - b)[list.length >> 1];
}

// The browser's largest renderer process.
function rendererMiB(pid) {
	let most = 0;
	for (const name of fs.readdirSync('/proc').filter(n => /^\d+$/.test(n))) {
		try {
			const group = fs.readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1].split(' ')[2];
			if (Number(group) !== pid || !fs.readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('type=renderer'))
				continue;
			const pss = fs.readFileSync(`/proc/${name}/smaps_rollup`, 'latin1').match(/^Pss: +(\d+)/m);
			most = Math.max(most, Number(pss[1]) / 1024);
		} catch {
			// it has exited
		}
	}
	return most;
}

async function once(file, result) {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cprof-page.'));
	const browser = await Browser.start(folder);
	const page = await browser.open('file://' + path.resolve(file));
	const put = (name, value) => (result[name] = result[name] || []).push(value);
	await page.until(`performance.getEntriesByName('picture').length`);
	put('picture', await page.eval(`performance.getEntriesByName('picture')[0].startTime`));
	put('MiB', rendererMiB(browser.process.pid));
	for (const view of ['top', 'sandwich', 'source', 'labels', 'graph'])
		put(view, await page.eval(`(() => { const t = performance.now();
			document.querySelector('[data-view=${view}]').click(); return performance.now() - t; })()`));
	await browser.stop();
	fs.rmSync(folder, { recursive: true, force: true });
}

(async () => {
	for (const file of process.argv.slice(3)) {
		const result = {};
		for (let i = 0; i < Number(process.argv[2]); i++)
			await once(file, result);
		console.log(path.basename(file).padEnd(20), Object.entries(result)
			.map(([name, list]) => name + ' ' + median(list).toFixed(0)).join('  '));
	}
})();
