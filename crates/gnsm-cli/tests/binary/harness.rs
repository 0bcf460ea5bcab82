//! Runs the binary on small tables, with a network so small that a fit takes a moment.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use tempfile::TempDir;

/// Settings under which a fit takes a moment.
pub const TINY: &str = "\
[levels]
count = 3
[network]
width = 8
depth = 1
embedding = 4
[training]
batch = 64
steps = 40
validate_every = 10
";

/// What a run of the binary came to.
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// It went well.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// It failed with exit code 2, one line of explanation, and nothing on standard output.
    #[track_caller]
    pub fn failed(self) -> String {
        assert_eq!(self.code, Some(2), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{}", self.stderr);
        assert!(!errors[0].contains("internal error"), "{}", self.stderr);
        assert!(self.stderr.trim_end().ends_with(errors[0]), "the error is the last line: {}", self.stderr);
        errors[0].to_owned()
    }
}

/// A folder to work in.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        folder.write("tiny.toml", TINY);
        folder
    }

    /// A folder with `claims.csv` and `claims.gnsm`, fitted on it.
    pub fn with_model() -> Self {
        static MODEL: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let folder = Folder::new();
            folder.write("claims.csv", claims(0, 400));
            folder.fit("claims.csv", "claims.gnsm", &[]).succeeded();
            folder.read("claims.gnsm")
        });
        let folder = Self::new();
        folder.write("claims.csv", claims(0, 400));
        folder.write("claims.gnsm", &*MODEL);
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("written");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect(name)
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    /// The names of all files, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("listed");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The binary, to be run in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_gnsm"), arguments)
    }

    /// Any program, to be run in this folder.
    pub fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("COLUMNS").env_remove("RUST_BACKTRACE").env_remove("CLICOLOR_FORCE");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        ended(&mut self.command(arguments))
    }

    /// Runs with this on standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Run {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("started");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // A program that has seen enough closes its end: not this side's problem.
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("ended");
        writer.join().expect("written");
        run_of(output)
    }

    /// Fits with the tiny settings.
    pub fn fit(&self, table: &str, model: &str, more: &[&str]) -> Run {
        self.run(&[&["fit", table, "-o", model, "--method", "gnsm", "--config", "tiny.toml"], more].concat())
    }
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Run {
    run_of(command.output().expect("started"))
}

fn run_of(output: Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Rows of a table in which the second column follows from the first, and the amount from the second.
pub fn claims(seed: u64, n_rows: usize) -> String {
    let mut text = String::from("department,category,weekday,amount\n");
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..n_rows {
        let (department, categories, base) = match draw(3) {
            0 => ("Sales", ["Travel", "Meals"], 300),
            1 => ("Engineering", ["Software", "Hardware"], 900),
            _ => ("Support", ["Office", "Training"], 40),
        };
        let category = categories[draw(2) as usize];
        let weekday = ["Mon", "Tue", "Wed", "Thu", "Fri"][draw(5) as usize];
        let amount = base + draw(base / 4);
        let _ = writeln!(text, "{department},{category},{weekday},{amount}.{:02}", draw(100));
    }
    text
}

/// A table with more cells at the end of each line; line 0 is the header.
pub fn appended<T: std::fmt::Display>(table: &str, cells: impl Fn(usize) -> T) -> String {
    let lines = table.lines().enumerate().map(|(i, line)| format!("{line},{}", cells(i)));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A row that no table of [`claims`] holds.
pub const ODD: &str = "Support,Hardware,Sun,99999.00\n";

/// Whether a file of this name is there.
pub fn exists(folder: &Folder, name: &str) -> bool {
    Path::exists(&folder.path(name))
}
