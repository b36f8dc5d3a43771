// Writes java_streams.json: one object per line, serialized by the real java.io.ObjectOutputStream.
// Run once with: java tests/replay/log/java/Streams.java > tests/replay/log/java/java_streams.json

import java.io.*;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.URI;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;

public class Streams {
    enum Colour { RED, GREEN { int code() { return 2; } }; int code() { return 1; } }

    record Bid(long auction, String bidder, int[] prices) implements Serializable {}

    static class Point implements Serializable { int x = 3; double y = 4.5; String name = "p"; Point next; }

    static class Point3 extends Point { float z = 1f; long[] extra = {1, 2, 3}; boolean on = true; }

    static class Middle extends Point3 { private void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject(); out.writeInt(7); out.writeObject("inside"); out.write(new byte[2000]); } }

    static class Leaf extends Middle { short s = 9; byte b = 1; char c = 'x'; }

    public static class Outer implements Externalizable {
        public Outer() {}
        public void writeExternal(ObjectOutput out) throws IOException { out.writeUTF("text"); out.writeObject(List.of(1, 2)); }
        public void readExternal(ObjectInput in) {}
    }

    static class Handler implements InvocationHandler, Serializable {
        public Object invoke(Object proxy, Method method, Object[] args) { return 0; }
    }

    static class Cycle implements Serializable { Object self = this; Object[] both = {this, null, "x"}; }

    static class Replaced implements Serializable { Object writeReplace() { return new StringBuilder("instead"); } }

    interface Order<T> extends Comparator<T>, Serializable {}

    static Object chain(int length) {
        Point first = new Point(), last = first;
        for (int i = 1; i < length; i++) { last.next = new Point(); last = last.next; }
        return first;
    }

    static Object nested(int depth) {
        Object inner = "end";
        for (int i = 0; i < depth; i++) inner = new ArrayList<>(List.of(inner));
        return inner;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("null", null);
        all.put("string", "plain");
        all.put("empty string", "");
        all.put("modified utf-8", "nul \0, umlaut ü, astral 😀");
        all.put("long string", "x".repeat(70000));
        for (Object o : new Object[] {true, (byte) 1, 'c', (short) 2, 3, 4L, 5f, 6d}) all.put("boxed " + o.getClass().getSimpleName(), o);
        all.put("arrays", new Object[] {new boolean[] {true}, new byte[300], new char[] {'a'}, new short[] {1}, new int[] {1, 2},
            new long[] {1}, new float[] {1}, new double[] {1}, new String[] {"a", null}, new int[][] {{1}, {2, 3}, null}});
        all.put("enum", Colour.RED);
        all.put("enum with body", Colour.GREEN);
        all.put("enum map", new EnumMap<>(Map.of(Colour.RED, 1, Colour.GREEN, 2)));
        all.put("enum set", EnumSet.allOf(Colour.class));
        all.put("class", Bid.class);
        all.put("class of primitive", int.class);
        all.put("class of array", String[][].class);
        all.put("class not serializable", Thread.class);
        all.put("class descriptor", ObjectStreamClass.lookup(Point3.class));
        all.put("record", new Bid(7, "b", new int[] {1, 2}));
        all.put("inheritance", new Point3());
        all.put("write method in the middle", new Leaf());
        all.put("externalizable", new Outer());
        all.put("two externalizables", List.of(new Outer(), new Outer()));
        all.put("proxy", Proxy.newProxyInstance(Streams.class.getClassLoader(), new Class<?>[] {Runnable.class, Comparable.class}, new Handler()));
        all.put("cycle", new Cycle());
        all.put("writeReplace", new Replaced());
        all.put("lambda", (Order<String>) (a, b) -> a.length() - b.length());
        all.put("tree map with lambda", new TreeMap<String, Integer>((Order<String>) (a, b) -> a.compareTo(b)) {{ put("k", 1); }});
        all.put("chain of 500", chain(500));
        all.put("lists nested 300 deep", nested(300));
        all.put("big decimal", new BigDecimal("12345678901234567890.12345"));
        all.put("big integer", BigInteger.TWO.pow(300));
        all.put("date", new Date(1605600000000L));
        all.put("calendar", new GregorianCalendar(TimeZone.getTimeZone("Europe/Lisbon")));
        all.put("times", List.of(Instant.EPOCH, LocalDate.of(2020, 11, 17), LocalDateTime.of(2020, 1, 2, 3, 4), Duration.ofMillis(5), ZonedDateTime.of(2020, 1, 1, 0, 0, 0, 0, ZoneId.of("Europe/Lisbon"))));
        all.put("uuid", new UUID(1, 2));
        all.put("bit set", BitSet.valueOf(new long[] {5, 9}));
        all.put("atomic", new AtomicLong(4));
        all.put("concurrent map", new ConcurrentHashMap<>(Map.of("a", 1, "b", List.of(2, 3))));
        all.put("concurrent queue", new ConcurrentLinkedQueue<>(List.of(1, "two", 3.0)));
        all.put("linked list", new LinkedList<>(List.of("a", "b")));
        all.put("array deque", new ArrayDeque<>(List.of(1, 2)));
        all.put("priority queue", new PriorityQueue<>(List.of(3, 1, 2)));
        all.put("vector", new Vector<>(List.of(1, 2)));
        all.put("hash set", new LinkedHashSet<>(List.of("x", "y")));
        all.put("locale", Locale.GERMANY);
        all.put("uri", URI.create("http://example.org/a?b=c"));
        all.put("address", InetAddress.getByAddress("host", new byte[] {10, 0, 0, 1}));
        all.put("exception", new IllegalStateException("outer", new IOException("inner")));
        all.put("unmodifiable", Collections.unmodifiableMap(new HashMap<>(Map.of("a", Collections.singletonList("b")))));
        all.put("array list of a thousand", new ArrayList<>(Collections.nCopies(1000, 42)));
        StringBuilder json = new StringBuilder("[\n");
        String comma = "";
        for (var entry : all.entrySet()) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) { out.writeObject(entry.getValue()); }
            json.append(comma).append("{\"what\": \"").append(entry.getKey()).append("\", \"hex\": \"").append(HexFormat.of().formatHex(bytes.toByteArray())).append("\"}");
            comma = ",\n";
        }
        System.out.println(json.append("\n]"));
    }
}
