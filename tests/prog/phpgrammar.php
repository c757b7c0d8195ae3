<?php
/* As pygrammar.py, in PHP: phpgrammar.php N */
$n = (int)$argv[1];
for ($i = 0; $i < 8; $i++) {
	eval("
function leaf_$i(\$n) {
	\$x = 0.0;
	for (\$k = 0; \$k < \$n; \$k++)
		\$x += \$k * 0.5;
	return \$x;
}
function c_$i(\$n) {
	\$y = leaf_$i(\$n);
	return \$y;
}
function b_$i(\$n) {
	\$y = c_$i(\$n);
	return \$y;
}
function a_$i(\$n) {
	\$y = b_$i(\$n);
	return \$y;
}
");
}

function cpu_ms() {
	$u = getrusage();
	return 1000 * $u["ru_utime.tv_sec"] + $u["ru_utime.tv_usec"] / 1000;
}

function run($n) {
	$families = [];
	for ($i = 0; $i < 8; $i++)
		$families[] = "a_$i";
	echo "ready\n";
	$fork = getenv("GRAMMAR_FORK");
	$then = getenv("GRAMMAR_THEN");
	$start = cpu_ms();
	for ($i = 0;; $i++) {
		foreach ($families as $a)
			$a($n);
		if ($i % 64 || !($fork || $then) || cpu_ms() - $start < 400)
			continue;
		if ($fork)
			$fork = pcntl_fork() < 0;
		if ($then) {
			[$command, $rest] = explode("|", $then, 2);
			putenv("GRAMMAR_THEN=$rest");
			$words = explode(" ", $command);
			pcntl_exec($words[0], array_slice($words, 1));
		}
	}
}

run($n);
