// The process protocol in Rust, standard library only: call serve(DESCRIPTION, call). `call` returns the result, or Err(why it has none).
use std::{collections::HashMap, io::{self, BufReader, Read, Write}};

#[derive(Default, Clone)]
pub struct Array { pub dtype: String, pub shape: Vec<usize>, offsets: Vec<usize>, pub values: Vec<f32> } // values: of F32 alone
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
        let item = match a.dtype.as_str() { "F64" | "I64" => 8, "F32" | "I32" => 4, "F16" | "BF16" => 2, "BOOL" => 1, _ => return Err(name.clone()) };
        let bytes = a.shape.iter().try_fold(item, |size: usize, n| size.checked_mul(*n));
        match a.offsets[..] { [start, end] if bytes.is_some() && end.checked_sub(start) == bytes => if a.dtype == "F32" {
            a.values = data[start..end].chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect() }, _ => return Err(name.clone()) }
    }
    Ok(Some((metadata, arrays))) }
fn send(key: &str, text: &str, result: Option<Array>) -> io::Result<()> {
    let (quoted, mut out) = (text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "), io::stdout().lock());
    let mut header = if key.is_empty() { "{\"__metadata__\":{}".into() } else { format!("{{\"__metadata__\":{{\"{key}\":\"{quoted}\"}}") };
    let data: Vec<u8> = result.iter().flat_map(|y| &y.values).flat_map(|v| v.to_le_bytes()).collect();
    if let Some(y) = result { header += &format!(",\"result\":{{\"dtype\":\"F32\",\"shape\":{:?},\"data_offsets\":[0,{}]}}", y.shape, data.len()); }
    header = format!("{header}}}{}", " ".repeat((7 - header.len() % 8) % 8));
    for part in [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data] { out.write_all(part)?; }
    out.flush()
}
pub fn serve(description: &str, call: fn(&str, &Message) -> Result<Array, String>) -> Result<(), String> {
    let mut input = BufReader::with_capacity(1 << 20, io::stdin());
    while let Some(message) = receive(&mut input)? { match message.0.get("request").map_or("", String::as_str) {
        "describe" => send("describe", description, None), "quit" => return send("", "", None).map_err(text),
        "call" => match call(message.0.get("operation").map_or("", String::as_str), &message) {
            Ok(y) => send("", "", Some(y)), Err(why) => send("not_implemented", &why, None) },
        _ => send("error", "unknown request", None) }.map_err(text)?; }
    Ok(())
}
