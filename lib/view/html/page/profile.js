// ---- profile: sums ------------------------------------------------------------------------------
//
// A row is the name of a frame as a function, line, file or module. A tree holds stacks of rows;
// node 0 is the root, and parents precede their children. The rules are those of
// lib/view/table/rows.c, tree.c and top.c.

const INLINED = 1, KERNEL = 2, NAMED = 4, FOLDED = 8, CALL = 16;

function moduleName(path) {
	if (!path)
		return '<unknown>';
	const slash = path.lastIndexOf('/');
	const base = slash >= 0 && slash + 1 < path.length ? path.slice(slash + 1) : path;
	return base[0] === '[' ? base : '[' + base + ']';
}

// "a/../b//./c" is "b/c".
function cleanPath(path) {
	const out = [];
	for (const part of path.split('/')) {
		if (part === '' || part === '.')
			continue;
		if (part !== '..' || (!path.startsWith('/') && (!out.length || out[out.length - 1] === '..')))
			out.push(part);
		else
			out.pop();
	}
	return path && ((path.startsWith('/') ? '/' : '') + out.join('/') || '.');
}

// paths: cleaned paths, by string.
function frameKey(data, by, i, paths) {
	const f = data.frames;
	if (f.flags[i] & FOLDED)
		return ['folded', data.strings[f.name[i]]];
	if (by === 'module' || (by === 'file' ? !f.file[i] : !(f.flags[i] & NAMED)))
		return ['m' + f.module[i], moduleName(data.strings[f.module[i]])];
	if (by === 'file')
		return ['f' + paths(f.file[i]), paths(f.file[i])];
	const name = data.strings[f.name[i]];
	if (by === 'function')
		return ['n' + f.name[i], name];
	const file = paths(f.file[i]);
	return ['l' + f.name[i] + ' ' + f.line[i] + ' ' + file,
		f.line[i] ? name + ' ' + file + ':' + f.line[i] : file ? name + ' ' + file : name];
}

