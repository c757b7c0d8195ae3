// Usage: node closures.js N
//
// Runs N closures, one after the other, each for 2 ms.  A closure is made anew from one of 64
// functions, allocates memory, and is garbage afterwards.  The thread has the name of the function
// while a closure runs.
'use strict';

const FUNCTIONS = 64;
const make = [];
for (let i = 0; i < FUNCTIONS; i++)
	make.push(new Function(`
		return until => function work${i}() {
			let x = 0;
			while (performance.now() < until)
				for (let i = 0; i < 200; i++)
					x += [x, i, i + 1].length;
			return x;
		};`)());

const n = +process.argv[2];
let result = 0;
for (let i = 0; i < n; i++) {
	const k = (i * 37) % FUNCTIONS;
	process.title = 'work' + k;
	result += make[k](performance.now() + 2)();
}
console.log('result ' + result);
