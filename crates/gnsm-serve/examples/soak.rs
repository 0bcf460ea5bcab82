//! A long time in the life of a server: rows at a steady rate, whose every score is compared, while the model is replaced each
//! second, and clients that are slow, cut their connections or send what cannot be read. `make soak` runs it.
//!
//!     soak GNSM TABLE SECONDS RATE [LABEL]
//!
//! GNSM is the binary with the feature `serve`, TABLE the file whose rows are asked about, RATE the requests a second, LABEL a
//! column to leave out. It prints a line every ten seconds. It fails if a score was wrong, a request got no answer, the server
//! did not end in good order, or memory grew.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use gnsm::{Model, ReadOptions, Table, TableReader, Values};
use serde_json::{Map, Value};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Connections that ask at a steady rate.
const ASKERS: u64 = 16;
/// Rows that are asked about.
const ROWS: usize = 2000;
const PATH: &str = "/v1/models/m/score";
/// Bins of latency, of ten microseconds each.
const BINS: usize = 100_000;
/// How much memory may grow from the first half to the end: by a tenth, and by what a few more buffers take.
const GROWTH: f64 = 1.1;
const SLACK: u64 = 16 << 10;

/// Rows as JSON, and for each model's hash the scores and p-values that they must get.
struct Truth {
    rows: Vec<String>,
    answers: HashMap<String, Vec<[u64; 2]>>,
}

#[derive(Default)]
struct SoakCounts {
    asked: AtomicU64,
    wrong: AtomicU64,
    lost: AtomicU64,
    slow: AtomicU64,
    cut: AtomicU64,
    malformed: AtomicU64,
    replaced: AtomicU64,
}

/// What all clients share.
struct Soak {
    address: SocketAddr,
    truth: Truth,
    counts: SoakCounts,
    latency: Vec<AtomicU64>,
    stop: AtomicBool,
    rate: f64,
}

/// A generator of numbers that need not be good ones.
struct Chance(u64);

impl Chance {
    fn next(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// A pause whose mean is `mean` seconds, as between events that know nothing of each other.
    fn pause(&mut self, mean: f64) -> Duration {
        let share = (self.next(1 << 30) as f64 + 0.5) / f64::from(1 << 30);
        Duration::from_secs_f64(-mean * share.ln())
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [binary, table, seconds, rate, label @ ..] = arguments.as_slice() else {
        return Err("give the binary, a table, seconds and requests a second".into());
    };
    let table = whole_table(table, label.first().map(String::as_str))?;
    let folder = tempfile::tempdir()?;
    let (models, truth) = prepare(&table, folder.path())?;
    let served = folder.path().join("m.gnsm");
    std::fs::write(&served, &models[0])?;
    let (mut child, address) = start(Path::new(binary), &served)?;
    let soak = Arc::new(Soak {
        address,
        truth,
        counts: SoakCounts::default(),
        latency: (0..BINS).map(|_| AtomicU64::new(0)).collect(),
        stop: AtomicBool::new(false),
        rate: rate.parse()?,
    });
    let clients = clients(&soak, models, served);
    let memory = watch(&soak, &child, Duration::from_secs(seconds.parse()?));
    soak.stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().map_err(|_| "a client failed")?;
    }
    let ended = end(&mut child)?;
    verdict(&soak, &memory, ended)
}

fn whole_table(path: &str, label: Option<&str>) -> Result<Table, Failure> {
    let mut reader = TableReader::open(path, &ReadOptions::default())?;
    let mut table = reader.next_batch(usize::MAX)?.ok_or("the table holds no rows")?;
    table.columns.retain(|column| Some(column.name.as_str()) != label);
    Ok(table)
}

/// Two models as bytes, and what they must answer.
fn prepare(table: &Table, folder: &Path) -> Result<(Vec<Vec<u8>>, Truth), Failure> {
    let rows = table.n_rows().min(ROWS);
    let texts = (0..rows).map(|row| object(table, row).to_string()).collect::<Vec<_>>();
    let mut answers = HashMap::new();
    let mut models = Vec::new();
    for method in ["cells", "marginals"] {
        let path = folder.join(format!("{method}.gnsm"));
        Model::builder().method(method).fit(table)?.save(&path)?;
        let model = Model::load(&path)?;
        let bits = |scored: gnsm::Scored| [scored.score.to_bits(), scored.p_value.to_bits()];
        let scores = model.score(table)?.into_iter().take(rows).map(bits).collect();
        answers.insert(model.hash().unwrap_or_default().to_owned(), scores);
        models.push(std::fs::read(path)?);
    }
    Ok((models, Truth { rows: texts, answers }))
}

fn object(table: &Table, row: usize) -> Value {
    let cell = |values: &Values| match values {
        Values::Number { values, .. } => Value::from(values[row]),
        values => values.text(row).map_or(Value::Null, |text| Value::from(text.into_owned())),
    };
    Value::Object(table.columns.iter().map(|column| (column.name.clone(), cell(&column.values))).collect::<Map<_, _>>())
}

fn start(binary: &Path, model: &Path) -> Result<(Child, SocketAddr), Failure> {
    let mut command = Command::new(binary);
    command.arg("serve").arg(model).args(["--watch", "--port", "0", "--max-seconds", "20", "-q"]);
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stderr.take().ok_or("no log")?).lines();
    for line in &mut lines {
        let Ok(told) = serde_json::from_str::<Value>(&line?) else { continue };
        if told["event"] == "listening" {
            let address = told["address"].as_str().unwrap_or_default().parse()?;
            // A log that nobody reads would stop the server.
            thread::spawn(move || {
                lines.map_while(Result::ok).filter(|line| line.contains("panic")).for_each(|line| eprintln!("{line}"));
            });
            return Ok((child, address));
        }
    }
    Err("the server does not listen".into())
}

