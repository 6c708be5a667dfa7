// The process protocol in Rust, standard library only: call serve(DESCRIPTION, call). `call` returns an Answer, or Err(why it has none).
#![allow(dead_code)]
use std::{collections::HashMap, io::{self, BufReader, Read, Write}};

#[derive(Default, Clone)]
pub struct Array { pub dtype: String, pub shape: Vec<usize>, pub data: Vec<u8>, offsets: Vec<usize> } // data: little-endian
pub enum Answer { Results(Vec<(String, Array)>), Value(i64) }
impl Array {
    pub fn of_bytes(dtype: &str, shape: &[usize], data: Vec<u8>) -> Array { Array { dtype: dtype.into(), shape: shape.into(), data, offsets: vec![] } }
    pub fn of_floats(shape: &[usize], values: &[f32]) -> Array { Array::of_bytes("F32", shape, values.iter().flat_map(|v| v.to_le_bytes()).collect()) }
    pub fn of_integers(shape: &[usize], values: &[i64]) -> Array { Array::of_bytes("I64", shape, values.iter().flat_map(|v| v.to_le_bytes()).collect()) }
    pub fn floats(&self) -> Result<Vec<f32>, String> { self.read("F32", f32::from_le_bytes) }
    pub fn integers(&self) -> Result<Vec<i64>, String> { self.read("I64", i64::from_le_bytes) }
    fn read<T, const N: usize>(&self, dtype: &str, number: fn([u8; N]) -> T) -> Result<Vec<T>, String> {
        if self.dtype != dtype { return Err(format!("arrays of {}", self.dtype)); }
        Ok(self.data.chunks(N).map(|bytes| number(bytes.try_into().unwrap())).collect()) }
}
pub fn result(y: Array) -> Result<Answer, String> { Ok(Answer::Results(vec![("result".into(), y)])) } // of an operation with one
pub type Message = (HashMap<String, String>, HashMap<String, Array>);
fn text<E: ToString>(error: E) -> String { error.to_string() }

struct Header<'a> { text: &'a [u8], at: usize } // reads its JSON: the texts of a request are ASCII without escapes
impl Header<'_> {
    fn peek(&mut self) -> u8 {
        while self.at < self.text.len() && b" \n\r\t,:".contains(&self.text[self.at]) { self.at += 1; }
        *self.text.get(self.at).unwrap_or(&0) }
    fn next(&mut self, c: u8) -> bool { let found = self.peek() == c; self.at += found as usize; found }
    fn expect(&mut self, c: u8) -> Result<(), String> { if self.next(c) { Ok(()) } else { Err(format!("no {} at {}", c as char, self.at)) } }
    fn word(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let start = self.at;
        while !b"\"\\".contains(self.text.get(self.at).unwrap_or(&b'"')) { self.at += 1; }
        let word = String::from_utf8_lossy(&self.text[start..self.at]).into();
        self.expect(b'"').map(|_| word) }
    fn numbers(&mut self) -> Result<Vec<usize>, String> {
        let mut all = vec![];
        self.expect(b'[')?;
        while !self.next(b']') {
            let start = self.at;
            while self.text.get(self.at).map_or(false, u8::is_ascii_digit) { self.at += 1; }
            all.push(std::str::from_utf8(&self.text[start..self.at]).map_err(text)?.parse().map_err(text)?);
        }
        Ok(all) }
    fn message(&mut self) -> Result<Message, String> {
        let (mut metadata, mut arrays) = Message::default();
        self.expect(b'{')?;
        while !self.next(b'}') {
            let (name, mut a) = (self.word()?, Array::default());
            self.expect(b'{')?;
            while !self.next(b'}') { let key = self.word()?; self.peek();
                if name == "__metadata__" { metadata.insert(key, self.word()?); } else if key == "dtype" { a.dtype = self.word()?; }
                else if key == "shape" { a.shape = self.numbers()?; } else { a.offsets = self.numbers()?; } }
            if name != "__metadata__" { arrays.insert(name, a); }
        }
        if self.peek() == 0 && self.at == self.text.len() { Ok((metadata, arrays)) } else { Err("something follows its header".into()) } }
}
fn receive(input: &mut impl Read) -> Result<Option<Message>, String> {
    let mut length = vec![];
    input.take(8).read_to_end(&mut length).map_err(text)?;
    if length.is_empty() { return Ok(None); }
    let size = u64::from_le_bytes(length.try_into().map_err(|_| "the input ends early")?) as usize;
    let mut header = vec![0; if size > 1 << 20 { return Err(format!("its header has {size} bytes")) } else { size }];
    input.read_exact(&mut header).map_err(text)?;
    let (metadata, mut arrays) = Header { text: &header, at: 0 }.message()?;
    let mut data = vec![0; arrays.values().filter_map(|a| a.offsets.get(1)).copied().max().unwrap_or(0)];
    input.read_exact(&mut data).map_err(text)?;
    for (name, a) in &mut arrays {
        let item = match a.dtype.as_str() { "F64" | "I64" => 8, "F32" | "I32" | "U32" => 4, "F16" | "BF16" => 2, "BOOL" | "I8" | "U8" => 1, _ => return Err(name.clone()) };
        let bytes = a.shape.iter().try_fold(item, |size: usize, n| size.checked_mul(*n));
        match a.offsets[..] { [start, end] if bytes.is_some() && end.checked_sub(start) == bytes => a.data = data[start..end].into(), _ => return Err(name.clone()) }
    }
    Ok(Some((metadata, arrays))) }
fn send(key: &str, text: &str, results: &[(String, Array)]) -> io::Result<()> {
    let (quoted, mut out, mut start) = (text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "), io::stdout().lock(), 0);
    let mut header = if key.is_empty() { "{\"__metadata__\":{}".into() } else { format!("{{\"__metadata__\":{{\"{key}\":\"{quoted}\"}}") };
    for (name, y) in results {
        header += &format!(",\"{name}\":{{\"dtype\":\"{}\",\"shape\":{:?},\"data_offsets\":[{start},{}]}}", y.dtype, y.shape, start + y.data.len());
        start += y.data.len(); }
    header = format!("{header}}}{}", " ".repeat((7 - header.len() % 8) % 8));
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for (_, y) in results { out.write_all(&y.data)?; }
    out.flush()
}
pub fn serve(description: &str, call: fn(&str, &Message) -> Result<Answer, String>) -> Result<(), String> {
    let mut input = BufReader::with_capacity(1 << 20, io::stdin());
    while let Some(message) = receive(&mut input)? { match message.0.get("request").map_or("", String::as_str) {
        "describe" => send("describe", description, &[]), "quit" => return send("", "", &[]).map_err(text),
        "call" => match call(message.0.get("operation").map_or("", String::as_str), &message) {
            Ok(Answer::Results(results)) => send("", "", &results), Ok(Answer::Value(value)) => send("value", &value.to_string(), &[]),
            Err(why) => send("not_implemented", &why, &[]) },
        _ => send("error", "unknown request", &[]) }.map_err(text)?; }
    Ok(())
}
