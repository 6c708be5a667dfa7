// Functions as a student writes them. logsumexp is wrong on purpose: the maximum is not subtracted.
//   javac Server.java && pytest --pyargs spec_tests --backend="process:java Server"
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;

public class Server extends SpecServer {
    static final String DESCRIPTION = """
        {"protocol": 1, "name": "example-java", "version": "1", "dtypes": ["float32"], "operations": {
          "relu": {"arrays": ["x"]}, "logsumexp": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]}}}""";

    static Map<String, Array> relu(Map<String, Array> arrays, Map<String, String> keywords) {
        float[] y = arrays.get("x").floats();
        for (int i = 0; i < y.length; i++) if (y[i] < 0) y[i] = 0;
        return Map.of("result", Array.of(arrays.get("x").shape(), y));
    }

    static Map<String, Array> rmsNorm(Map<String, Array> arrays, Map<String, String> keywords) {
        float[] y = arrays.get("x").floats(), weight = arrays.get("weight").floats();
        double eps = Double.parseDouble(keywords.get("eps"));
        int d = weight.length;
        for (int i = 0; i < y.length; i += d) {
            double square = 0;
            for (int j = i; j < i + d; j++) square += (double) y[j] * y[j] / d;
            for (int j = i; j < i + d; j++) y[j] = (float) (y[j] / Math.sqrt(square + eps) * weight[j - i]);
        }
        return Map.of("result", Array.of(arrays.get("x").shape(), y));
    }

    static Map<String, Array> logsumexp(Map<String, Array> arrays, Map<String, String> keywords) {
        int[] shape = arrays.get("x").shape();
        float[] x = arrays.get("x").floats();
        int d = shape[shape.length - 1];
        float[] y = new float[x.length == 0 ? 0 : x.length / d];
        for (int i = 0; i < y.length; i++) {
            double sum = 0;
            for (int j = i * d; j < i * d + d; j++) sum += Math.exp(x[j]);
            y[i] = (float) Math.log(sum); // wrong
        }
        return Map.of("result", Array.of(Arrays.copyOf(shape, shape.length - 1), y));
    }

    public static void main(String[] arguments) throws IOException {
        serve(DESCRIPTION, Map.of("relu", Server::relu, "rms_norm", Server::rmsNorm, "logsumexp", Server::logsumexp));
    }
}
