// The process protocol in Java 17, standard library only. logsumexp is wrong on purpose: the maximum is not subtracted.
//   javac Server.java && pytest --pyargs spec_tests --backend="process:java Server"
import java.io.*;
import java.nio.*;
import java.util.*;

public class Server {
    record Array(String dtype, int[] shape, ByteBuffer data) {
        float[] floats() { float[] v = new float[data.remaining() / 4]; data.asFloatBuffer().get(v); return v; }
        static Array of(int[] shape, float[] v) { ByteBuffer data = ByteBuffer.allocate(4 * v.length).order(ByteOrder.LITTLE_ENDIAN); data.asFloatBuffer().put(v); return new Array("F32", shape, data); }
    }
    static final Map<String, Integer> SIZES = Map.of("F64", 8, "I64", 8, "F32", 4, "I32", 4, "F16", 2, "BF16", 2, "BOOL", 1);
    static final String DESCRIPTION = "{\"protocol\": 1, \"name\": \"example-java\", \"version\": \"" + Runtime.version() + "\", \"dtypes\": [\"float32\"],"
        + "\"operations\": {\"relu\": {\"arrays\": [\"x\"]}, \"logsumexp\": {\"arrays\": [\"x\"]}, \"rms_norm\": {\"arrays\": [\"x\", \"weight\"], \"keywords\": [\"eps\"]}}}";
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
    static Map<String, Object> receive(Map<String, Array> arrays) throws IOException {
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
        return metadata;
    }
    static void send(String key, String value, Array result) throws IOException {
        String header = "{\"__metadata__\":{" + (key.isEmpty() ? "" : "\"" + key + "\":\"" + value.replace("\\", "\\\\").replace("\"", "\\\"") + "\"") + "}";
        if (result != null) header += ",\"result\":{\"dtype\":\"F32\",\"shape\":" + Arrays.toString(result.shape) + ",\"data_offsets\":[0," + result.data.capacity() + "]}";
        byte[] bytes = (header + "}" + " ".repeat((7 - header.length() % 8) % 8)).getBytes("UTF-8");
        out.write(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(bytes.length).array()); out.write(bytes);
        if (result != null) out.write(result.data.array());
        out.flush();
    }
    static Array call(String operation, double eps, Array x, Array weight) { // null: not implemented
        if (x == null || !x.dtype.equals("F32") || !List.of("relu", "logsumexp", "rms_norm").contains(operation)) return null;
        float[] v = x.floats(), y = new float[v.length], w = weight == null ? null : weight.floats();
        int d = x.shape.length > 0 && v.length > 0 ? x.shape[x.shape.length - 1] : 1, rows = v.length / d;
        if (operation.equals("logsumexp")) y = new float[rows];
        for (int i = 0; i < rows; i++) { double sum = 0, square = 0;
            for (int j = i * d; j < i * d + d; j++) { sum += Math.exp(v[j]); square += (double) v[j] * v[j]; }
            if (operation.equals("logsumexp")) y[i] = (float) Math.log(sum); /* wrong */
            else for (int j = i * d; j < i * d + d; j++) y[j] = operation.equals("relu") ? (v[j] < 0 ? 0 : v[j]) : (float) (v[j] / Math.sqrt(square / d + eps) * w[j - i * d]); }
        return Array.of(operation.equals("logsumexp") ? Arrays.copyOf(x.shape, x.shape.length - 1) : x.shape, y);
    }
    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err); // what println writes goes to standard error
        for (;;) { Map<String, Array> arrays = new HashMap<>(); Map<String, Object> said = receive(arrays); String request = "" + said.get("request"), operation = "" + said.get("operation");
            if (request.equals("describe")) send("describe", DESCRIPTION, null);
            else if (request.equals("quit")) { send("", "", null); return; }
            else if (!request.equals("call")) send("error", "unknown request", null);
            else { Array y = call(operation, Double.parseDouble("" + said.getOrDefault("eps", "0")), arrays.get("x"), arrays.get("weight"));
                if (y == null) send("not_implemented", operation, null); else send("", "", y); } }
    }
}