fn clients(soak: &Arc<Soak>, models: Vec<Vec<u8>>, served: PathBuf) -> Vec<JoinHandle<()>> {
    let mut clients: Vec<JoinHandle<()>> = Vec::new();
    let mut add = |client: Box<dyn FnOnce(&Soak) + Send>| {
        let soak = Arc::clone(soak);
        clients.push(thread::spawn(move || client(&soak)));
    };
    for at in 0..ASKERS {
        add(Box::new(move |soak| asker(soak, at)));
    }
    for at in 0..2 {
        add(Box::new(move |soak| slow(soak, at)));
    }
    add(Box::new(cutter));
    add(Box::new(spoiler));
    add(Box::new(move |soak| replacer(soak, &models, &served)));
    clients
}

fn request(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn connect(address: SocketAddr) -> std::io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    Ok(BufReader::new(stream))
}

/// Status and body of the next answer.
fn answer(stream: &mut BufReader<TcpStream>) -> std::io::Result<(u16, Vec<u8>)> {
    let (mut status, mut length, mut line) = (0, 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(Error::other("the connection was closed"));
        }
        let text = line.trim_end().to_ascii_lowercase();
        if let Some(code) = text.strip_prefix("http/1.1 ") {
            status = code.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0);
        } else if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(Error::other)?;
        } else if text.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((status, body))
}

impl Soak {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Whether an answer about this row is what one of the models says, bit for bit.
    fn is_right(&self, row: usize, status: u16, body: &[u8]) -> bool {
        let Ok(found) = serde_json::from_slice::<Value>(body) else { return false };
        let bits = |name: &str| found["rows"][0][name].as_f64().map(f64::to_bits);
        let Some(scores) = found["hash"].as_str().and_then(|hash| self.truth.answers.get(hash)) else { return false };
        status == 200 && bits("score") == Some(scores[row][0]) && bits("p_value") == Some(scores[row][1])
    }

