// ---- colors: of frames, by kind, module, state or change ----------------------------------------

const PALETTES = {
	light: {
		strip: { text: '#5d574f', empty: '#efebe4', heat: '#b5490f' }, baseMark: '#7a3fa0',
		text: '#221f1b', dimText: '#6d675e', dim: 'rgba(251,250,248,0.62)', edge: '#fbfaf8', focus: '#1b4f8f',
		user: ['#f3c08a', '#f0b37a', '#f6cd9c', '#eeac80', '#f2c594', '#ebb78a'],
		inlined: ['#f8e4c4', '#f6ddba', '#f9e9ce', '#f5dbbf', '#f8e5c9', '#f3dec3'],
		library: ['#e3dc9a', '#dcd48b', '#e9e3ad', '#d8d294', '#e1dba6', '#ddd79a'],
		jit: ['#a9d6b1', '#9dcda6', '#b6dfbd', '#a3cfae', '#b0d8ba', '#a6d2a9'],
		kernel: ['#a5c1dc', '#97b7d6', '#b2cbe2', '#9fbdd2'],
		root: '#e7e2d9', group: ['#c9d6c0', '#bccdb1', '#d3ddcb'], match: '#b387d9', dash: '#b98a4a',
		same: '#e2ddd4', modules: ['#f3c08a', '#a5c1dc', '#a9d6b1', '#e0a9bd', '#dcd48b', '#c3b3e0', '#8fd0cf', '#d8b9a0'],
		states: { running: '#9fcf93', runnable: '#e9d27a', preempted: '#eeb06a', blocked: '#e39a94',
			sleeping: '#a9c3e0', disk: '#c3a5dc', other: '#cfc8bc' },
		grown: ['#f7d9cf', '#f2bdae', '#ea9c88', '#df7a63', '#cf5b44'],
		shrunk: ['#d5e2f0', '#b9d0e7', '#95b9db', '#6f9fce', '#4f86bf'],
	},
	dark: {
		strip: { text: '#b3aca1', empty: '#262422', heat: '#f5a25f' }, baseMark: '#d3a4f5',
		text: '#14120f', dimText: '#b3aca1', dim: 'rgba(23,22,21,0.66)', edge: '#171615', focus: '#9cc7ff',
		user: ['#d79a5c', '#cf8d4f', '#dda86e', '#c98a58', '#d6a067', '#c99660'],
		inlined: ['#dcc39a', '#d6bb90', '#e0caa4', '#d3b794', '#dac49f', '#d2ba95'],
		library: ['#b9b166', '#b0a85a', '#c3bc76', '#aca661', '#b8b172', '#b3ac68'],
		jit: ['#76b383', '#6aa877', '#85bf91', '#70ab80', '#7eb58c', '#73ae7c'],
		kernel: ['#7ea3c7', '#7099bf', '#8eb0d0', '#7a9fb8'],
		root: '#8f887c', group: ['#9fb392', '#92a885', '#adbfa1'], match: '#bb93e6', dash: '#6d5126',
		same: '#8d877d', modules: ['#d79a5c', '#7ea3c7', '#76b383', '#cf8aa3', '#b9b166', '#a591d0', '#5fb0af', '#b39379'],
		states: { running: '#7fb573', runnable: '#cdb65d', preempted: '#d3934c', blocked: '#cf7f78',
			sleeping: '#86a8cb', disk: '#a887c6', other: '#9b948a' },
		grown: ['#c9a79c', '#d39a88', '#da8973', '#de745a', '#e0604a'],
		shrunk: ['#a3b3c4', '#90adc8', '#7aa5cf', '#6199d3', '#4c8dd6'],
	},
};

let palette = PALETTES.light;

// The colour step of a change, as a share of the total: 0.1%, 0.5%, 2% and 5% begin new steps.
function changeStep(part) {
	const size = Math.abs(part);
	return size < 0.001 ? 0 : size < 0.005 ? 1 : size < 0.02 ? 2 : size < 0.05 ? 3 : 4;
}

// The modules of a tree by the cost of their own code: Map of module -> { place, sum }.
function moduleRanks(tree) {
	if (!tree.moduleRanks) {
		const sums = new Map(), { rows } = tree;
		for (let i = 1; i < tree.n; i++) {
			const row = tree.row[i];
			if (row < rows.n && row !== rows.folded)
				sums.set(rows.module[row], (sums.get(rows.module[row]) || 0) + tree.flat[0][i]);
		}
		const sorted = [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
		tree.moduleRanks = new Map(sorted.map(([module, sum], place) => [module, { place, sum }]));
	}
	return tree.moduleRanks;
}

// comparing: null, or { comparer, z }. modules: what moduleRanks returns, or null for colours by kind.
function frameColor(tree, i, comparing, modules) {
	const row = tree.row[i], { rows } = tree;
	if (row < 0 || row === rows.folded)
		return palette.root;
	if (comparing) {
		const change = comparing.comparer.node(tree, i);
		if (comparing.comparer.isSignificant(change, comparing.z) === false || !change.delta)
			return palette.same;
		const steps = change.delta > 0 ? palette.grown : palette.shrunk;
		return steps[changeStep(comparing.comparer.part(change))];
	}
	const shade = rows.shade[row];
	if (row >= rows.n)
		return palette.group[shade % palette.group.length];
	if (modules)
		return palette.modules[modules.get(rows.module[row])?.place] || palette.same;
	if (rows.isKernel[row])
		return palette.kernel[shade % palette.kernel.length];
	const set = palette[rows.kind[row] || (tree.inlined[i] ? 'inlined' : 'user')];
	return set[shade % set.length];
}

function stateColor(name) {
	return palette.states[name] || palette.states.other;
}

const KINDS = [['user', 'own code'], ['inlined', 'inlined'], ['library', 'libraries'], ['jit', 'JIT code'], ['kernel', 'kernel']];

function moduleItems(modules, total) {
	const all = [...modules], n = palette.modules.length, rest = all.slice(n).reduce((sum, [, m]) => sum + m.sum, 0);
	const items = all.slice(0, n).filter(([, m]) => m.sum > 0).map(([path, m]) =>
		[moduleName(path) + ' ' + formatShare(m.sum, total), palette.modules[m.place]]);
	return rest > 0 ? [...items, ['others ' + formatShare(rest, total), palette.same]] : items;
}

// shown: the tree; tree: the same if it is coloured by state, or null; modules: as for frameColor.
function legendItems(comparing, tree, shown, modules) {
	if (tree)
		return tree.stateNames.map((name, k) => [tree.states[k][0], name]).filter(([sum]) => sum > 0)
			.map(([sum, name]) => [name + ' ' + formatShare(sum, tree.weight[0]), stateColor(name)]);
	if (comparing)
		return [['shrunk', palette.shrunk[3]], ['could be noise', palette.same], ['grown', palette.grown[3]]];
	if (modules)
		return moduleItems(modules, shown.cum[0][0]);
	const { rows, inlined } = shown, seen = new Set();
	for (let i = 1; i < shown.n; i++) {
		const row = shown.row[i];
		if (row < rows.n && row !== rows.folded)
			seen.add(rows.isKernel[row] ? 'kernel' : rows.kind[row] || (inlined[i] ? 'inlined' : 'user'));
	}
	return KINDS.filter(([kind]) => seen.has(kind)).map(([kind, name]) => [name, palette[kind][0], kind === 'inlined']);
}
