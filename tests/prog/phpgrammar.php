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

function run($n) {
	$families = [];
	for ($i = 0; $i < 8; $i++)
		$families[] = "a_$i";
	echo "ready\n";
	for (;;)
		foreach ($families as $a)
			$a($n);
}

run($n);
