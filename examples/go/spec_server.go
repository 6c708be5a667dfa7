// The process protocol in Go, standard library only: main calls serve(description, functions).
// A function returns its results by their names, or an error that says why it has none, or the Value of an operation without arrays.
package main

import ("bufio"; "bytes"; "encoding/binary"; "encoding/json"; "fmt"; "io"; "os"; "strconv")

type Array struct { Dtype string `json:"dtype"`; Shape []int `json:"shape"`; Offsets [2]int `json:"data_offsets"`; Data []byte `json:"-"` } // little-endian
type Arrays = map[string]*Array
type Function = func(arrays Arrays, keywords map[string]string) (Arrays, error)
type Value int

func (v Value) Error() string { return strconv.Itoa(int(v)) }
func NotImplemented(why string) error { return fmt.Errorf("%s", why) }

// Read returns the elements, as Read[float32](x, "F32").
func Read[T any](x *Array, dtype string) ([]T, error) {
	if x == nil || x.Dtype != dtype { return nil, fmt.Errorf("no array of %s", dtype) }
	values := make([]T, len(x.Data)/sizes[dtype])
	return values, binary.Read(bytes.NewReader(x.Data), binary.LittleEndian, values)
}

// Of returns an array, as Of("F32", x.Shape, values).
func Of[T any](dtype string, shape []int, values []T) *Array {
	var data bytes.Buffer
	binary.Write(&data, binary.LittleEndian, values)
	return &Array{Dtype: dtype, Shape: shape, Data: data.Bytes()}
}

var sizes = map[string]int{"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "BOOL": 1, "I8": 1, "U8": 1}

func check(err error) { // a malformed request ends the process with status 2, as the protocol allows
	if err != nil { fmt.Fprintln(os.Stderr, "malformed request:", err); os.Exit(2) }
}

func receive(in io.Reader) (map[string]string, map[string]*Array) {
	var size uint64
	if err := binary.Read(in, binary.LittleEndian, &size); err == io.EOF { os.Exit(0) } else { check(err) }
	if size > 1<<20 { check(fmt.Errorf("its header has %d bytes", size)) }
	header, fields, metadata, arrays, length := make([]byte, size), map[string]json.RawMessage{}, map[string]string{}, map[string]*Array{}, 0
	_, err := io.ReadFull(in, header); check(err)
	check(json.Unmarshal(header, &fields))
	for name, field := range fields {
		if name == "__metadata__" { check(json.Unmarshal(field, &metadata)); continue }
		a, count := &Array{}, 1
		check(json.Unmarshal(field, a)); arrays[name] = a
		for _, n := range a.Shape { if count *= n; n < 0 { check(fmt.Errorf("the shape of %s", name)) } }
		if a.Offsets[0] < 0 || sizes[a.Dtype] == 0 || a.Offsets[1]-a.Offsets[0] != count*sizes[a.Dtype] { check(fmt.Errorf("the offsets of %s", name)) }
		if a.Offsets[1] > length { length = a.Offsets[1] }
	}
	data := make([]byte, length)
	_, err = io.ReadFull(in, data); check(err)
	for _, a := range arrays { a.Data = data[a.Offsets[0]:a.Offsets[1]] }
	return metadata, arrays
}

func send(out *bufio.Writer, key, text string, results Arrays) {
	header, start, parts := map[string]any{"__metadata__": map[string]string{}}, 0, [][]byte{}
	if key != "" { header["__metadata__"] = map[string]string{key: text} }
	for name, y := range results {
		y.Offsets = [2]int{start, start + len(y.Data)}
		header[name], start, parts = y, y.Offsets[1], append(parts, y.Data)
	}
	encoded, _ := json.Marshal(header)
	for len(encoded)%8 != 0 { encoded = append(encoded, ' ') }
	binary.Write(out, binary.LittleEndian, uint64(len(encoded))); out.Write(encoded)
	for _, part := range parts { out.Write(part) }
	out.Flush()
}

func serve(description string, functions map[string]Function) {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	os.Stdout = os.Stderr // what fmt.Println writes goes to standard error
	for {
		keywords, arrays := receive(in)
		switch keywords["request"] {
		case "describe": send(out, "describe", description, nil)
		case "quit": send(out, "", "", nil); return
		case "call":
			function, found := functions[keywords["operation"]]
			if !found { send(out, "not_implemented", keywords["operation"], nil); continue }
			results, err := function(arrays, keywords)
			if value, isValue := err.(Value); isValue { send(out, "value", strconv.Itoa(int(value)), nil)
			} else if err != nil { send(out, "not_implemented", err.Error(), nil) } else { send(out, "", "", results) }
		default: send(out, "error", "unknown request", nil)
		}
	}
}
