//! `gnsm serve` beside the other commands: the same bits, the flags, and how it ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Folder, claims};

/// A server that runs until it is told to end.
struct Server {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Server {
    fn start(folder: &Folder, more: &[&str]) -> Self {
        let arguments = [&["serve", "claims.gnsm", "--port", "0"], more].concat();
        let mut child = folder.command(&arguments).stderr(Stdio::piped()).spawn().expect("started");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        while !line.contains("\"listening\"") {
            line.clear();
            assert_ne!(errors.read_line(&mut line).expect("a line"), 0, "the server ended");
        }
        let told: Value = serde_json::from_str(&line).expect("a line of the log is JSON");
        let address = told["address"].as_str().expect("an address").to_owned();
        Self { child, errors, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream
    }

    /// Status and body of the answer.
    fn post(&self, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let _ = stream.write_all(body.as_bytes());
        answer(stream)
    }

    /// Asks the server to terminate, and gives its exit code and the rest of its log.
    fn terminate(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().expect("run").success());
        let mut rest = String::new();
        self.errors.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("ended").code(), rest)
    }
}

/// A test that ends, for whatever reason, leaves no server behind.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    (head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status"), body.to_owned())
}

/// A folder with a model of the default method, and rows that it has not seen, three of them odd.
fn folder() -> (Folder, String) {
    let folder = Folder::new();
    folder.write("train.csv", claims(0, 400));
    folder.run(&["fit", "train.csv", "-o", "claims.gnsm"]).succeeded();
    let rows = claims(7, 200) + "Sales,Hardware,Mon,950\nSales,,Mon,\nIT,\"x, y\",Sun,99999\n";
    folder.write("rows.csv", &rows);
    (folder, rows)
}

const CSV: &str = "Content-Type: text/csv\r\n";
const CSV_TWICE: &str = "Content-Type: text/csv\r\nAccept: text/csv\r\n";

#[test]
fn answers_are_those_of_the_other_commands() {
    let (folder, rows) = folder();
    let server = Server::start(&folder, &[]);
    for (wishes, flags) in [
        ("", &[][..]),
        ("?explain=2", &["--explain", "2"]),
        ("?explain=1&fdr=0.2", &["--explain", "1", "--fdr", "0.2"]),
        ("?threshold=3&drift=false", &["--threshold", "3", "--no-drift"]),
    ] {
        folder.run(&[&["score", "claims.gnsm", "rows.csv", "-o", "scores.csv"], flags].concat()).succeeded();
        let (status, csv) = server.post(&format!("/v1/models/claims/score{wishes}"), CSV_TWICE, &rows);
        assert_eq!((status, csv), (200, folder.text("scores.csv")), "{wishes}");
    }
    let json = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let own = json(&folder.run(&["explain", "claims.gnsm", "rows.csv", "--row", "200", "--json"]).succeeded().stdout);
    let (_, found) = server.post("/v1/models/claims/explain", CSV, &rows);
    let row = &json(&found)["rows"][200];
    for name in ["score", "p_value", "base", "rest", "reasons"] {
        assert_eq!(row[name], own[name], "{name}");
    }
    let arguments = ["repair", "claims.gnsm", "rows.csv", "--dry-run", "--at-least", "0.3", "--json"];
    let own = json(&folder.run(&arguments).succeeded().stdout);
    let (_, found) = server.post("/v1/models/claims/repair?at_least=0.3", CSV, &rows);
    assert_eq!(json(&found)["changes"], own["changes"]);
    assert!(own["changes"].as_array().is_some_and(|changes| !changes.is_empty()), "{own}");
    let own = json(&folder.run(&["drift", "claims.gnsm", "rows.csv", "--json"]).succeeded().stdout);
    let (_, found) = server.post("/v1/models/claims/drift", CSV, &rows);
    assert_eq!((&json(&found)["drift"], &json(&found)["moved"]), (&own["drift"], &own["moved"]));
}

#[test]
fn a_request_to_terminate_waits_for_what_is_in_flight() {
    let (folder, _) = folder();
    let server = Server::start(&folder, &["--log-requests"]);
    let body = "department,category,weekday,amount\nSales,Hotel,Mon,120\n";
    let mut stream = server.connect();
    let head = format!(
        "POST /v1/models/claims/score HTTP/1.1\r\nHost: localhost\r\n{CSV}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        stream.write_all(body.as_bytes()).expect("sent");
        answer(stream)
    });
    let (code, log) = server.terminate();
    assert_eq!((late.join().expect("an answer").0, code), (200, Some(0)), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, ["ending", "request"], "{log}");
    assert_eq!((&lines[1]["status"], &lines[1]["method"]), (&200.into(), &"POST".into()), "{log}");
}

#[test]
fn limits_and_the_token_are_flags() {
    let (folder, rows) = folder();
    folder.write("token", "a secret\n");
    let flags = ["--max-body", "20000", "--max-rows", "5", "--token-file", "token", "--max-header", "9000"];
    let server = Server::start(&folder, &flags);
    let ask = |headers: &str, body: &str| server.post("/v1/models/claims/score", headers, body).0;
    let token = format!("{CSV}Authorization: Bearer a secret\r\n");
    let one = "department,category,weekday,amount\nSales,Hotel,Mon,120\n";
    assert_eq!(ask(CSV, one), 401);
    assert_eq!(ask(&format!("{CSV}Authorization: Bearer a secre\r\n"), one), 401);
    assert_eq!(ask(&token, one), 200);
    assert_eq!(ask(&token, &rows), 413, "too many rows");
    assert_eq!(ask(&token, &"x".repeat(20_001)), 413, "too many bytes");
    assert_eq!(ask(&format!("{token}X: {}\r\n", "x".repeat(20_000)), one), 431);
    drop(server.terminate());
    folder.write("token", " \n");
    let error = folder.run(&["serve", "claims.gnsm", "--token-file", "token"]).failed();
    assert!(error.contains("holds no token"), "{error}");
    let error = folder.run(&["serve", "none.gnsm"]).failed();
    assert!(error.contains("none.gnsm"), "{error}");
    let error = folder.run(&["serve", "claims.gnsm", "./claims.gnsm"]).failed();
    assert!(error.contains("are both called `claims`"), "{error}");
}
