// ---- decode: turns the page's data into arrays --------------------------------------------------
//
// lib/view/html/html-data.h describes the format. Numbers beyond 2^53 lose their last digits.

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		this.text = new TextDecoder();
	}
	u() {
		const bytes = this.bytes;
		let byte = bytes[this.at++];
		if (byte < 128)
			return byte;
		let value = byte & 127, scale = 128;
		do {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte >= 128);
		return value;
	}
	s() {
		const z = this.u();
		return z % 2 ? -(z + 1) / 2 : z / 2;
	}
	f64() {
		this.at += 8;
		return this.view.getFloat64(this.at - 8, true);
	}
	string() {
		const n = this.u();
		this.at += n;
		return this.text.decode(this.bytes.subarray(this.at - n, this.at));
	}
}

async function inflate(base64) {
	const binary = atob(base64);
	const packed = new Uint8Array(binary.length);
	for (let i = 0; i < packed.length; i++)
		packed[i] = binary.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function readFrames(r) {
	const n = r.u();
	const f = { n, name: new Int32Array(n), file: new Int32Array(n), module: new Int32Array(n),
		line: new Float64Array(n), flags: new Uint8Array(n) };
	for (let i = 0; i < n; i++) {
		f.name[i] = r.u();
		f.file[i] = r.u();
		f.module[i] = r.u();
		f.line[i] = r.s();
		f.flags[i] = r.u();
	}
	return f;
}

// The tree of stacks; node 0 is the root. folded: the number of callees that a node stands for, or 0.
function readNodes(r, isFolded) {
	const n = r.u() + 1;
	const t = { n, parent: new Int32Array(n), frame: new Int32Array(n), depth: new Int32Array(n),
		folded: isFolded ? new Int32Array(n) : null };
	const path = [0];
	for (let i = 1; i < n; i++) {
		path.length -= r.u();
		t.parent[i] = path[path.length - 1];
		t.depth[i] = path.length;
		t.frame[i] = r.u();
		if (isFolded)
			t.folded[i] = r.u();
		path.push(i);
	}
	return t;
}

function readSamples(r, nTypes) {
	const n = r.u();
	const s = { n, node: new Int32Array(n), labels: new Int32Array(n), values: [] };
	for (let t = 0; t < nTypes; t++)
		s.values.push(new Float64Array(n));
	let node = 0;
	for (let i = 0; i < n; i++) {
		node += r.u();
		s.node[i] = node;
		s.labels[i] = r.u();
		for (let t = 0; t < nTypes; t++)
			s.values[t][i] = r.s();
	}
	return s;
}

// What folded nodes contain: frames of rows, and their values by type.
function readSums(r, nTypes) {
	const n = r.u(), s = { n, frame: new Int32Array(n), values: [] };
	for (let t = 0; t < nTypes; t++)
		s.values.push(new Float64Array(n));
	for (let i = 0; i < n; i++) {
		s.frame[i] = r.u();
		for (let t = 0; t < nTypes; t++)
			s.values[t][i] = r.s();
	}
	return s;
}

// Functions whose instructions are known; costs are those of the whole profile.
function readCode(r, strings) {
	const functions = [];
	for (let n = r.u(); n > 0; n--) {
		const f = { name: strings[r.u()], module: strings[r.u()], instructions: [] };
		let address = 0;
		for (let k = r.u(); k > 0; k--) {
			address += r.u();
			f.instructions.push({ address, text: strings[r.u()], line: r.s(), flat: r.s(), cum: r.s() });
		}
		functions.push(f);
	}
	return functions;
}

function readEvent(r, strings) {
	const types = [], sides = [], nTypes = r.u();
	for (let i = 0; i < nTypes; i++)
		types.push({ type: strings[r.u()], unit: strings[r.u()] });
	const event = { types, type: r.u(), countType: r.u() - 1, sides };
	const nSides = r.u();
	for (let i = 0; i < nSides; i++) {
		const side = { name: strings[r.u()], duration: r.s(), time: r.s(), period: r.s(),
			periodType: strings[r.u()], periodUnit: strings[r.u()], comments: [], total: [], variance: [] };
		for (let n = r.u(); n > 0; n--)
			side.comments.push(strings[r.u()]);
		for (let t = 0; t < nTypes; t++) {
			side.total.push(r.s());
			side.variance.push(r.f64());
		}
		sides.push(side);
	}
	event.foldedMax = r.f64();
	event.isFolded = event.foldedMax >= 0;
	event.nodes = readNodes(r, event.isFolded);
	for (const side of sides)
		side.samples = readSamples(r, nTypes);
	for (const side of event.isFolded ? sides : [])
		side.folded = { flat: readSums(r, nTypes), function: readSums(r, nTypes), line: readSums(r, nTypes),
			file: readSums(r, nTypes), module: readSums(r, nTypes) };
	event.code = readCode(r, strings);
	return event;
}

async function readData() {
	const element = document.getElementById('data');
	const r = new Reader(await inflate(element.textContent));
	element.remove();   // its text is no longer needed
	if (r.u() !== 4)
		throw new Error('the data has another version');
	const data = { by: r.u(), norm: r.u(), strings: [], labels: [], labelSets: [], sources: new Map(),
		events: [] };
	for (let n = r.u(); n > 0; n--)
		data.strings.push(r.string());
	data.frames = readFrames(r);
	for (let n = r.u(); n > 0; n--)
		data.labels.push({ key: data.strings[r.u()], value: data.strings[r.u()] });
	for (let n = r.u(); n > 0; n--) {
		const set = [];
		for (let k = r.u(); k > 0; k--)
			set.push(r.u());
		data.labelSets.push(set);
	}
	for (let n = r.u(); n > 0; n--) {
		const lines = new Map();
		const file = r.u();
		let number = 0;
		for (let k = r.u(); k > 0; k--) {
			number += r.u();
			lines.set(number, data.strings[r.u()]);
		}
		data.sources.set(file, lines);
	}
	for (let n = r.u(); n > 0; n--)
		data.events.push(readEvent(r, data.strings));
	return data;
}
