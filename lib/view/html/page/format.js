// ---- format: readable numbers, as `cprof report` prints them ------------------------------------

const UNIT_FAMILIES = [
	{ units: [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9], ['h', 3600e9]],
	  names: { nanosecond: 1, ns: 1, microsecond: 1e3, us: 1e3, millisecond: 1e6, ms: 1e6, second: 1e9,
		sec: 1e9, s: 1e9, hour: 3600e9, hr: 3600e9 } },
	{ units: [['B', 1], ['kB', 1024], ['MB', 2 ** 20], ['GB', 2 ** 30], ['TB', 2 ** 40], ['PB', 2 ** 50]],
	  names: { byte: 1, b: 1, kilobyte: 1024, kb: 1024, megabyte: 2 ** 20, mb: 2 ** 20,
		gigabyte: 2 ** 30, gb: 2 ** 30, terabyte: 2 ** 40, tb: 2 ** 40, petabyte: 2 ** 50, pb: 2 ** 50 } },
];

function findUnit(unit) {
	const name = unit.toLowerCase();
	for (const family of UNIT_FAMILIES) {
		for (const n of [name, name.replace(/s$/, '')])
			if (Object.hasOwn(family.names, n))
				return { units: family.units, size: family.names[n] };
	}
	return null;
}

function naturalUnit(units, value) {
	let best = units[0];
	for (const u of units)
		if (value >= u[1])
			best = u;
	return best;
}

// One unit for values between min and max, at most a hundred times min.
function chooseScale(min, max, unit) {
	const found = findUnit(unit);
	if (!found)
		return { factor: 1, suffix: '' };
	const high = Math.abs(max) * found.size, low = Math.abs(min) * found.size || high;
	let u = naturalUnit(found.units, low);
	if (u !== naturalUnit(found.units, high) && low * 100 < high)
		u = naturalUnit(found.units, low * 100);
	return { factor: found.size / u[1], suffix: u[0] };
}

const GROUPED = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

function groupDigits(value) {
	return GROUPED.format(value).replaceAll(',', '\u202f');
}

function formatScaled(value, scale) {
	if (value === 0)
		return '0';
	if (!scale.suffix)
		return groupDigits(value);
	const text = (value * scale.factor).toFixed(2).split('.');
	return groupDigits(text[0]).replace(/^0$/, value < 0 && text[0] === '-0' ? '-0' : '0') + '.' + text[1] +
		'\u202f' + scale.suffix;
}

function formatValue(value, unit) {
	return formatScaled(value, chooseScale(value, value, unit));
}

function formatShare(value, total) {
	if (!total || !value)
		return '0%';
	const p = Math.abs(value / total) * 100, sign = value / total < 0 ? '-' : '';
	return sign + (p >= 99.95 && p <= 100.05 ? '100' : p >= 0.005 ? p.toFixed(2) : p.toPrecision(1)) + '%';
}

function formatSigned(text, value) {
	return value > 0 ? '+' + text : text.replace(/^-/, '\u2212');
}

// The display name of values of this type.
function typeLabel(event, t) {
	const { type, unit } = event.types[t];
	return unit && unit !== 'count' ? type + ' (' + unit + ')' : type;
}
