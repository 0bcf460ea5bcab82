//! A server from outside, over a real connection: the same bits as the library, and what happens to requests that go wrong.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gnsm::{Model, ReadOptions, Table, TableReader};
use gnsm_serve::{Server, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// Rows in which the size follows from the colour.
fn rows(n: usize, seed: usize) -> String {
    let mut text = String::from("colour,shape,size\n");
    for row in 0..n {
        let (colour, shape, size) =
            [("red", "round", 10), ("green", "square", 50), ("blue", "square", 90)][(row * 7 + seed) % 3];
        text += &format!("{colour},{shape},{}.{}\n", size + (row * 5 + seed) % 9, 1 + row * 3 % 9);
    }
    text
}

fn table(text: &str) -> Table {
    let input = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
    let mut reader = TableReader::from_reader("t.csv", input, &ReadOptions::default()).expect("a table");
    reader.next_batch(usize::MAX).expect("rows").expect("rows")
}

struct Running {
    folder: TempDir,
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("m.gnsm");
        Model::fit(&table(&rows(300, 0))).expect("a model").save(&path).expect("saved");
        let mut settings = Settings::new([path]);
        settings.address.set_port(0);
        change(&mut settings);
        let (end, ended) = oneshot::channel();
        let (send, receive) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(async {
                let server = Server::bind(settings).await.expect("a server");
                send.send(server.address()).expect("sent");
                server.run(async { drop(ended.await) }).await.expect("ended");
            });
        });
        let address = receive.recv().expect("an address");
        Self { folder, address, end: Some(end), thread: Some(thread) }
    }

    fn model(&self) -> PathBuf {
        self.folder.path().join("m.gnsm")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream
    }

    /// Status, headers and body of the answer to a request.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String, Vec<u8>) {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if headers.iter().all(|(name, _)| *name != "Host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).expect("sent");
        stream.write_all(body).expect("sent");
        answer(&mut stream)
    }

    fn post(&self, path: &str, kind: &str, body: &str) -> (u16, Value) {
        let (status, _, body) = self.ask("POST", path, &[("Content-Type", kind)], body.as_bytes());
        (status, serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&body))))
    }

    fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.ask("GET", path, &[], b"");
        (status, String::from_utf8(body).expect("text"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

fn answer(stream: &mut TcpStream) -> (u16, String, Vec<u8>) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text").to_lowercase();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, head, bytes[end + 4..].to_vec())
}

const SCORE: &str = "/v1/models/m/score";

#[test]
fn scores_have_the_bits_of_the_library() {
    let server = Running::new(|_| {});
    let model = Model::load(server.model()).expect("a model");
    let text = rows(200, 1) + "red,square,900\npurple,round,12\n";
    let own = table(&text);
    let judge = model.judge();
    let batch = judge.read(&own).expect("rows");
    let expected: Vec<_> = batch.explain_all(2).into_iter().zip(batch.scores()).collect();
    let objects: Vec<Value> = (0..own.n_rows())
        .map(|row| {
            let text = |at: usize| own.columns[at].values.text(row).expect("a cell").into_owned();
            json!({ "colour": text(0), "shape": text(1), "size": text(2).parse::<f64>().expect("a number") })
        })
        .collect();
    let lines = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let all = serde_json::to_string_pretty(&objects).expect("json");
    for (kind, body) in [("text/csv", &text), ("application/json", &all), ("application/x-ndjson", &lines)] {
        let (status, found) = server.post(&format!("{SCORE}?explain=2&fdr=0.5"), kind, body);
        assert_eq!((status, found["hash"].as_str()), (200, model.hash()), "{found}");
        let rows = found["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), expected.len());
        for (at, (row, (explanation, scored))) in rows.iter().zip(&expected).enumerate() {
            assert_eq!(row["row"].as_u64(), Some(at as u64));
            assert_eq!(row["score"].as_f64().map(f64::to_bits), Some(scored.score.to_bits()), "{kind}, row {at}");
            assert_eq!(row["p_value"].as_f64().map(f64::to_bits), Some(scored.p_value.to_bits()));
            assert_eq!(row["reasons"], serde_json::to_value(&explanation.reasons).expect("json"));
        }
        let flagged = rows.iter().filter(|row| row["anomaly"] == 1).count();
        assert_eq!(found["flagged"].as_u64(), Some(flagged as u64));
        assert_eq!(rows[200]["anomaly"], 1);
    }
    let headers = [("Content-Type", "text/csv"), ("Accept", "text/csv")];
    let (status, head, csv) = server.ask("POST", SCORE, &headers, text.as_bytes());
    let csv = String::from_utf8(csv).expect("text");
    assert!(status == 200 && head.contains("content-type: text/csv"), "{head}");
    let line = |(row, (_, scored)): (usize, &(_, &gnsm::Scored))| {
        format!("{row},{},{},{}\n", scored.score, scored.p_value, u8::from(scored.p_value <= 0.01))
    };
    let lines: String = expected.iter().enumerate().map(line).collect();
    assert_eq!(csv, format!("row,score,p_value,anomaly\n{lines}"));

    let headers = [("Content-Type", "text/csv"), ("Accept", "application/vnd.apache.arrow.stream")];
    let (_, _, arrow) = server.ask("POST", &format!("{SCORE}?explain=1"), &headers, text.as_bytes());
    let input = Box::new(std::io::Cursor::new(arrow.clone()));
    let mut reader = TableReader::from_reader("a", input, &ReadOptions::default()).expect("arrow");
    let answer = reader.next_batch(usize::MAX).expect("rows").expect("rows");
    let scores = &answer.column("score").expect("scores").values;
    assert!((0..own.n_rows()).all(|row| scores.text(row).expect("a score") == expected[row].1.score.to_string()));
    let headers = [("Content-Type", "application/vnd.apache.arrow.stream")];
    assert_eq!(server.ask("POST", SCORE, &headers, &arrow).0, 422, "an Arrow stream of other columns");
}

#[test]
fn a_bad_row_does_not_lose_the_good_ones() {
    let server = Running::new(|_| {});
    let body = r#"[{"colour": "red", "shape": "round", "size": 12}, {"colour": "red", "size": {"a": 1}}, 7, {"size": 1e999},
        {"colour": "blue", "shape": "square", "size": 91, "extra": [1, 2]}]"#;
    let (status, found) = server.post(SCORE, "application/json", body);
    assert_eq!((status, &found["bad"]), (200, &json!(3)), "{found}");
    let rows = found["rows"].as_array().expect("rows");
    assert!(rows[0]["score"].is_f64() && rows[4]["score"].is_f64());
    for row in &rows[1..4] {
        assert!(row["error"].is_string() && row["score"].is_null(), "{row}");
    }
    let (status, found) = server.post(SCORE, "text/csv", "colour,shape,size\nred,round,11\nred\nblue,square,90\n");
    assert_eq!((status, &found["rows"][1]["row"], &found["bad"]), (200, &json!(1), &json!(1)), "{found}");
    let headers = [("Content-Type", "text/csv"), ("Accept", "text/csv")];
    let (_, _, csv) = server.ask("POST", SCORE, &headers, b"colour,shape,size\nred,round,11\nred\n");
    let csv = String::from_utf8(csv).expect("text");
    assert!(csv.starts_with("row,score,p_value,anomaly,error\n0,") && csv.contains("\n1,,,,\"body, line 3, "), "{csv}");
}

#[test]
fn what_goes_wrong_has_a_status_and_a_sentence() {
    let server = Running::new(|settings| {
        settings.limits.rows = 5;
        settings.limits.body = 2000;
    });
    let long = "x".repeat(3000);
    for (path, kind, body, status) in [
        (SCORE, "application/json", "{", 400),
        (SCORE, "application/json", "", 400),
        (SCORE, "application/json", "[]", 400),
        (SCORE, "application/json", "[1, 2]", 400),
        (SCORE, "application/json", "{\"other\": 1}", 422),
        (SCORE, "text/csv", "colour,shape\nred,round\n", 422),
        (SCORE, "text/csv", "a\n1\n2\n3\n4\n5\n6\n", 413),
        (SCORE, "text/csv", &long, 413),
        (SCORE, "image/png", "x", 415),
        (SCORE, "", "x", 415),
        ("/v1/models/none/score", "text/csv", "a\n1\n", 404),
        ("/v1/models/..%2f..%2fetc%2fpasswd/score", "text/csv", "a\n1\n", 404),
        ("/v1/models/m/score?fdr=2", "text/csv", "a\n1\n", 400),
        ("/v1/models/m/score?fdr=0.1&threshold=3", "text/csv", "a\n1\n", 400),
        ("/v1/models/m/score?magic=1", "text/csv", "a\n1\n", 400),
        ("/v1/models/m/drift?fdr=0.1", "text/csv", "a\n1\n", 400),
        ("/v1/models/m/repair?at_least=0", "text/csv", "a\n1\n", 400),
        ("/v1/models/m/repair", "text/csv", "a\n1\n", 422),
        ("/v1/models/m/drift", "text/csv", "a\n1\n", 422),
        ("/v1/models/m/report", "text/csv", "a\n1\n", 422),
        ("/nothing", "text/csv", "", 404),
        ("/health", "text/csv", "", 405),
    ] {
        let (found, answer) = server.post(path, kind, body);
        assert_eq!(found, status, "{path} {body}: {answer}");
        assert!(answer["error"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    }
    let mut stream = server.connect();
    let head = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    let _ = stream.write_all(head.as_bytes());
    assert_eq!(answer(&mut stream).0, 431);
    // A client that sends all before it reads anything gets the answer.
    let much = "x".repeat(7000);
    for (path, kind, status) in
        [(SCORE, "text/csv", 413), (SCORE, "image/png", 415), ("/v1/models/none/score", "text/csv", 404)]
    {
        assert_eq!(server.post(path, kind, &much).0, status, "{path}");
    }
    // A body without a length that is too large.
    let mut stream = server.connect();
    let head = "POST /v1/models/m/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("sent");
    for _ in 0..5 {
        let _ = stream.write_all(format!("3e8\r\n{}\r\n", "x".repeat(1000)).as_bytes());
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    assert_eq!(answer(&mut stream).0, 413);
    assert_eq!(server.get("/health").0, 200, "still there");
}

#[test]
fn slow_clients_are_cut_off() {
    let server = Running::new(|settings| settings.limits.time = Duration::from_millis(500));
    let mut stream = server.connect();
    let head = "POST /v1/models/m/score HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/csv\r\nContent-Length: 99\r\n\r\na";
    stream.write_all(head.as_bytes()).expect("sent");
    assert_eq!(answer(&mut stream).0, 408);
    let start = Instant::now();
    for begun in ["", "GET /hea", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"] {
        let mut stream = server.connect();
        stream.write_all(begun.as_bytes()).expect("sent");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(rest.starts_with(b"HTTP/1.1 200"), begun.ends_with("\r\n\r\n"), "{begun}");
    }
    assert!(start.elapsed() < Duration::from_secs(10), "what never goes on is not waited for");
}

#[test]
fn an_answer_that_nobody_takes_is_not_kept() {
    let server = Running::new(|settings| settings.limits.time = Duration::from_secs(4));
    // More than the operating system keeps for a connection.
    let body = rows(100_000, 1);
    let mut stream = server.connect();
    let head = format!(
        "POST /v1/models/m/explain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/csv\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_secs(10));
    let (status, head, taken) = answer(&mut stream);
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse::<usize>().ok());
    assert!(status == 200 && length.is_some_and(|length| taken.len() < length), "{head}: {} bytes", taken.len());
}

#[test]
fn bodies_take_room_as_they_arrive() {
    let server = Running::new(|settings| {
        settings.limits.body = 1 << 20;
        settings.limits.bodies = 1 << 20;
    });
    let mut slow = server.connect();
    let head = format!(
        "POST {SCORE} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/csv\r\nContent-Length: 1000000\r\n\r\n{}",
        "x".repeat(990_000)
    );
    slow.write_all(head.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(500));
    let ask = || server.ask("POST", SCORE, &[("Content-Type", "text/csv")], rows(10_000, 1).as_bytes());
    let (status, head, _) = ask();
    assert!(status == 503 && head.contains("retry-after: 1"), "{head}");
    drop(slow);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(ask().0, 200, "the room is free again");
}

#[test]
fn too_many_requests_at_a_time_are_refused() {
    let server = Running::new(|settings| settings.limits.concurrency = 1);
    let body = rows(60_000, 1);
    let ask = || server.ask("POST", "/v1/models/m/explain", &[("Content-Type", "text/csv")], body.as_bytes()).0;
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    });
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
}

#[test]
fn a_page_elsewhere_cannot_take_this_address() {
    let server = Running::new(|settings| settings.origins = vec!["https://proxy.example".into()]);
    let ask = |host: &str| server.ask("GET", "/v1/models", &[("Host", host)], b"").0;
    for known in ["localhost:8080", "127.0.0.1", "[::1]:80", "proxy.example"] {
        assert_eq!(ask(known), 200, "{known}");
    }
    for unknown in ["evil.example", "evil.example:8080", "localhost.evil.example", ""] {
        assert_eq!(ask(unknown), 403, "{unknown}");
    }
}

#[test]
fn repairs_and_drift_are_those_of_the_library() {
    let server = Running::new(|_| {});
    let model = Model::load(server.model()).expect("a model");
    let text = rows(60, 1) + "blue,squarre,93.5\n";
    let own = table(&text);
    let cells = model.judge().read_whole(&own).and_then(|rows| rows.odd_cells(0.5)).expect("cells");
    let expected: Vec<Value> = cells
        .iter()
        .filter_map(|cell| {
            let ((to, probability), column) = (cell.change(0.2)?, &cell.reason.column);
            let from = own.column(column)?.values.text(cell.row)?;
            Some(json!({ "row": cell.row, "column": column, "from": from, "to": to, "probability": probability }))
        })
        .collect();
    assert!(expected.iter().any(|change| change["row"] == 60 && change["to"] == "square"), "{cells:?}");
    let repair = "/v1/models/m/repair?at_least=0.2";
    let (status, found) = server.post(repair, "text/csv", &text);
    assert_eq!((status, &found["changes"], &found["rows"]), (200, &Value::from(expected.clone()), &json!(61)));
    let broken = text.replacen('\n', "\nred\n", 1);
    let headers = [("Content-Type", "text/csv"), ("Accept", "text/csv")];
    let csv = String::from_utf8(server.ask("POST", repair, &headers, broken.as_bytes()).2).expect("text");
    assert!(csv.starts_with("row,column,from,to,probability,error\n"), "{csv}");
    assert!(csv.contains("\n0,,,,,\"body, line 2, "), "{csv}");
    let headers = [("Content-Type", "text/csv"), ("Accept", "application/x-ndjson")];
    let lines = String::from_utf8(server.ask("POST", repair, &headers, text.as_bytes()).2).expect("text");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
    assert_eq!(lines, expected);

    let text = rows(60, 1).replace("red", "purple").replace("blue", "violet");
    let mut counter = model.drift();
    counter.add(&table(&text)).expect("counted");
    let report = counter.report();
    let (status, found) = server.post("/v1/models/m/drift", "text/csv", &text);
    assert_eq!((status, &found["drift"]), (200, &serde_json::to_value(&report).expect("json")));
    assert!(found["moved"].as_array().is_some_and(|moved| moved.contains(&json!("colour"))), "{found}");
    let headers = [("Content-Type", "text/csv"), ("Accept", "text/csv")];
    let csv = String::from_utf8(server.ask("POST", "/v1/models/m/drift", &headers, text.as_bytes()).2).expect("text");
    assert!(
        csv.starts_with("column,kind,moved,set_aside,") && csv.contains("\n\"colour\",\"categorical\",1,1,"),
        "{csv}"
    );

    // What is new in most rows is set aside, as the command line does with a file, unless the request says no.
    let own = table(&text);
    let plain = model.score(&own).expect("scores");
    let without = model.judge_without(&report).read(&own).expect("rows").scores().to_vec();
    assert!(plain.iter().zip(&without).any(|(a, b)| a.score.to_bits() != b.score.to_bits()));
    for (wish, scores) in [("", without), ("?drift=false", plain)] {
        let (status, found) = server.post(&format!("{SCORE}{wish}"), "text/csv", &text);
        assert_eq!((status, found["set_aside"].is_null()), (200, !wish.is_empty()), "{found}");
        for (row, scored) in found["rows"].as_array().expect("rows").iter().zip(scores) {
            assert_eq!(row["score"].as_f64().map(f64::to_bits), Some(scored.score.to_bits()));
        }
    }
    let metrics = server.get("/metrics").1;
    assert!(metrics.contains("gnsm_drift_moved{model=\"m\",column=\"colour\"} 1\n"), "{metrics}");
    assert!(metrics.contains("gnsm_recent_rows{model=\"m\"} 120\n"), "{metrics}");
}

#[test]
fn a_token_and_the_origin_are_asked_for() {
    let server = Running::new(|settings| {
        settings.token = Some("secret".into());
        settings.origins = vec!["https://friend.example".into()];
    });
    let ask = |headers: &[(&str, &str)]| server.ask("GET", "/v1/models", headers, b"");
    assert_eq!(ask(&[]).0, 401);
    for wrong in ["Bearer wrong", "Bearer secret2", "Bearer ", "secret", "bearer"] {
        assert_eq!(ask(&[("Authorization", wrong)]).0, 401, "{wrong}");
    }
    let right = ("Authorization", "Bearer secret");
    assert_eq!(ask(&[right]).0, 200);
    for open in ["/", "/health", "/ready", "/openapi.json"] {
        assert_eq!(server.get(open).0, 200, "{open}");
    }
    assert_eq!(server.get("/metrics").0, 401);
    assert_eq!(ask(&[right, ("Origin", "https://evil.example")]).0, 403);
    assert_eq!(ask(&[right, ("Host", "any.example")]).0, 200, "who has the token may use any name");
    assert_eq!(ask(&[right, ("Origin", &format!("http://{}", server.address))]).0, 200);
    let (status, head, _) = ask(&[right, ("Origin", "https://friend.example")]);
    assert!(status == 200 && head.contains("access-control-allow-origin: https://friend.example"), "{head}");
    let (status, head, _) = server.ask("OPTIONS", SCORE, &[("Origin", "https://friend.example")], b"");
    assert!(status == 204 && head.contains("access-control-allow-methods: get, post"), "{head}");
    assert_eq!(server.ask("OPTIONS", SCORE, &[("Origin", "https://evil.example")], b"").0, 403);
}

#[test]
fn what_there_is_is_described() {
    let server = Running::new(|_| {});
    let models: Value = serde_json::from_str(&server.get("/v1/models").1).expect("json");
    assert_eq!((&models["models"][0]["name"], &models["models"][0]["columns"]), (&json!("m"), &json!(3)));
    let model: Value = serde_json::from_str(&server.get("/v1/models/m").1).expect("json");
    assert_eq!(model["columns"][0]["categories"], json!(["blue", "green", "red"]));
    assert_eq!(model["columns"][1]["common"], "square");
    assert!(model["columns"][2]["usual"][1].is_f64() && model["calibration"]["rows"] == 300, "{model}");
    let document: Value = serde_json::from_str(&server.get("/openapi.json").1).expect("json");
    for path in ["/v1/models", "/v1/models/{name}", "/health", "/ready", "/metrics"] {
        assert!(document["paths"][path]["get"]["responses"]["200"].is_object(), "{path}");
    }
    for what in ["score", "explain", "repair", "drift", "report"] {
        let post = &document["paths"][format!("/v1/models/{{name}}/{what}")]["post"];
        assert_eq!(post["requestBody"]["content"].as_object().map(serde_json::Map::len), Some(4), "{post}");
        assert_eq!(post["responses"]["429"]["description"], "Too many requests at a time", "{post}");
        let kinds = post["responses"]["200"]["content"].as_object().map(serde_json::Map::len);
        assert_eq!(kinds, Some(if what == "report" { 1 } else { 4 }), "{post}");
    }
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(schemas.contains_key(name), "{name} of {schemas:?}");
    }
    let (status, head, page) = server.ask("GET", "/", &[], b"");
    assert!(status == 200 && head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(String::from_utf8(page).expect("text").contains("<title>gnsm</title>"));
    let (status, head, page) =
        server.ask("POST", "/v1/models/m/report", &[("Content-Type", "text/csv")], rows(50, 2).as_bytes());
    assert!(
        status == 200 && head.contains("content-type: text/html") && page.starts_with(b"<!DOCTYPE html>"),
        "{head}"
    );
    server.post(
        "/v1/models/m/explain",
        "application/json",
        "{\"colour\": \"red\", \"shape\": \"round\", \"size\": 12}",
    );
    let metrics = server.get("/metrics").1;
    assert!(metrics.contains("gnsm_rows_total{model=\"m\"} 1\n"), "{metrics}");
    assert!(metrics.contains("gnsm_recent_rows{model=\"m\"} 1\n"), "{metrics}");
    assert!(metrics.contains("gnsm_drift_missing_share{model=\"m\",column=\"size\"} 0\n"), "{metrics}");
    assert!(
        metrics.contains("gnsm_requests_total{route=\"/v1/models/{name}/explain\",status=\"200\"} 1\n"),
        "{metrics}"
    );
}

#[test]
fn a_replaced_model_is_loaded_without_a_lost_request() {
    let server = Running::new(|settings| settings.watch = true);
    let first = Model::load(server.model()).expect("a model");
    let mut second = Model::fit(&table(&rows(200, 5))).expect("a model");
    let one = table("colour,shape,size\nred,square,33\n");
    let expected = [&first, &second].map(|model| model.score(&one).expect("a score")[0].score);
    assert_ne!(expected[0], expected[1]);
    let ask = || {
        let (status, found) = server.post(SCORE, "text/csv", "colour,shape,size\nred,square,33\n");
        assert_eq!(status, 200, "{found}");
        found["rows"][0]["score"].as_f64().expect("a score")
    };
    assert_eq!(ask(), expected[0]);
    second.save(server.model()).expect("saved");
    let start = Instant::now();
    loop {
        let score = ask();
        if score == expected[1] {
            break;
        }
        assert_eq!(score, expected[0]);
        assert!(start.elapsed() < Duration::from_secs(20), "the new model never came");
    }
    std::fs::write(server.model(), b"damaged").expect("written");
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(ask(), expected[1], "a damaged file replaces nothing");
}

#[test]
fn what_is_in_flight_is_finished() {
    let mut server = Running::new(|_| {});
    let body = "colour,shape,size\nred,square,33\n";
    let mut stream = server.connect();
    let head = format!(
        "POST {SCORE} HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(200));
    drop(server.end.take());
    std::thread::sleep(Duration::from_millis(200));
    assert!(TcpStream::connect(server.address).is_err(), "nothing new is taken");
    stream.write_all(body.as_bytes()).expect("sent");
    assert_eq!(answer(&mut stream).0, 200);
}