    fn judge(&self, row: usize, found: std::io::Result<(u16, Vec<u8>)>) -> bool {
        match found {
            Ok((status, body)) if self.is_right(row, status, &body) => return true,
            Ok((status, body)) => {
                eprintln!("row {row}: {status} {}", String::from_utf8_lossy(&body));
                self.counts.wrong.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                eprintln!("row {row}: {error}");
                self.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        false
    }
}

/// Asks at a steady rate over one connection, at random times.
fn asker(soak: &Soak, at: u64) {
    let mut draw = Chance(at + 1);
    let mut due = Instant::now();
    let mut connection = None;
    while soak.goes_on() {
        due += draw.pause(ASKERS as f64 / soak.rate);
        sleep(due.saturating_duration_since(Instant::now()));
        let row = draw.next(soak.truth.rows.len() as u64) as usize;
        let start = Instant::now();
        let found = ask(soak.address, &mut connection, soak.truth.rows[row].as_bytes());
        let bin = start.elapsed().as_micros() as usize / 10;
        soak.latency[bin.min(BINS - 1)].fetch_add(1, Ordering::Relaxed);
        soak.counts.asked.fetch_add(1, Ordering::Relaxed);
        if !soak.judge(row, found) {
            connection = None;
        }
    }
}

fn ask(
    address: SocketAddr,
    connection: &mut Option<BufReader<TcpStream>>,
    body: &[u8],
) -> std::io::Result<(u16, Vec<u8>)> {
    let stream = match connection {
        Some(stream) => stream,
        None => connection.insert(connect(address)?),
    };
    stream.get_mut().write_all(&request(body))?;
    answer(stream)
}

/// Sends a request in small pieces over some seconds, and wants its answer all the same.
fn slow(soak: &Soak, at: u64) {
    let mut draw = Chance(100 + at);
    while soak.goes_on() {
        let row = draw.next(soak.truth.rows.len() as u64) as usize;
        let all = request(soak.truth.rows[row].as_bytes());
        let found = connect(soak.address).and_then(|mut stream| {
            for piece in all.chunks(all.len() / 40 + 1) {
                stream.get_mut().write_all(piece)?;
                sleep(Duration::from_millis(draw.next(150)));
            }
            answer(&mut stream)
        });
        soak.judge(row, found);
        soak.counts.slow.fetch_add(1, Ordering::Relaxed);
    }
}

/// Goes away in the middle of a request, or before its answer.
fn cutter(soak: &Soak) {
    let mut draw = Chance(200);
    while soak.goes_on() {
        let row = draw.next(soak.truth.rows.len() as u64) as usize;
        let all = request(soak.truth.rows[row].as_bytes());
        if let Ok(mut stream) = connect(soak.address) {
            let end = if draw.next(3) == 0 { all.len() } else { draw.next(all.len() as u64) as usize };
            let _ = stream.get_mut().write_all(&all[..end]);
        }
        soak.counts.cut.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(draw.next(40)));
    }
}

/// Sends bodies that were spoiled. Each gets an answer, and none is the server's fault.
fn spoiler(soak: &Soak) {
    let mut draw = Chance(300);
    while soak.goes_on() {
        let row = draw.next(soak.truth.rows.len() as u64) as usize;
        let mut body = soak.truth.rows[row].clone().into_bytes();
        for _ in 0..=draw.next(6) {
            let at = draw.next(body.len() as u64) as usize;
            match draw.next(3) {
                0 => body[at] = draw.next(256) as u8,
                1 => body.insert(at, b"{}[]\",:\0\xff"[draw.next(9) as usize]),
                _ => body.truncate(at.max(1)),
            }
        }
        match ask(soak.address, &mut None, &body) {
            Ok((200 | 400 | 422, _)) => {}
            Ok((status, text)) => {
                eprintln!("a spoiled body: {status} {}", String::from_utf8_lossy(&text));
                soak.counts.wrong.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                eprintln!("a spoiled body: {error}");
                soak.counts.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
        soak.counts.malformed.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(draw.next(40)));
    }
}

/// Replaces the model every second, by rename.
fn replacer(soak: &Soak, models: &[Vec<u8>], served: &Path) {
    let beside = served.with_extension("new");
    for model in models.iter().cycle().skip(1) {
        sleep(Duration::from_secs(1));
        if !soak.goes_on() {
            return;
        }
        let done = std::fs::write(&beside, model).and_then(|()| std::fs::rename(&beside, served));
        if done.is_ok() {
            soak.counts.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Prints a line every ten seconds; gives the server's memory in kB at each.
fn watch(soak: &Soak, child: &Child, time: Duration) -> Vec<u64> {
    let (start, mut memory) = (Instant::now(), Vec::new());
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    while start.elapsed() < time {
        sleep(Duration::from_secs(10).min(time));
        memory.push(resident(child.id()));
        let counts = &soak.counts;
        println!(
            "{:5.0} s: {} rows asked, {} wrong, {} lost; {} slow, {} cut, {} malformed, {} models; {} kB, p99 {:.2} ms",
            start.elapsed().as_secs_f64(),
            get(&counts.asked),
            get(&counts.wrong),
            get(&counts.lost),
            get(&counts.slow),
            get(&counts.cut),
            get(&counts.malformed),
            get(&counts.replaced),
            memory.last().unwrap_or(&0),
            quantile(&soak.latency, 0.99)
        );
    }
    memory
}

/// Kilobytes that a process holds.
fn resident(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Milliseconds below which this share of the requests was answered.
fn quantile(bins: &[AtomicU64], share: f64) -> f64 {
    let counts: Vec<u64> = bins.iter().map(|bin| bin.load(Ordering::Relaxed)).collect();
    let wanted = share * counts.iter().sum::<u64>() as f64;
    let mut below = 0;
    let at = counts.iter().position(|count| {
        below += count;
        below as f64 >= wanted
    });
    at.map_or(f64::NAN, |bin| (bin + 1) as f64 / 100.0)
}

/// Asks the server to end, and waits; whether it did so in good order.
fn end(child: &mut Child) -> Result<bool, Failure> {
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
    for _ in 0..400 {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        sleep(Duration::from_millis(100));
    }
    child.kill()?;
    Ok(false)
}

fn verdict(soak: &Soak, memory: &[u64], ended: bool) -> Result<(), Failure> {
    let [asked, wrong, lost] =
        [&soak.counts.asked, &soak.counts.wrong, &soak.counts.lost].map(|count| count.load(Ordering::Relaxed));
    let (early, late) = memory.split_at(memory.len() / 2);
    let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let is_flat = most(late) as f64 <= GROWTH * most(early) as f64 + SLACK as f64;
    println!(
        "{asked} rows, {wrong} wrong, {lost} lost; p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms; memory {} kB at the most in the first \
         half, {} kB in the second",
        quantile(&soak.latency, 0.5),
        quantile(&soak.latency, 0.99),
        quantile(&soak.latency, 0.999),
        most(early),
        most(late)
    );
    match (wrong + lost, is_flat, ended) {
        (0, true, true) => Ok(()),
        (0, true, false) => Err("the server did not end in good order".into()),
        (0, false, _) => Err("memory grew".into()),
        _ => Err("answers were wrong or lost".into()),
    }
}
