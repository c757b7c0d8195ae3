<?php
/* Waits in functions of many kinds: phpwaits.php FILE.  Writes its own stack to FILE first: of each
 * function the name, the file and the line, innermost first, without functions of C. */
namespace App;

/* The line of each function is where it called the next one, which debug_backtrace() has there. */
function own_stack($trace, $line)
{
	$stack = [];
	foreach ([...$trace, ['function' => '{main}']] as $i => $f) {
		/* what follows a NUL makes the names of classes unique */
		$name = (isset($f['class']) ? explode("\0", $f['class'])[0] . '::' : '') . $f['function'];
		$name = in_array($f['function'], ['include', 'eval']) ? '{main}' : $name;
		if ($line && !in_array($name, ['usort', 'preg_replace_callback', 'array_map', 'iterator_to_array']))
			$stack[] = [$name, $line[0], $line[1]];
		$line = isset($f['line']) ? [$f['file'], $f['line']] : null;
	}
	return $stack;
}

function wait($file)
{
	file_put_contents($file, json_encode(own_stack(debug_backtrace(), [__FILE__, __LINE__])), LOCK_EX) && (print "ready\n") && fgets(STDIN);
}

class Node
{
	public static function enter($file) { (new static)->descend(3, $file); }
	private function descend($n, $file)
	{
		if ($n)
			return $this->descend($n - 1, $file);
		$list = [1, 2];
		usort($list, fn($a, $b) => $this->compare($a, $b, $file));
	}
	public function __call($name, $arguments) { return iterator_to_array(numbers($arguments[2])); }
}

trait Named { public function by_trait($file) { array_map(function ($x) use ($file) { wait($file); }, [1]); } }
class Ünder { use Named; }

function numbers($file)
{
	yield 1;
	yield from inner($file);
}

function inner($file)
{
	preg_replace_callback('/x/', fn($m) => [$file, eval('return \App\included($file);')][0], 'x');
	yield 2;
}

function included($file)
{
	$one = tempnam('/tmp', 'cprof');
	file_put_contents($one, '<?php (new class { function run($f) { (new \App\Ünder)->by_trait($f); } })->run($file);');
	include $one;
}

Node::enter($argv[1]);
