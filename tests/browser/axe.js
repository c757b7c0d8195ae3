'use strict';
// axe-core, the checker of accessibility, as Chromium's developer tools contain it.
//
//	const axe = await axeSource(browser);
//	const list = await violations(page, axe);      // [] if there are none

const vm = require('node:vm');

const TOOLS = 'devtools://devtools/bundled/';
const BUNDLE = TOOLS + 'third_party/lighthouse/lighthouse-dt-bundle.js';

// Its source is a string in the bundle of Lighthouse, written as a template literal.
async function axeSource(browser) {
	const tools = await browser.open(TOOLS + 'devtools_app.html');
	const bundle = await tools.eval(`fetch('${BUNDLE}').then(answer => answer.text())`);
	const start = bundle.indexOf('`/*! axe v');
	if (start < 0)
		throw new Error(BUNDLE + ' does not contain axe-core');
	let end = start + 1;
	while (bundle[end] !== '`')
		end += bundle[end] === '\\' ? 2 : 1;
	return vm.runInNewContext(bundle.slice(start, end + 1));
}

// What violates its rules in the page as it is now, as lines of text.
async function violations(page, axe) {
	if (!await page.eval(`!!window.axe`))
		await page.eval(axe + ';0');
	return page.eval(`axe.run(document).then(r => r.violations.flatMap(v => v.nodes.map(n =>
		v.id + ': ' + n.target.join(' ') + ': ' + n.any.concat(n.all, n.none).map(c => c.message).join('; '))))`);
}

module.exports = { axeSource, violations };