// What kind of code a module has: '' is the program's own.
function moduleKind(path) {
	const name = path.slice(path.lastIndexOf('/') + 1);
	if (/^\[(jit|anon)|^\/\/anon|^jitted-|^perf-\d+\.map$|^\/memfd:/.test(path) || /^perf-\d+\.map$/.test(name))
		return 'jit';
	return /\.so(\.|$)/.test(name) || name === '[vdso]' ? 'library' : '';
}

function makeRows(data, by) {
	const f = data.frames, ids = new Map(), clean = new Map();
	const paths = id => {
		if (!clean.has(id))
			clean.set(id, cleanPath(data.strings[id]));
		return clean.get(id);
	};
	const rows = { by, n: 0, folded: -1, of: new Int32Array(f.n), name: [], file: [], module: [], line: [],
		isKernel: [], isInlined: [], isCalled: [], isCall: [], kind: [], shade: [] };
	for (let i = 0; i < f.n; i++) {
		const [key, name] = frameKey(data, by, i, paths);
		let row = ids.get(key);
		if (row === undefined) {
			row = rows.n++;
			ids.set(key, row);
			rows.name.push(name);
			rows.file.push('');
			rows.module.push('');
			rows.line.push(0);
			rows.isKernel.push(false);
			rows.isInlined.push(false);
			rows.isCalled.push(false);
			rows.isCall.push(true);
			rows.kind.push(moduleKind(data.strings[f.module[i]]));
			rows.shade.push(hashName(name));
		}
		rows.of[i] = row;
		if (f.flags[i] & FOLDED)
			rows.folded = row;
		if (!rows.file[row] && f.file[i]) {
			rows.file[row] = data.strings[f.file[i]];
			rows.line[row] = f.line[i];
		}
		rows.module[row] = rows.module[row] || data.strings[f.module[i]];
		if (!(f.flags[i] & CALL))
			rows.isCall[row] = false;
		if (f.flags[i] & KERNEL)
			rows.isKernel[row] = true;
		if (f.flags[i] & INLINED && by !== 'module')
			rows.isInlined[row] = true;
		else
			rows.isCalled[row] = true;
	}
	return rows;
}

function hashName(name) {
	let h = 5381;
	for (let i = 0; i < name.length; i++)
		h = (h * 33 + name.charCodeAt(i)) | 0;
	return (h >>> 8) & 0xffff;
}

// Children by (parent, row), in typed arrays: a Map of this size is several times slower.
class TreeBuilder {
	// nStates: the states of threads to be distinguished.
	constructor(nSides, nStates = 0) {
		this.n = 1;
		this.cap = 1024;
		this.parent = new Int32Array(this.cap);
		this.row = new Int32Array(this.cap);
		this.inlined = new Uint8Array(this.cap);
		this.self = [];
		this.variance = [];
		this.states = Array.from({ length: nStates }, () => new Float64Array(this.cap));
		this.flat = [];         // self, but of waits where the program waits
		this.flatVariance = [];
		for (let i = 0; i < nSides; i++) {
			this.flat.push(new Float64Array(this.cap));
			this.flatVariance.push(new Float64Array(this.cap));
			this.self.push(new Float64Array(this.cap));
			this.variance.push(new Float64Array(this.cap));
		}
		this.slots = new Int32Array(4096);
		this.row[0] = -1;
		this.folded = new Map();   // by node: the number of callees that it stands for
	}
	static hash(parent, row) {
		let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(row + 1, 0x85ebca6b);
		h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
		return (h ^ (h >>> 13)) >>> 0;
	}
	grow() {
		const more = old => {
			const a = new old.constructor(this.cap * 2);
			a.set(old);
			return a;
		};
		this.parent = more(this.parent);
		this.row = more(this.row);
		this.inlined = more(this.inlined);
		this.self = this.self.map(more);
		this.variance = this.variance.map(more);
		this.flat = this.flat.map(more);
		this.flatVariance = this.flatVariance.map(more);
		this.states = this.states.map(more);
		this.cap *= 2;
		this.slots = new Int32Array(this.cap * 4);
		const mask = this.slots.length - 1;
		for (let i = 1; i < this.n; i++) {
			let at = TreeBuilder.hash(this.parent[i], this.row[i]) & mask;
			while (this.slots[at])
				at = (at + 1) & mask;
			this.slots[at] = i;
		}
	}
	child(parent, row, inlined) {
		const mask = this.slots.length - 1;
		let at = TreeBuilder.hash(parent, row) & mask, i;
		while ((i = this.slots[at])) {
			if (this.parent[i] === parent && this.row[i] === row) {
				this.inlined[i] &= inlined;
				return i;
			}
			at = (at + 1) & mask;
		}
		if (this.n === this.cap) {
			this.grow();
			return this.child(parent, row, inlined);
		}
		i = this.n++;
		this.slots[at] = i;
		this.parent[i] = parent;
		this.row[i] = row;
		this.inlined[i] = inlined;
		return i;
	}
	// Computes sums, widths and the order of children, largest first. side: the one that gives the widths.
	finish(rows, side) {
		const n = this.n;
		const t = { n, rows, parent: this.parent.subarray(0, n), row: this.row.subarray(0, n),
			inlined: this.inlined.subarray(0, n), self: this.self.map(a => a.subarray(0, n)),
			selfVariance: this.variance.map(a => a.subarray(0, n)), weight: new Float64Array(n),
			flat: this.flat.map(a => a.subarray(0, n)), flatVariance: this.flatVariance.map(a => a.subarray(0, n)),
			states: this.states.map(a => a.slice(0, n)), folded: this.folded,
			depth: new Int32Array(n) };
		t.cum = t.self.map(a => a.slice());
		t.variance = t.selfVariance.map(a => a.slice());
		for (let i = 0; i < n; i++)
			t.weight[i] = Math.abs(t.self[side][i]);
		for (let i = n - 1; i > 0; i--) {
			const p = t.parent[i];
			t.weight[p] += t.weight[i];
			for (const values of t.states)
				values[p] += values[i];
			for (let s = 0; s < t.cum.length; s++) {
				t.cum[s][p] += t.cum[s][i];
				t.variance[s][p] += t.variance[s][i];
			}
		}
		for (let i = 1; i < n; i++)
			t.depth[i] = t.depth[t.parent[i]] + 1;
		linkChildren(t);
		return t;
	}
}

// The children of i are t.children[t.first[i]] to t.children[t.first[i + 1] - 1].
function linkChildren(t) {
	t.first = new Int32Array(t.n + 2);
	t.children = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++)
		t.first[t.parent[i] + 2]++;
	for (let i = 2; i < t.n + 2; i++)
		t.first[i] += t.first[i - 1];
	for (let i = 1; i < t.n; i++)
		t.children[t.first[t.parent[i] + 1]++] = i;
	const order = (a, b) => t.weight[b] - t.weight[a] ||
		(t.rows.name[t.row[a]] < t.rows.name[t.row[b]] ? -1 : 1);
	for (let i = 0; i < t.n; i++)
		if (t.first[i + 1] - t.first[i] > 1)
			t.children.subarray(t.first[i], t.first[i + 1]).sort(order);
}

