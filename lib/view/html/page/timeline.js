// ---- timeline: when samples were taken ----------------------------------------------------------
//
// Samples of `cprof record --timeline` have the label time. A range of time makes an event with the
// samples of that range alone; a second range makes it an event with two sides, which are compared.

const TIME_KEY = 'time', STRIP_ROWS = 8, STRIP_ROW = 17, STRIP_AXIS = 18, BUCKETS_MAX = 4000;

// When the samples of each label set were taken, in ns after the start; -1: unknown.
function readTimes(data) {
	return Float64Array.from(valuesOfSets(data, TIME_KEY), v => {
		const found = v.match(/^(\d+)nanoseconds$/);
		return found ? Number(found[1]) : -1;
	});
}

// The width of the buckets of an event, in ns, and their number. width 0: no sample has a time.
function readBuckets(event, times) {
	const seen = new Set();
	for (const { samples } of event.sides)
		for (let i = 0; i < samples.n; i++)
			seen.add(times[samples.labels[i]]);
	seen.delete(-1);
	const sorted = [...seen].sort((a, b) => a - b), end = sorted.length ? sorted[sorted.length - 1] : 0;
	let width = sorted.length ? sorted[0] || end || event.sides[0].duration || 1 : 0;
	for (let i = 1; i < sorted.length; i++)
		width = Math.min(width, sorted[i] - sorted[i - 1]);
	const last = Math.max(end + width, event.sides[0].duration);
	return { width, n: width ? Math.min(Math.ceil(last / width), BUCKETS_MAX) : 0 };
}

function cutSide(event, side, times, [from, to]) {
	const { samples } = side, kept = [];
	for (let i = 0; i < samples.n; i++) {
		const time = times[samples.labels[i]];
		if (time >= from && time < to)
			kept.push(i);
	}
	const values = samples.values.map(all => Float64Array.from(kept, i => all[i]));
	const count = event.countType >= 0 ? values[event.countType] : null;
	const variance = values.map(v => count ? v.reduce((sum, x, i) => sum + (count[i] ? x * x / Math.abs(count[i]) : 0), 0) : 0);
	return { ...side, duration: to - from, variance, total: values.map(v => v.reduce((sum, x) => sum + Math.abs(x), 0)),
		samples: { n: kept.length, node: Int32Array.from(kept, i => samples.node[i]),
			labels: Int32Array.from(kept, i => samples.labels[i]), values } };
}

// Both in the unit of the end.
function rangeText([from, to]) {
	const scale = chooseScale(to, to, 'ns');
	return formatScaled(from, scale) + ' to ' + formatScaled(to, scale);
}

// base: the range to compare with, or null.
function cutEvent(data, event, range, base) {
	const sides = base ? [range, base].map(r => ({ ...cutSide(event, event.sides[0], data.times, r), name: rangeText(r) }))
		: event.sides.map(side => cutSide(event, side, data.times, range));
	const cut = { ...event, sides, isFolded: false };
	cut.idle = sumIdle(cut, data.waits);
	return cut;
}

// What each thread did over time: at most so many rows of values by bucket, the most active threads
// first, then the sum of the others. allowed: by label set.
function readActivity(data, event, type, allowed, buckets, most) {
	const { samples } = event.sides[0], rows = new Map(), all = new Float64Array(buckets.n);
	const tids = valuesOfSets(data, 'tid'), names = valuesOfSets(data, 'thread_name');
	for (let i = 0; i < samples.n; i++) {
		const set = samples.labels[i], time = data.times[set];
		if (!allowed[set] || time < 0)
			continue;
		const id = tids[set] !== NO_VALUE ? tids[set] : names[set];
		if (!rows.has(id))
			rows.set(id, { name: '', values: new Float64Array(buckets.n), total: 0 });
		const row = rows.get(id), at = Math.min(Math.floor(time / buckets.width), buckets.n - 1);
		const value = Math.abs(samples.values[type][i]);
		row.name = [names[set], tids[set]].filter(s => s !== NO_VALUE).join(' ') || 'all';
		row.values[at] += value;
		row.total += value;
		all[at] += value;
	}
	const sorted = [...rows.values()].sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
	if (sorted.length < 2)
		return [{ name: 'all', values: all }];
	const rest = sorted.splice(sorted.length > most ? most - 1 : most);
	if (rest.length)
		sorted.push({ name: rest.length + ' other threads', isSum: true,
			values: rest.reduce((sum, row) => sum.map((v, i) => v + row.values[i]), new Float64Array(buckets.n)) });
	return [{ name: 'all threads', isSum: true, values: all }, ...sorted];
}

// A strip with a row for each thread. on.pick(range): the user has marked a range, or null for none;
// on.tip(text, event): what is under the pointer.
class Strip {
	constructor(element, on) {
		this.on = on;
		this.element = element;
		this.canvas = document.createElement('canvas');
		this.canvas.setAttribute('role', 'img');
		element.append(this.canvas);
		this.rows = [];
		this.drag = null;
		this.canvas.addEventListener('pointerdown', e => this.pressed(e));
		this.canvas.addEventListener('pointermove', e => this.moved(e));
		this.canvas.addEventListener('pointerup', () => this.released());
		this.canvas.addEventListener('pointercancel', () => this.drag = null);
		this.canvas.addEventListener('pointerleave', () => this.on.tip('', null));
		new ResizeObserver(() => this.draw()).observe(element);
	}

