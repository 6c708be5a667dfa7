// Functions as a student writes them. logsumexp is wrong on purpose: the maximum is not subtracted.
//
//	go build -o server main.go spec_server.go && pytest --pyargs spec_tests --backend="process:./server"
package main

import (
	"math"
	"strconv"
)

const description = `{"protocol": 1, "name": "example-go", "version": "1", "dtypes": ["float32"], "operations": {
	"relu": {"arrays": ["x"]}, "logsumexp": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]}}}`

func relu(arrays Arrays, keywords map[string]string) (Arrays, error) {
	x, err := Read[float32](arrays["x"], "F32")
	if err != nil {
		return nil, err
	}
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
	return Arrays{"result": Of("F32", arrays["x"].Shape, x)}, nil
}

func rmsNorm(arrays Arrays, keywords map[string]string) (Arrays, error) {
	x, err := Read[float32](arrays["x"], "F32")
	if err != nil {
		return nil, err
	}
	weight, err := Read[float32](arrays["weight"], "F32")
	if err != nil {
		return nil, err
	}
	eps, _ := strconv.ParseFloat(keywords["eps"], 64)
	for d, i := len(weight), 0; i < len(x); i += d {
		row, square := x[i:i+d], 0.0
		for _, v := range row {
			square += float64(v) * float64(v) / float64(d)
		}
		for j, v := range row {
			row[j] = float32(float64(v) / math.Sqrt(square+eps) * float64(weight[j]))
		}
	}
	return Arrays{"result": Of("F32", arrays["x"].Shape, x)}, nil
}

func logsumexp(arrays Arrays, keywords map[string]string) (Arrays, error) {
	x, err := Read[float32](arrays["x"], "F32")
	if err != nil {
		return nil, err
	}
	shape, last := arrays["x"].Shape, len(arrays["x"].Shape)-1
	y := []float32{}
	for d, i := shape[last], 0; i < len(x); i += d {
		sum := 0.0
		for _, v := range x[i : i+d] {
			sum += math.Exp(float64(v))
		}
		y = append(y, float32(math.Log(sum))) // wrong
	}
	return Arrays{"result": Of("F32", shape[:last], y)}, nil
}

func main() {
	serve(description, map[string]Function{"relu": relu, "rms_norm": rmsNorm, "logsumexp": logsumexp})
}