// ---- labels ----

function labelKeys(data) {
	const keys = new Map();
	data.labels.forEach((l, i) => {
		if (!keys.has(l.key))
			keys.set(l.key, []);
		keys.get(l.key).push(i);
	});
	return keys;
}

const NO_VALUE = '(none)';

// The value of a key in each label set.
function valuesOfSets(data, key) {
	return data.labelSets.map(set => {
		const found = set.find(i => data.labels[i].key === key);
		return found === undefined ? NO_VALUE : data.labels[found].value;
	});
}

// The label sets that pass all filters: for each key, one of its values. except: a key to ignore.
function allowedSets(data, filters, except) {
	const allowed = new Uint8Array(data.labelSets.length).fill(1);
	for (const [key, values] of filters) {
		if (key === except || !values.size)
			continue;
		data.labelSets.forEach((set, i) => {
			const here = set.filter(l => data.labels[l].key === key).map(l => data.labels[l].value);
			if (!(here.length ? here : [NO_VALUE]).some(v => values.has(v)))
				allowed[i] = 0;
		});
	}
	return allowed;
}

// ---- trees ----

// query: type, rows, group (a label's key or ''), filters, side (for the widths), waits.
function buildTree(data, event, query) {
	const { waits } = query, builder = new TreeBuilder(event.sides.length, waits.states.length);
	const nodes = event.nodes, flags = data.frames.flags;
	const allowed = allowedSets(data, query.filters);
	const nodeAt = new Int32Array(nodes.n), stamp = new Int32Array(nodes.n);
	const rows = query.rows, byModule = rows.by === 'module';
	const { groupOf, groups } = groupSets(data, query.group, rows);
	const path = [];

	const treeNode = (node, mark) => {
		path.length = 0;
		while (stamp[node] !== mark) {
			path.push(node);
			node = nodes.parent[node];
		}
		let at = nodeAt[node];
		for (let i = path.length - 1; i >= 0; i--) {
			const frame = nodes.frame[path[i]], inlined = flags[frame] & INLINED;
			if (!(byModule && inlined))
				at = builder.child(at, rows.of[frame], inlined);
			if (nodes.folded && nodes.folded[path[i]])
				builder.folded.set(at, (builder.folded.get(at) || 0) + nodes.folded[path[i]]);
			nodeAt[path[i]] = at;
			stamp[path[i]] = mark;
		}
		return at;
	};
	// The innermost node that does more than waiting for its caller.
	const siteOf = at => {
		let site = at;
		while (site > 0 && rows.isCall[builder.row[site]])
			site = builder.parent[site];
		return site > 0 && builder.row[site] < rows.n ? site : at;
	};
	const add = (side, samples, i, mark) => {
		const value = samples.values[query.type][i];
		if (!value)
			return;
		const at = treeNode(samples.node[i], mark), set = samples.labels[i];
		const site = waits.isCall[set] ? siteOf(at) : at;
		builder.self[side][at] += value;
		builder.flat[side][site] += value;
		if (side === query.side && waits.stateOf[set] >= 0)
			builder.states[waits.stateOf[set]][at] += Math.abs(value);
		if (event.countType >= 0) {
			const n = Math.abs(samples.values[event.countType][i]), variance = n ? value * value / n : 0;
			builder.variance[side][at] += variance;
			builder.flatVariance[side][site] += variance;
		}
	};

	const lists = groups.map(() => []);
	event.sides.forEach((side, s) => {
		const samples = side.samples;
		for (let i = 0; i < samples.n; i++) {
			if (!allowed[samples.labels[i]])
				continue;
			if (groups.length)
				lists[groupOf[samples.labels[i]]].push(s, i);
			else {
				stamp[0] = 1;
				add(s, samples, i, 1);
			}
		}
	});
	lists.forEach((list, g) => {
		if (!list.length)
			return;
		stamp[0] = g + 1;
		nodeAt[0] = builder.child(0, groups[g], 0);
		for (let i = 0; i < list.length; i += 2)
			add(list[i], event.sides[list[i]].samples, list[i + 1], g + 1);
	});
	const tree = builder.finish(rows, query.side);
	tree.stateNames = waits.states;
	return tree;
}

