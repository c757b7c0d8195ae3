/*
 * Usage: Spin SECONDS [count]
 *
 * Works for that long, in loops, a recursion, an inlined method, and library code.  Prints how many
 * rounds it has done; with count, also a dot for each 8 of them.
 */
public class Spin {
	static long sink;

	static long loop(long n) {
		long s = 0;
		for (long i = 0; i < n; i++)
			s += i * i ^ s >> 3;
		return s;
	}

	static long twice(long n) {
		return loop(n) + loop(n);
	}

	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static String text(int n) {
		StringBuilder b = new StringBuilder();
		for (int i = 0; i < n; i++)
			b.append(i);
		return b.toString();
	}

	static void round() {
		sink += twice(20000);
		sink += fib(18);
		sink += text(300).length();
	}

	public static void main(String[] args) {
		long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
		long rounds = 0;
		boolean counts = args.length > 1;
		for (; System.nanoTime() < end; rounds++) {
			round();
			if (counts && rounds % 8 == 7) {
				System.out.write('.');
				System.out.flush();
			}
		}
		System.out.println("rounds " + rounds);
	}
}
