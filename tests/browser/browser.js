'use strict';
// Controls a headless chromium over --remote-debugging-pipe: DevTools messages as JSON, each followed
// by a zero byte, on descriptors 3 and 4. Needs only node.
//
//	const browser = await Browser.start(folder);
//	const page = await browser.open('file:///...', { width: 1280, height: 800 });
//	await page.eval('document.title');
//
// page.requests collects the addresses of all requests; page.errors collects warnings and errors on
// the console, including exceptions and blocked contents; page.refused collects the reasons for
// blocked requests.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const PATIENCE_MS = 60000;

class Browser {
	static find() {
		for (const name of ['chromium', 'chromium-browser', 'google-chrome'])
			for (const folder of process.env.PATH.split(':'))
				if (fs.existsSync(path.join(folder, name)))
					return path.join(folder, name);
		return null;
	}

	static async start(folder) {
		const b = new Browser();
		b.process = spawn(Browser.find(), ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
			'--no-first-run', '--disable-extensions', '--disable-background-networking', '--disable-sync',
			'--disable-component-update', '--hide-scrollbars', '--remote-debugging-pipe',
			'--user-data-dir=' + path.join(folder, 'profile')],
			{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true, env: { ...process.env, HOME: folder } });
		b.waiting = new Map();
		b.sessions = new Map();
		b.id = 0;
		let rest = Buffer.alloc(0);
		b.process.stdio[4].on('data', chunk => {
			rest = Buffer.concat([rest, chunk]);
			for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1))
				b.received(JSON.parse(rest.subarray(0, end)));
		});
		b.process.stdio[3].on('error', () => {});
		b.process.on('exit', () => b.failAll('the browser has exited'));
		return b;
	}

	received(message) {
		if (!message.id) {
			this.sessions.get(message.sessionId)?.event(message.method, message.params);
			return;
		}
		const w = this.waiting.get(message.id);
		this.waiting.delete(message.id);
		if (message.error)
			w.reject(new Error(w.method + ': ' + message.error.message));
		else
			w.resolve(message.result);
	}

	failAll(text) {
		for (const w of this.waiting.values())
			w.reject(new Error(text));
		this.waiting.clear();
	}

	send(method, params = {}, sessionId = undefined) {
		const id = ++this.id;
		this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
		return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
	}

	async open(url, { width = 1280, height = 800, mobile = false, dark = false } = {}) {
		const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
		const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
		const page = new Page(this, sessionId, targetId);
		this.sessions.set(sessionId, page);
		for (const domain of ['Page', 'Runtime', 'Network', 'Log'])
			await page.send(domain + '.enable');
		await page.send('Emulation.setDeviceMetricsOverride', { width, height, mobile, deviceScaleFactor: mobile ? 2 : 1 });
		await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
		await page.go(url);
		return page;
	}

	async stop() {
		const ended = new Promise(resolve => this.process.once('exit', resolve));
		this.send('Browser.close').catch(() => {});
		const timer = setTimeout(() => this.kill(), 5000);
		await ended;
		clearTimeout(timer);
	}

	kill() {
		try {
			process.kill(-this.process.pid, 'SIGKILL');
		} catch {
			// it has already exited
		}
	}
}

class Page {
	constructor(browser, sessionId, targetId) {
		Object.assign(this, { browser, sessionId, targetId, requests: [], refused: [], errors: [] });
	}

	send(method, params) {
		return this.browser.send(method, params, this.sessionId);
	}

	event(method, params) {
		if (method === 'Network.requestWillBeSent')
			this.requests.push(params.request.url);
		else if (method === 'Network.loadingFailed' && params.blockedReason)
			this.refused.push(params.blockedReason);
		else if (method === 'Runtime.exceptionThrown')
			this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
		else if (method === 'Runtime.consoleAPICalled' && ['error', 'warning', 'assert'].includes(params.type))
			this.errors.push(params.args.map(a => a.value).join(' '));
		else if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level))
			this.errors.push(params.entry.text);
		else if (method === 'Page.javascriptDialogOpening')
			this.errors.push('dialog: ' + params.message);
	}

	async go(url) {
		const result = await this.send('Page.navigate', { url });
		if (result.errorText)
			throw new Error(url + ': ' + result.errorText);
	}

	async eval(expression) {
		const r = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
		if (r.exceptionDetails)
			throw new Error(expression + ': ' + (r.exceptionDetails.exception?.description || r.exceptionDetails.text));
		return r.result.value;
	}

	// Waits until an expression is true.
	async until(expression) {
		const end = Date.now() + PATIENCE_MS;
		while (Date.now() < end) {
			if (await this.eval('!!(' + expression + ')').catch(() => false))
				return;
			await new Promise(resolve => setTimeout(resolve, 20));
		}
		throw new Error('timeout waiting for: ' + expression);
	}

	// Clicks in the middle of an element, or at a position in it.
	async click(selector, at = null) {
		const box = await this.eval(`(() => { const e = document.querySelector(${JSON.stringify(selector)});
			e.scrollIntoView({ block: 'nearest' }); const b = e.getBoundingClientRect();
			return { x: b.x, y: b.y, w: b.width, h: b.height }; })()`);
		await this.mouse(at ? box.x + at.x : box.x + box.w / 2, at ? box.y + at.y : box.y + box.h / 2, true);
	}

	async mouse(x, y, press) {
		await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
		if (!press)
			return;
		for (const type of ['mousePressed', 'mouseReleased'])
			await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
	}

	async type(text) {
		await this.send('Input.insertText', { text });
	}

	async key(key) {
		const code = { Enter: 13, Escape: 27, Backspace: 8, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39 }[key];
		const text = key.length === 1 ? { text: key } : {};
		await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, windowsVirtualKeyCode: code, ...text });
		await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, windowsVirtualKeyCode: code });
	}

	// Selects an option of a select element.
	async select(selector, value) {
		await this.eval(`(() => { const e = document.querySelector(${JSON.stringify(selector)});
			e.value = ${JSON.stringify(value)}; e.dispatchEvent(new Event('change', { bubbles: true })); })()`);
	}

	async screenshot(file) {
		const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
		fs.writeFileSync(file, Buffer.from(data, 'base64'));
	}
}

module.exports = { Browser };