// Groups are rows of their own after the others.
function groupSets(data, key, rows) {
	if (!key)
		return { groups: [] };
	const values = valuesOfSets(data, key), ids = new Map(), groups = [];
	const groupOf = values.map(v => {
		if (!ids.has(v)) {
			ids.set(v, ids.size);
			groups.push(groupRow(rows, key, v));
		}
		return ids.get(v);
	});
	return { groupOf, groups };
}

function groupRow(rows, key, value) {
	rows.groupRows = rows.groupRows || new Map();
	const id = key + '\0' + value;
	if (!rows.groupRows.has(id)) {
		rows.groupRows.set(id, rows.name.length);
		rows.name.push(key + ': ' + value);
		rows.file.push('');
		rows.module.push('');
		rows.line.push(0);
		rows.shade.push(hashName(value));
	}
	return rows.groupRows.get(id);
}

// The callees of a row (and itself), or its callers, starting at its outermost frames.
function buildSandwich(tree, row, side) {
	const nSides = tree.self.length;
	const down = new TreeBuilder(nSides), up = new TreeBuilder(nSides);
	const inside = new Int32Array(tree.n).fill(-1);
	down.row[0] = up.row[0] = row;
	for (let i = 1; i < tree.n; i++) {
		const p = tree.parent[i];
		if (inside[p] >= 0) {
			inside[i] = down.child(inside[p], tree.row[i], tree.inlined[i]);
			if (tree.folded.has(i))
				down.folded.set(inside[i], (down.folded.get(inside[i]) || 0) + tree.folded.get(i));
		} else if (tree.row[i] === row) {
			inside[i] = 0;
			let at = 0, inlined = tree.inlined[i];
			for (let x = p; x > 0; x = tree.parent[x]) {
				at = up.child(at, tree.row[x], inlined);
				inlined = tree.inlined[x];
			}
			for (let s = 0; s < nSides; s++) {
				up.self[s][at] += tree.cum[s][i];
				up.variance[s][at] += tree.variance[s][i];
			}
		}
		if (inside[i] < 0)
			continue;
		for (let s = 0; s < nSides; s++) {
			down.self[s][inside[i]] += tree.self[s][i];
			down.variance[s][inside[i]] += tree.selfVariance[s][i];
		}
	}
	return { callers: up.finish(tree.rows, side), callees: down.finish(tree.rows, side) };
}

// Walks a tree in preorder; enter may return false to skip the subtree.
function walk(tree, enter, leave) {
	const stack = [0], next = [tree.first[0]];
	if (enter(0) === false)
		return;
	while (stack.length) {
		const top = stack.length - 1, i = stack[top];
		if (next[top] < tree.first[i + 1]) {
			const c = tree.children[next[top]++];
			if (enter(c) !== false) {
				stack.push(c);
				next.push(tree.first[c]);
			}
		} else {
			if (leave)
				leave(i);
			stack.pop();
			next.pop();
		}
	}
}

// ---- tables ----

// The functions in folded nodes have their sums in the data, for all labels together. With a filter
// the folded nodes are a row of their own.
function addFolded(sums, event, query) {
	const { rows, type } = query, { countType } = event;
	const add = (list, s, to, variances, folded) => {
		for (let i = 0; i < list.n; i++) {
			const row = rows.of[list.frame[i]], value = list.values[type][i];
			const n = countType >= 0 ? Math.abs(list.values[countType][i]) : 0;
			to[row] += value;
			variances[row] += n ? value * value / n : 0;
			if (folded)
				folded[row] += value;
			if (!sums.seen[row]) {
				sums.seen[row] = 1;
				sums.rows.push(row);
			}
		}
	};
	event.sides.forEach((side, s) => {
		add(side.folded.flat, s, sums.flat[s], sums.flatVariance[s]);
		add(side.folded[rows.by], s, sums.cum[s], sums.cumVariance[s], sums.folded[s]);
		for (const list of [sums.flat, sums.cum, sums.flatVariance, sums.cumVariance])
			list[s][rows.folded] = 0;
	});
	sums.rows = sums.rows.filter(row => row !== rows.folded);
}

