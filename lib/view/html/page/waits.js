// ---- waits: states of threads, and threads that only wait for work ------------------------------
//
// cprof-waiting(7) has the labels. A page with waits colours boxes by state and hides idle threads,
// unless the user chooses otherwise.

const STATES = ['running', 'runnable', 'preempted', 'blocked', 'sleeping', 'disk'];
const IDLE = ['event-loop', 'pool'];
const THREAD_TIME = ['off_cpu', 'off-cpu', 'wall', 'wallclock', 'delay'];

// What the label sets of the page say. states: the names of all states, in the order of colours;
// stateOf: by set, an index in states or -1; isCall: by set, whether the innermost frames only wait.
function readWaits(data) {
	const found = valuesOfSets(data, 'state'), names = new Set(found.filter(v => v !== NO_VALUE));
	const states = STATES.filter(s => names.has(s)).concat([...names].filter(s => !STATES.includes(s)).sort());
	const waiters = valuesOfSets(data, 'waiter');
	return { states, stateOf: Int32Array.from(found, v => states.indexOf(v)),
		isIdle: Uint8Array.from(valuesOfSets(data, 'idle'), v => IDLE.includes(v)),
		isCall: Uint8Array.from(found, (v, i) => (v !== NO_VALUE && v !== 'running') || waiters[i] !== NO_VALUE) };
}

// Sums of the idle samples of an event, of each side by type: [{ total, variance }].
function sumIdle(event, waits) {
	return event.sides.map(({ samples }) => {
		const total = event.types.map(() => 0), variance = event.types.map(() => 0);
		for (let i = 0; i < samples.n; i++) {
			if (!waits.isIdle[samples.labels[i]])
				continue;
			const n = event.countType >= 0 ? Math.abs(samples.values[event.countType][i]) : 0;
			event.types.forEach((_, t) => {
				const v = samples.values[t][i];
				total[t] += Math.abs(v);
				variance[t] += n ? v * v / n : 0;
			});
		}
		return { total, variance };
	});
}

// The event as if it had no idle samples.
function withoutIdle(event, idle) {
	const sides = event.sides.map((side, s) => ({ ...side,
		total: side.total.map((v, t) => v - idle[s].total[t]),
		variance: side.variance.map((v, t) => Math.max(v - idle[s].variance[t], 0)) }));
	return { ...event, sides };
}

function hasStates(event, waits) {
	return event.sides[0].samples.labels.some(set => waits.stateOf[set] >= 0);
}

// "blocked 98.2%, preempted 1.8%"; a part that would be 0.0% is left out.
function shareOfStates(tree, i) {
	const sum = tree.states.reduce((n, s) => n + s[i], 0), parts = [];
	tree.states.forEach((values, k) => {
		if (sum > 0 && values[i] / sum >= 0.0005)
			parts.push([values[i], tree.stateNames[k] + ' ' + formatShare(values[i], sum)]);
	});
	return parts.sort((a, b) => b[0] - a[0]).map(p => p[1]).join(', ');
}
