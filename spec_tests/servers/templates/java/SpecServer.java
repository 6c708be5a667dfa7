// The process protocol in Java 17, standard library only: main calls SpecServer.serve(description, functions).
// A function returns its results by their names, or throws NotImplemented, or throws the Value of an operation without arrays.
import java.io.*;
import java.nio.*;
import java.util.*;

public class SpecServer {
    public interface Function { Map<String, Array> call(Map<String, Array> arrays, Map<String, String> keywords); }
    public static class NotImplemented extends RuntimeException { public NotImplemented(String why) { super(why); } }
    public static class Value extends RuntimeException { public Value(long value) { super(Long.toString(value)); } }
    public record Array(String dtype, int[] shape, ByteBuffer data) { // the elements, little-endian
        public float[] floats() { float[] v = new float[view("F32").remaining() / 4]; view("F32").asFloatBuffer().get(v); return v; }
        public long[] integers() { long[] v = new long[view("I64").remaining() / 8]; view("I64").asLongBuffer().get(v); return v; }
        public ByteBuffer view(String stated) {
            if (!dtype.equals(stated)) throw new NotImplemented("arrays of " + dtype);
            return data.duplicate().order(ByteOrder.LITTLE_ENDIAN); }
        public static Array of(int[] shape, float[] v) { ByteBuffer data = allocate(4 * v.length); data.asFloatBuffer().put(v); return new Array("F32", shape, data); }
        public static Array of(int[] shape, long[] v) { ByteBuffer data = allocate(8 * v.length); data.asLongBuffer().put(v); return new Array("I64", shape, data); }
        static ByteBuffer allocate(int size) { return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN); }
    }
    static final Map<String, Integer> SIZES = Map.of("F64", 8, "I64", 8, "F32", 4, "I32", 4, "U32", 4, "F16", 2, "BF16", 2, "BOOL", 1, "I8", 1, "U8", 1);
    static DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
    static OutputStream out = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 20);

    static String text; // the header, and how far it has been read
    static int at;
    static char peek() { while (at < text.length() && " \n\r\t,:".indexOf(text.charAt(at)) >= 0) at++; return at < text.length() ? text.charAt(at) : 0; }
    static boolean next(char c) { if (peek() != c || at == text.length()) return false; at++; return true; }
    static void expect(char c) { if (!next(c)) throw new IllegalArgumentException("no " + c + " at " + at); }
    static Object json() { // objects, lists of whole numbers, and texts without escapes
        if (next('{')) { Map<String, Object> all = new LinkedHashMap<>(); while (!next('}')) { String key = (String) json(); all.put(key, json()); } return all; }
        if (next('[')) { List<Object> all = new ArrayList<>(); while (!next(']')) all.add(json()); return all; }
        int start = at;
        if (next('"')) { int end = text.indexOf('"', at); if (end < 0 || text.substring(at, end).contains("\\")) throw new IllegalArgumentException("a text"); start = at; at = end + 1; return text.substring(start, end); }
        while (at < text.length() && Character.isDigit(text.charAt(at))) at++;
        return Integer.valueOf(text.substring(start, at));
    }

    @SuppressWarnings("unchecked")
    static Map<String, String> receive(Map<String, Array> arrays) throws IOException {
        byte[] length = in.readNBytes(8);
        if (length.length == 0) System.exit(0);
        long size = ByteBuffer.wrap(length).order(ByteOrder.LITTLE_ENDIAN).getLong();
        if (size < 0 || size > 1 << 20) throw new IllegalArgumentException("its header has " + size + " bytes");
        byte[] bytes = new byte[(int) size]; in.readFully(bytes); text = new String(bytes); at = 0;
        Map<String, Object> header = (Map<String, Object>) json(), metadata = (Map<String, Object>) header.getOrDefault("__metadata__", Map.of());
        if (peek() != 0) throw new IllegalArgumentException("something follows its header");
        header.remove("__metadata__"); int total = 0;
        for (Object field : header.values()) total = Math.max(total, ((Map<String, List<Integer>>) field).get("data_offsets").get(1));
        byte[] data = new byte[total]; in.readFully(data);
        for (String name : header.keySet()) { Map<String, Object> field = (Map<String, Object>) header.get(name);
            List<Integer> offsets = (List<Integer>) field.get("data_offsets"); int[] shape = ((List<Integer>) field.get("shape")).stream().mapToInt(i -> i).toArray();
            int count = Arrays.stream(shape).reduce(1, Math::multiplyExact);
            if (offsets.get(1) - offsets.get(0) != count * SIZES.get(field.get("dtype"))) throw new IllegalArgumentException(name);
            arrays.put(name, new Array((String) field.get("dtype"), shape, ByteBuffer.wrap(data, offsets.get(0), offsets.get(1) - offsets.get(0)).slice().order(ByteOrder.LITTLE_ENDIAN))); }
        Map<String, String> texts = new HashMap<>();
        metadata.forEach((key, value) -> texts.put(key, "" + value));
        return texts;
    }
    static void send(String key, String value, Map<String, Array> results) throws IOException {
        StringBuilder header = new StringBuilder("{\"__metadata__\":{" + (key.isEmpty() ? "" : "\"" + key + "\":\"" + value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + "\"") + "}");
        int start = 0;
        for (Map.Entry<String, Array> entry : results.entrySet()) { Array y = entry.getValue();
            header.append(",\"" + entry.getKey() + "\":{\"dtype\":\"" + y.dtype + "\",\"shape\":" + Arrays.toString(y.shape) + ",\"data_offsets\":[" + start + "," + (start += y.data.capacity()) + "]}"); }
        byte[] bytes = (header + "}" + " ".repeat((7 - header.length() % 8) % 8)).getBytes("UTF-8");
        out.write(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(bytes.length).array()); out.write(bytes);
        for (Array y : results.values()) { byte[] elements = new byte[y.data.capacity()]; y.data.duplicate().rewind().get(elements); out.write(elements); }
        out.flush();
    }
    public static void serve(String description, Map<String, Function> functions) throws IOException {
        System.setOut(System.err); // what println writes goes to standard error
        for (;;) { Map<String, Array> arrays = new HashMap<>(); Map<String, String> keywords = receive(arrays); String request = "" + keywords.get("request"), operation = "" + keywords.get("operation");
            try {
                if (request.equals("describe")) send("describe", description, Map.of());
                else if (request.equals("quit")) { send("", "", Map.of()); return; }
                else if (!request.equals("call")) send("error", "unknown request", Map.of());
                else if (!functions.containsKey(operation)) throw new NotImplemented(operation);
                else send("", "", functions.get(operation).call(arrays, keywords));
            } catch (NotImplemented why) { send("not_implemented", why.getMessage(), Map.of());
            } catch (Value value) { send("value", value.getMessage(), Map.of()); } }
    }
}