// flat and cum of each row, for each side; a stack counts once even if a row occurs in it repeatedly.
// folded: the part of cum that no box of a graph shows.
function sumRows(tree, event, query) {
	const nSides = tree.self.length, n = tree.rows.n;
	const make = () => Array.from({ length: nSides }, () => new Float64Array(n));
	const seen = new Uint8Array(n), onPath = new Int32Array(n);
	const sums = { flat: make(), cum: make(), folded: make(), flatVariance: make(), cumVariance: make(), rows: [], seen };
	walk(tree, i => {
		const row = tree.row[i];
		if (row < 0 || row >= n)
			return;
		for (let s = 0; s < nSides; s++) {
			sums.flat[s][row] += tree.flat[s][i];
			sums.flatVariance[s][row] += tree.flatVariance[s][i];
			if (!onPath[row]) {
				sums.cum[s][row] += tree.cum[s][i];
				sums.cumVariance[s][row] += tree.variance[s][i];
			}
		}
		onPath[row]++;
		if (!seen[row]) {
			seen[row] = 1;
			sums.rows.push(row);
		}
	}, i => {
		if (tree.row[i] >= 0 && tree.row[i] < n)
			onPath[tree.row[i]]--;
	});
	if (event.isFolded && ![...query.filters.values()].some(values => values.size))
		addFolded(sums, event, query);
	return sums;
}

// The sum of stacks with a matching row; matches: by row.
function matchedValue(tree, matches, side) {
	let sum = 0;
	walk(tree, i => {
		if (tree.row[i] < 0 || !matches[tree.row[i]])
			return true;
		sum += tree.cum[side][i];
		return false;
	});
	return sum;
}

// The lines of a row's frames: Map of file -> Map of line -> { flat, cum } for each side.
function sumLines(data, event, query, row) {
	const { nodes } = event, f = data.frames, allowed = allowedSets(data, query.filters);
	const ids = new Map(), lines = [], lineOf = new Int32Array(f.n).fill(-1);
	for (let i = 0; i < f.n; i++) {
		if (query.rows.of[i] !== row)
			continue;
		const key = f.file[i] + ' ' + f.line[i];
		if (!ids.has(key)) {
			ids.set(key, lines.length);
			lines.push({ file: f.file[i], line: f.line[i], flat: [0, 0], cum: [0, 0] });
		}
		lineOf[i] = ids.get(key);
	}
	const isWhole = event.isFolded && ![...query.filters.values()].some(values => values.size);
	const addList = (list, key, s) => {
		for (let i = 0; i < list.n; i++)
			if (lineOf[list.frame[i]] >= 0)
				lines[lineOf[list.frame[i]]][key][s] += list.values[query.type][i];
	};
	event.sides.forEach((side, s) => {
		const { samples } = side, self = new Float64Array(nodes.n);
		if (isWhole) {
			addList(side.folded.flat, 'flat', s);
			addList(side.folded.line, 'cum', s);
		}
		for (let i = 0; i < samples.n; i++)
			if (allowed[samples.labels[i]])
				self[samples.node[i]] += samples.values[query.type][i];
		const cum = self.slice(), onPath = new Int32Array(lines.length), path = [];
		for (let i = nodes.n - 1; i > 0; i--)
			cum[nodes.parent[i]] += cum[i];
		for (let i = 1; i < nodes.n; i++) {
			while (path.length >= nodes.depth[i]) {
				const line = path.pop();
				if (line >= 0)
					onPath[line]--;
			}
			const line = lineOf[nodes.frame[i]];
			path.push(line);
			if (line < 0)
				continue;
			lines[line].flat[s] += self[i];
			if (!onPath[line]++)
				lines[line].cum[s] += cum[i];
		}
	});
	const files = new Map();
	for (const l of lines) {
		if (!l.cum.some(v => v) && !l.flat.some(v => v))
			continue;
		if (!files.has(l.file))
			files.set(l.file, new Map());
		files.get(l.file).set(l.line, l);
	}
	return files;
}

