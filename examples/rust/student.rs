// Functions as a student writes them. layer_norm is wrong on purpose: eps stands outside of the root.
//   rustc --edition 2021 -O student.rs && pytest --pyargs spec_tests --backend="process:./student"
mod spec_server;
use spec_server::{result, serve, Answer, Array, Message};

const DESCRIPTION: &str = r#"{"protocol": 1, "name": "student-rust", "version": "1", "dtypes": ["float32"], "operations": {
  "relu": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]},
  "layer_norm": {"arrays": ["x", "weight", "bias"], "keywords": ["eps"]}}}"#;

fn rms_norm(row: &mut [f32], weight: &[f32], eps: f64) {
    let square: f64 = row.iter().map(|v| (*v as f64).powi(2)).sum();
    let scale = 1.0 / (square / row.len() as f64 + eps).sqrt();
    for (v, w) in row.iter_mut().zip(weight) { *v = (*v as f64 * scale * *w as f64) as f32; }
}

fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], eps: f64) {
    let d = row.len() as f64;
    let mean = row.iter().map(|v| *v as f64).sum::<f64>() / d;
    let variance = row.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / d;
    let scale = 1.0 / (variance.sqrt() + eps); // wrong
    for ((v, w), b) in row.iter_mut().zip(weight).zip(bias) { *v = ((*v as f64 - mean) * scale * *w as f64 + *b as f64) as f32; }
}

fn call(operation: &str, (keywords, arrays): &Message) -> Result<Answer, String> {
    let find = |name: &str| arrays.get(name).ok_or(format!("{operation} without {name}"));
    let eps = keywords.get("eps").and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let x = find("x")?;
    let (mut y, width) = (x.floats()?, x.shape.last().copied().unwrap_or(1).max(1));
    match operation {
        "relu" => y.iter_mut().for_each(|v| if *v < 0.0 { *v = 0.0 }),
        "rms_norm" => { let w = find("weight")?.floats()?; y.chunks_mut(width).for_each(|row| rms_norm(row, &w, eps)) }
        "layer_norm" => {
            let (w, b) = (find("weight")?.floats()?, find("bias")?.floats()?);
            y.chunks_mut(width).for_each(|row| layer_norm(row, &w, &b, eps))
        }
        _ => return Err(operation.into()),
    }
    result(Array::of_floats(&x.shape, &y))
}

fn main() {
    if let Err(why) = serve(DESCRIPTION, call) { eprintln!("malformed request: {why}"); std::process::exit(2); }
}
