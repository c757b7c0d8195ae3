// ---- graph: a tree drawn on a canvas ------------------------------------------------------------
//
// Only frames wide enough to see are laid out, and only the visible rows are drawn, so the size of
// the tree hardly matters. The callees of a frame that are too narrow share one box, so that their
// cost does not look like the frame's own. Level 0 is the root. The outer frames of a zoomed frame
// remain, with the full width.

const ROW_HEIGHT = 20, NARROW = 0.4, FONT = 12;
// In place of a node: the box of its narrow callees.
const narrowOf = i => -2 - i;
const MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

class Graph {
	// on: { zoom(node), choose(node), hover(node, event) }
	constructor(element, label, on) {
		this.on = on;
		this.tree = null;
		this.zoomed = 0;
		this.chosen = -1;
		this.hovered = -1;
		this.rootAtBottom = false;
		this.matches = null;
		this.comparing = null;
		this.scroller = element;
		this.spacer = document.createElement('div');
		this.canvas = document.createElement('canvas');
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'application');
		this.canvas.setAttribute('aria-label', label);
		this.spacer.append(this.canvas);
		this.scroller.append(this.spacer);
		this.context = this.canvas.getContext('2d');
		// The pointer stays where it is while boxes move below it.
		this.pointer = null;
		this.scroller.addEventListener('scroll', () => {
			this.draw();
			if (this.pointer)
				this.pointed(this.pointer);
		}, { passive: true });
		this.canvas.addEventListener('pointermove', e => this.pointed(e));
		this.canvas.addEventListener('pointerleave', () => {
			this.pointer = null;
			this.setHover(-1, null);
		});
		this.canvas.addEventListener('click', e => {
			const i = this.nodeAt(e);
			if (i >= 0)
				this.on.zoom(i);
		});
		this.canvas.addEventListener('keydown', e => this.key(e));
		new ResizeObserver(() => this.resized()).observe(this.scroller);
	}

	// byState: colours are those of the states of threads. modules: as for frameColor.
	show(tree, { rootAtBottom, comparing, byState, modules }) {
		const turned = this.tree === null || rootAtBottom !== this.rootAtBottom;
		if (tree !== this.tree)
			this.zoomed = 0, this.chosen = -1, this.hovered = -1;
		this.tree = tree;
		this.rootAtBottom = rootAtBottom;
		this.comparing = comparing;
		this.byState = byState;
		this.modules = modules;
		this.colors = new Map();
		this.layOut();
		if (turned)
			this.scrollToRoot();
		this.draw();
	}

	scrollToRoot() {
		this.scroller.scrollTop = this.rootAtBottom ? this.scroller.scrollHeight : 0;
	}

	zoom(node) {
		this.zoomed = node;
		this.chosen = -1;
		this.layOut();
		this.reveal(this.tree.depth[node]);
		this.draw();
	}

	setMatches(matches) {
		this.matches = matches;
		this.draw();
	}

	recolor() {
		this.colors = new Map();
		this.draw();
	}

	resized() {
		if (!this.tree || !this.scroller.clientWidth)
			return;
		this.layOut();
		if (!this.drawnOnce)
			this.scrollToRoot();
		this.draw();
	}

	// levels[d]: the boxes at depth d, from left to right.
	layOut() {
		const { tree } = this, width = this.scroller.clientWidth;
		// A flame graph stays scrolled to its bottom.
		const below = this.clientHeight ? this.height - this.scroller.scrollTop - this.clientHeight : 0;
		this.levels = [];
		this.narrow = new Map();   // by node: { n, value } of its narrow callees
		if (!width)
			return;
		const put = (depth, node, x, w) => {
			const level = this.levels[depth] || (this.levels[depth] = { node: [], x: [], w: [] });
			level.node.push(node);
			level.x.push(x);
			level.w.push(w);
		};
		for (let i = this.zoomed; i > 0; i = tree.parent[i])
			put(tree.depth[tree.parent[i]], tree.parent[i], 0, width);
		const stack = [[this.zoomed, 0, width]];
		while (stack.length) {
			const [i, x, w] = stack.pop();
			if (i < 0) {
				put(tree.depth[narrowOf(i)] + 1, i, x, w);
				continue;
			}
			put(tree.depth[i], i, x, w);
			const scale = tree.weight[i] > 0 ? w / tree.weight[i] : 0, below = [];
			let at = x;
			for (let k = tree.first[i]; k < tree.first[i + 1]; k++) {
				const child = tree.children[k], cw = tree.weight[child] * scale;
				if (cw < NARROW) {
					// the remaining ones are not wider
					const rest = this.sumNarrow(i, k);
					if (rest * scale >= 1)
						below.push([narrowOf(i), at, rest * scale]);
					break;
				}
				below.push([child, at, cw]);
				at += cw;
			}
			while (below.length)
				stack.push(below.pop());
		}
		this.height = Math.max(this.levels.length * ROW_HEIGHT + 1, this.scroller.clientHeight);
		this.spacer.style.height = this.height + 'px';
		this.clientHeight = this.scroller.clientHeight;
		if (this.rootAtBottom)
			this.scroller.scrollTop = this.height - this.clientHeight - below;
	}

	// The weight of the callees of i from k on.
	sumNarrow(i, k) {
		const { tree } = this, sum = { n: 0, value: 0 };
		let weight = 0;
		for (; k < tree.first[i + 1]; k++) {
			const child = tree.children[k];
			sum.n += tree.folded.get(child) || 1;
			sum.value += tree.cum[0][child];
			weight += tree.weight[child];
		}
		this.narrow.set(i, sum);
		return weight;
	}

	top(depth) {
		return this.rootAtBottom ? this.height - (depth + 1) * ROW_HEIGHT : depth * ROW_HEIGHT;
	}

	reveal(depth) {
		const y = this.top(depth), { scrollTop, clientHeight } = this.scroller;
		if (y < scrollTop || y + ROW_HEIGHT > scrollTop + clientHeight)
			this.scroller.scrollTop = y - clientHeight / 2;
	}

	draw() {
		if (!this.tree || !this.scroller.clientWidth || !this.levels.length)
			return;
		const { clientWidth: width, clientHeight: height, scrollTop } = this.scroller;
		const ratio = window.devicePixelRatio || 1, c = this.context;
		if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
			this.canvas.width = Math.round(width * ratio);
			this.canvas.height = Math.round(height * ratio);
			this.canvas.style.width = width + 'px';
			this.canvas.style.height = height + 'px';
		}
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, width, height);
		c.font = FONT + 'px ' + MONO;
		c.textBaseline = 'middle';
		this.letter = c.measureText('mmmmmmmmmm').width / 10;
		for (let d = 0; d < this.levels.length; d++) {
			const y = this.top(d) - scrollTop;
			if (this.levels[d] && y > -ROW_HEIGHT && y < height)
				this.drawLevel(c, this.levels[d], y);
		}
		this.outline(c, this.hovered, scrollTop, 1);
		this.outline(c, this.chosen, scrollTop, 2);
		this.drawnOnce = true;
	}

	color(i) {
		let color = this.colors.get(i);
		if (!color) {
			color = frameColor(this.tree, i, this.comparing, this.modules);
			this.colors.set(i, color);
		}
		return color;
	}

	drawLevel(c, level, y) {
		const { tree, matches } = this, h = ROW_HEIGHT - 1;
		for (let k = 0; k < level.node.length; k++) {
			const i = level.node[k], x = level.x[k], w = level.w[k], row = i < 0 ? -1 : tree.row[i];
			const gap = w > 3 ? 1 : 0;
			const isMatch = matches && row >= 0 && matches[row];
			c.fillStyle = isMatch ? palette.match : i < 0 ? palette.root : this.color(i);
			c.fillRect(x, y, w - gap, h);
			if (this.byState && !isMatch && i > 0)
				this.drawStates(c, i, x, y, w - gap);
			if (i >= 0 && tree.inlined[i] && w > 6 && !isMatch && !this.comparing) {
				c.strokeStyle = palette.dash;
				c.setLineDash([2, 2]);
				c.beginPath();
				c.moveTo(x + 1.5, y + h);
				c.lineTo(x + 1.5, y);
				c.stroke();
				c.setLineDash([]);
			}
			const isDim = (matches && !isMatch) || (i >= 0 && tree.depth[i] < tree.depth[this.zoomed]);
			if (isDim) {
				c.fillStyle = palette.dim;
				c.fillRect(x, y, w - gap, h);
			}
			const letters = Math.floor((w - 9) / this.letter);
			if (letters < 3)
				continue;
			const name = this.nameOf(i);
			c.fillStyle = isDim ? palette.dimText : palette.text;
			c.fillText(name.length <= letters ? name : name.slice(0, letters - 1) + '…', x + 5, y + h / 2 + 0.5);
		}
	}

	// A box is divided by the time in each state.
	drawStates(c, i, x, y, w) {
		const { tree } = this, scale = tree.weight[i] > 0 ? w / tree.weight[i] : 0;
		let at = x;
		tree.states.forEach((values, k) => {
			c.fillStyle = stateColor(tree.stateNames[k]);
			c.fillRect(at, y, Math.min(values[i] * scale, x + w - at), ROW_HEIGHT - 1);
			at += values[i] * scale;
		});
	}

	nameOf(i) {
		const { tree } = this, n = i < 0 ? this.narrow.get(narrowOf(i)).n : tree.folded.get(i);
		if (n)
			return n + (n === 1 ? ' smaller callee' : ' smaller callees');
		return tree.row[i] < 0 ? 'all' : tree.rows.name[tree.row[i]];
	}

	// { x, y, w } of a node in the graph; null if it is not laid out.
	place(i) {
		const level = i >= 0 && this.levels[this.tree.depth[i]];
		const k = level ? level.node.indexOf(i) : -1;
		return k < 0 ? null : { x: level.x[k], y: this.top(this.tree.depth[i]), w: level.w[k] };
	}

	outline(c, i, scrollTop, width) {
		const p = this.place(i);
		if (!p)
			return;
		c.strokeStyle = palette.focus;
		c.lineWidth = width;
		c.strokeRect(p.x + width / 2, p.y - scrollTop + width / 2, Math.max(p.w - 1 - width, 1), ROW_HEIGHT - 1 - width);
		c.lineWidth = 1;
	}

	// A node, the box of narrow callees of one, or -1.
	nodeAt(e) {
		const box = this.canvas.getBoundingClientRect();
		const x = e.clientX - box.left, y = e.clientY - box.top + this.scroller.scrollTop;
		const d = Math.floor((this.rootAtBottom ? this.height - y : y) / ROW_HEIGHT);
		const level = this.levels[d];
		if (!level)
			return -1;
		let low = 0, high = level.x.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (level.x[middle] <= x)
				low = middle;
			else
				high = middle - 1;
		}
		return x >= level.x[low] && x < level.x[low] + Math.max(level.w[low], 1) ? level.node[low] : -1;
	}

	pointed(e) {
		if (e.pointerType === 'touch')
			return;
		this.pointer = e;
		this.setHover(this.nodeAt(e), e);
	}

	setHover(i, event) {
		const changed = i !== this.hovered;
		this.hovered = i;
		this.canvas.style.cursor = i >= 0 ? 'pointer' : 'default';
		this.on.hover(i, event);
		if (changed)
			this.draw();
	}

	choose(i) {
		this.chosen = i;
		if (i >= 0)
			this.reveal(this.tree.depth[i]);
		this.draw();
		this.on.choose(i);
	}

	// Keys move between frames as they are laid out.
	key(e) {
		if (!this.tree || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const i = this.place(this.chosen) ? this.chosen : this.zoomed;
		const { tree } = this, down = this.rootAtBottom ? 'ArrowUp' : 'ArrowDown';
		let to = -1;
		if (e.key === 'Enter' || e.key === ' ') {
			e.preventDefault();
			this.on.zoom(i);
			return;
		}
		if (e.key === 'ArrowUp' || e.key === 'ArrowDown') {
			to = e.key === down ? tree.first[i] < tree.first[i + 1] ? tree.children[tree.first[i]] : -1
				: i ? tree.parent[i] : -1;
		} else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
			const level = this.levels[tree.depth[i]];
			to = level.node[level.node.indexOf(i) + (e.key === 'ArrowLeft' ? -1 : 1)];
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
		if (to !== undefined && to >= 0 && this.place(to))
			this.choose(to);
	}
}