// The values of a label: Map of value -> sums by side; filters by other labels apply.
function sumLabel(data, event, query, key) {
	const values = valuesOfSets(data, key), allowed = allowedSets(data, query.filters, key);
	const sums = new Map();
	event.sides.forEach((side, s) => {
		const { samples } = side;
		for (let i = 0; i < samples.n; i++) {
			if (!allowed[samples.labels[i]])
				continue;
			const value = values[samples.labels[i]];
			if (!sums.has(value))
				sums.set(value, [0, 0]);
			sums.get(value)[s] += samples.values[query.type][i];
		}
	});
	return sums;
}

// ---- comparing: the rules of lib/view/table/diff.c ----

// The number of standard errors that chance exceeds with probability alpha.
function zFor(alpha) {
	const tail = z => {
		let fraction = z;
		for (let k = 80; k > 0; k--)
			fraction = z + k / fraction;
		return 2 * Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI) / fraction;
	};
	let low = 1, high = 20;
	for (let i = 0; i < 50; i++) {
		const z = (low + high) / 2;
		if (tail(z) > alpha)
			low = z;
		else
			high = z;
	}
	return high;
}

class Comparer {
	constructor(event, type, norm) {
		this.norm = norm;   // 0: share, 1: per second, 2: absolute
		this.hasVariance = event.countType >= 0 &&
			event.sides.every(s => s.variance[type] > 0 || !s.total[type]);
		this.sides = event.sides.map(side => {
			const total = side.total[type], variance = side.variance[type];
			return { total, variance, seconds: side.duration / 1e9,
				n: variance > 0 ? total * total / variance : 0 };
		});
	}
	normal(s, raw, variance) {
		const side = this.sides[s];
		if (this.norm === 1)
			return { value: raw / side.seconds, variance: variance / side.seconds ** 2 };
		if (this.norm === 2)
			return { value: raw, variance };
		if (!(side.total > 0))
			return { value: 0, variance: 0 };
		const p = raw / side.total, q = Math.min(Math.abs(p), 1);
		const rest = Math.max(side.variance - variance, 0);
		return { value: p, variance: ((1 - q) ** 2 * variance + q * q * rest) / side.total ** 2 };
	}
	pooled(fresh, base) {
		const [f, b] = this.sides;
		if (!(f.n > 0 && b.n > 0))
			return 0;
		if (this.norm === 0) {
			const p = Math.min(Math.abs(b.n * base.value + f.n * fresh.value) / (b.n + f.n), 1);
			return p * (1 - p) * (1 / b.n + 1 / f.n);
		}
		const bs = this.norm === 1 ? b.seconds : 1, fs = this.norm === 1 ? f.seconds : 1;
		const rate = Math.abs(base.value * bs + fresh.value * fs) / (bs + fs);
		return rate * (b.total / b.n / bs + f.total / f.n / fs);
	}
	change(freshRaw, freshVariance, baseRaw, baseVariance) {
		const fresh = this.normal(0, freshRaw, freshVariance);
		const base = this.normal(1, baseRaw, baseVariance);
		const delta = fresh.value - base.value;
		let error = 0;
		if (this.hasVariance)
			error = Math.sqrt(Math.max(fresh.variance + base.variance, this.pooled(fresh, base)));
		return { fresh: fresh.value, base: base.value, delta, error };
	}
	// As a share of the whole profile, for colours.
	part(change) {
		const [f] = this.sides;
		const whole = this.norm === 0 ? 1 : this.norm === 1 ? f.total / f.seconds : f.total;
		return whole ? change.delta / whole : 0;
	}
	node(tree, i) {
		return this.change(tree.cum[0][i], tree.variance[0][i], tree.cum[1][i], tree.variance[1][i]);
	}
	// null: the variance is unknown.
	isSignificant(change, z) {
		return this.hasVariance ? change.error > 0 && Math.abs(change.delta) > z * change.error : null;
	}
	format(value, unit, signed) {
		let text;
		if (this.norm === 0)
			text = (value * 100).toFixed(!value || Math.abs(value) >= 0.00005 ? 2 : 4) + '%';
		else
			text = formatValue(value, unit) + (this.norm === 1 ? '/s' : '');
		return signed ? formatSigned(text, value) : text;
	}
}