	// range, base: what is marked, in ns, or null.
	show({ rows, buckets, unit, range, base }) {
		Object.assign(this, { rows, buckets, unit, range, base });
		const threads = rows.filter(r => !r.isSum);
		this.most = threads.reduce((most, r) => r.values.reduce((m, v) => Math.max(m, v), most), 0);
		this.canvas.setAttribute('aria-label', 'Activity over ' + formatValue(buckets.n * buckets.width, 'ns') + ' of ' +
			rows.map(r => r.name).join(', '));
		this.draw();
	}

	get left() {
		return this.element.clientWidth < 600 ? 84 : 150;
	}

	get end() {
		return this.buckets.n * this.buckets.width;
	}

	x(time) {
		return this.left + time / this.end * (this.element.clientWidth - this.left);
	}

	time(x) {
		const part = (x - this.left) / (this.element.clientWidth - this.left);
		return Math.min(Math.max(part, 0), 1) * this.end;
	}

	draw() {
		const width = this.element.clientWidth;
		if (!this.rows.length || !width)
			return;
		const height = this.rows.length * STRIP_ROW + STRIP_AXIS, ratio = window.devicePixelRatio || 1;
		const { canvas } = this, c = canvas.getContext('2d');
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = width + 'px';
		canvas.style.height = height + 'px';
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.font = '11px system-ui, sans-serif';
		c.textBaseline = 'middle';
		this.rows.forEach((row, k) => this.drawRow(c, row, k * STRIP_ROW));
		this.drawAxis(c, width, this.rows.length * STRIP_ROW);
		const marks = [[this.range, palette.focus], [this.base, palette.baseMark]];
		if (this.drag)
			marks.push([this.dragged(), palette.strip.text]);
		for (const [range, color] of marks)
			if (range)
				this.drawMark(c, range, color);
	}

	drawRow(c, row, y) {
		const most = row.isSum ? row.values.reduce((m, v) => Math.max(m, v), 0) : this.most;
		const room = Math.floor((this.left - 8) / 6.2);
		c.fillStyle = palette.strip.text;
		c.fillText(row.name.length <= room ? row.name : row.name.slice(0, room - 1) + '…', 0, y + STRIP_ROW / 2);
		c.fillStyle = palette.strip.empty;
		c.fillRect(this.left, y, this.x(this.end) - this.left, STRIP_ROW - 2);
		c.fillStyle = palette.strip.heat;
		row.values.forEach((value, i) => {
			if (!value)
				return;
			const from = this.x(i * this.buckets.width), to = this.x((i + 1) * this.buckets.width);
			c.globalAlpha = 0.12 + 0.88 * value / most;
			c.fillRect(from, y, Math.max(to - from, 0.5), STRIP_ROW - 2);
		});
		c.globalAlpha = 1;
	}

	drawAxis(c, width, y) {
		const steps = [1, 2, 5].flatMap(k => [k, k * 10, k * 100]).flatMap(k => [k * 1e6, k * 1e9]).concat([6e10, 3e11, 6e11, 36e11])
			.sort((a, b) => a - b);
		const step = steps.find(s => this.end / s <= (width - this.left) / 70) || this.end;
		const scale = chooseScale(this.end, this.end, 'ns');
		c.fillStyle = palette.strip.text;
		for (let t = 0; t < this.end; t += step) {
			const x = this.x(t), text = formatScaled(t, scale);
			c.fillRect(x, y, 1, 4);
			if (x + c.measureText(text).width < width)
				c.fillText(text, x + 3, y + 10);
		}
	}

	drawMark(c, [from, to], color) {
		const x = this.x(from), w = Math.max(this.x(to) - x, 2);
		c.strokeStyle = c.fillStyle = color;
		c.globalAlpha = 0.14;
		c.fillRect(x, 0, w, this.rows.length * STRIP_ROW);
		c.globalAlpha = 1;
		c.lineWidth = 2;
		c.strokeRect(x + 1, 1, Math.max(w - 2, 1), this.rows.length * STRIP_ROW - 3);
		c.lineWidth = 1;
	}

	// The marked range, in whole buckets.
	dragged() {
		const { width, n } = this.buckets;
		const [a, b] = [this.time(this.drag.from), this.time(this.drag.to)].sort((x, y) => x - y);
		const first = Math.min(Math.floor(a / width), n - 1);
		return [first * width, Math.max(Math.ceil(b / width), first + 1) * width];
	}

	at(e) {
		return e.clientX - this.canvas.getBoundingClientRect().left;
	}

	pressed(e) {
		if (e.button)
			return;
		this.canvas.setPointerCapture(e.pointerId);
		this.drag = { from: this.at(e), to: this.at(e) };
	}

	moved(e) {
		if (this.drag) {
			this.drag.to = this.at(e);
			this.draw();
		}
		const box = this.canvas.getBoundingClientRect(), row = this.rows[Math.floor((e.clientY - box.top) / STRIP_ROW)];
		const i = Math.min(Math.floor(this.time(this.at(e)) / this.buckets.width), this.buckets.n - 1);
		const here = row && this.at(e) >= this.left;
		this.on.tip(here ? [row.name, formatValue(row.values[i], this.unit),
			rangeText([i * this.buckets.width, (i + 1) * this.buckets.width])] : '', here ? e : null);
	}

	// A click without a movement marks nothing.
	released() {
		if (!this.drag)
			return;
		const range = Math.abs(this.drag.to - this.drag.from) < 4 ? null : this.dragged();
		this.drag = null;
		this.on.pick(range);
	}
}
