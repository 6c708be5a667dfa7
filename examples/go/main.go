// The process protocol in Go, standard library only. logsumexp is wrong on purpose: the maximum is not subtracted.
//
//	go build -o server main.go && pytest --pyargs spec_tests --backend="process:./server"
package main

import ("bufio"; "encoding/binary"; "encoding/json"; "fmt"; "io"; "math"; "os"; "strconv")

type array struct { Dtype string `json:"dtype"`; Shape []int `json:"shape"`; Offsets [2]int `json:"data_offsets"`; values []float32 }

var sizes = map[string]int{"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "BOOL": 1}

const description = `{"protocol": 1, "name": "example-go", "version": "1", "dtypes": ["float32"], "operations": {
	"relu": {"arrays": ["x"]}, "logsumexp": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]}}}`

func check(err error) { // a malformed request ends the process with status 2, as the protocol allows
	if err != nil { fmt.Fprintln(os.Stderr, "malformed request:", err); os.Exit(2) }
}

func receive(in io.Reader) (map[string]string, map[string]*array) {
	var size uint64
	if err := binary.Read(in, binary.LittleEndian, &size); err == io.EOF { os.Exit(0) } else { check(err) }
	if size > 1<<20 { check(fmt.Errorf("its header has %d bytes", size)) }
	header, fields, metadata, arrays, length := make([]byte, size), map[string]json.RawMessage{}, map[string]string{}, map[string]*array{}, 0
	_, err := io.ReadFull(in, header); check(err)
	check(json.Unmarshal(header, &fields))
	for name, field := range fields {
		if name == "__metadata__" { check(json.Unmarshal(field, &metadata)); continue }
		a, count := &array{}, 1
		check(json.Unmarshal(field, a)); arrays[name] = a
		for _, n := range a.Shape { if count *= n; n < 0 { check(fmt.Errorf("the shape of %s", name)) } }
		if a.Offsets[0] < 0 || sizes[a.Dtype] == 0 || a.Offsets[1]-a.Offsets[0] != count*sizes[a.Dtype] { check(fmt.Errorf("the offsets of %s", name)) }
		if a.Offsets[1] > length { length = a.Offsets[1] }
	}
	data := make([]byte, length)
	_, err = io.ReadFull(in, data); check(err)
	for _, a := range arrays { if a.Dtype == "F32" {
		a.values = make([]float32, (a.Offsets[1]-a.Offsets[0])/4)
		for i := range a.values { a.values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[a.Offsets[0]+4*i:])) } } }
	return metadata, arrays
}

func send(out *bufio.Writer, key, text string, result *array) {
	header := map[string]any{"__metadata__": map[string]string{}}
	if key != "" { header["__metadata__"] = map[string]string{key: text} }
	if result != nil { result.Offsets = [2]int{0, 4 * len(result.values)}; header["result"] = result }
	encoded, _ := json.Marshal(header)
	for len(encoded)%8 != 0 { encoded = append(encoded, ' ') }
	binary.Write(out, binary.LittleEndian, uint64(len(encoded))); out.Write(encoded)
	if result != nil { for _, v := range result.values { binary.Write(out, binary.LittleEndian, v) } }
	out.Flush()
}

func call(operation string, keywords map[string]string, x, weight *array) *array {
	if x == nil || x.Dtype != "F32" || len(x.Shape) == 0 && operation != "relu" || operation == "rms_norm" && weight == nil { return nil }
	y, d := &array{Dtype: "F32", Shape: x.Shape}, 1
	if len(x.Shape) > 0 && len(x.values) > 0 { d = x.Shape[len(x.Shape)-1] }
	for i := 0; i < len(x.values); i += d { row, sum, square := x.values[i:i+d], 0.0, 0.0
		for _, v := range row { sum += math.Exp(float64(v)); square += float64(v) * float64(v) }
		eps, _ := strconv.ParseFloat(keywords["eps"], 64)
		switch operation {
		case "relu": for _, v := range row { if v < 0 { v = 0 }; y.values = append(y.values, v) }
		case "rms_norm": for j, v := range row { y.values = append(y.values, float32(float64(v)/math.Sqrt(square/float64(d)+eps)*float64(weight.values[j]))) }
		case "logsumexp": y.values = append(y.values, float32(math.Log(sum))) // wrong
		} }
	if operation == "logsumexp" { y.Shape = x.Shape[:len(x.Shape)-1] } else if operation != "relu" && operation != "rms_norm" { return nil }
	return y
}

func main() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	os.Stdout = os.Stderr // what fmt.Println writes goes to standard error
	for { metadata, arrays := receive(in)
		switch metadata["request"] {
		case "describe": send(out, "describe", description, nil)
		case "quit": send(out, "", "", nil); return
		case "call": if y := call(metadata["operation"], metadata, arrays["x"], arrays["weight"]); y != nil { send(out, "", "", y) } else { send(out, "not_implemented", metadata["operation"], nil) }
		default: send(out, "error", "unknown request", nil)
		} }
}
