/*
 * Usage: Churn CLASSES MS [EACH]
 *
 * Loads the class Work CLASSES times, each time with a loader of its own and a name of its own,
 * Work000 and so on, in a thread of the same name, which works in it for MS ms.  Then nothing
 * refers to the class any more, and each EACH classes (10) the memory of unused ones is collected, so
 * that other classes and their code come to the same addresses.
 */
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

public class Churn {
	static class Loader extends ClassLoader {
		Class<?> define(byte[] code) {
			return defineClass(null, code, 0, code.length);
		}
	}

	/* Names of classes are texts of a class file; another one has the same length. */
	static byte[] renamed(byte[] code, String name) {
		byte[] copy = code.clone();
		byte[] from = "WorkXXX".getBytes(StandardCharsets.US_ASCII);
		byte[] to = name.getBytes(StandardCharsets.US_ASCII);
		for (int i = 0; i + from.length <= copy.length; i++) {
			int k = 0;
			while (k < from.length && copy[i + k] == from[k])
				k++;
			if (k == from.length)
				System.arraycopy(to, 0, copy, i, to.length);
		}
		return copy;
	}

	static void work(byte[] code, String name, long ms) {
		try {
			Runnable r = (Runnable) new Loader().define(renamed(code, name))
				.getConstructor(long.class).newInstance(ms);
			r.run();
		} catch (ReflectiveOperationException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		int classes = Integer.parseInt(args[0]);
		long ms = Long.parseLong(args[1]);
		int each = args.length > 2 ? Integer.parseInt(args[2]) : 10;
		InputStream in = Churn.class.getResourceAsStream("WorkXXX.class");
		byte[] code = new byte[65536];
		int n = 0;
		for (int more; (more = in.read(code, n, code.length - n)) > 0;)
			n += more;
		byte[] exact = java.util.Arrays.copyOf(code, n);
		for (int i = 0; i < classes; i++) {
			String name = String.format("Work%03d", i);
			Thread t = new Thread(() -> work(exact, name, ms), name);
			t.start();
			t.join();
			if (i % each == each - 1)
				System.gc();
		}
	}
}
