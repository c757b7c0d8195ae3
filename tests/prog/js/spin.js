// Usage: node spin.js MS [count]
//
// Works for MS of its own CPU time in functions that all compilers of V8 meet: loops, recursion,
// closures that a builtin calls, methods, and a function that is entered too often to stay in the
// interpreter but never inlined.  With count, it prints a dot for each 8 rounds.
'use strict';

function loop(n) {
	let s = 0;
	for (let i = 0; i < n; i++)
		s = (s * 31 + i) | 0;
	return s;
}

function round(n) {
	let t = 0;
	for (let i = 0; i < n; i++)
		t ^= loop(2000);
	return t;
}

function fib(n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

class Kind {
	constructor() {
		this.list = [];
	}

	fill(n) {
		this.list = [];
		for (let i = 0; i < n; i++)
			this.list.push((i * 7919) % 1000);
		this.list.sort((a, b) => a - b);
		return this.list[0];
	}
}

function once() {
	const kind = new Kind();
	let t = 0;
	for (let i = 0; i < 10; i++)
		t += round(20) + fib(15) + kind.fill(200);
	return t;
}

const start = process.cpuUsage().user;
let result = 0;
let rounds = 0;
for (; process.cpuUsage().user - start < +process.argv[2] * 1000; rounds++) {
	result ^= once();
	if (process.argv[3] && rounds % 8 === 7)
		require('fs').writeSync(1, '.');
}
console.log('result ' + result);
console.log('rounds ' + rounds);
