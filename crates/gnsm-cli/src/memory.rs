//! How much memory a fit may take: what the user says, or half of what the machine has.

use std::fs;

use gnsm::Room;

/// What sizes are counted in, by their last letter.
const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];

/// A size such as `500M` or `2G`, in bytes.
pub fn size(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let plain = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let unit = UNITS.iter().find_map(|(letter, bits)| Some((plain.strip_suffix(*letter)?, *bits)));
    let (number, bits) = unit.unwrap_or((plain, 0));
    let bytes = number.trim().parse::<f64>().ok().map(|number| number * 2f64.powi(bits as i32));
    match bytes {
        Some(bytes) if bytes >= 1.0 && bytes < 2f64.powi(63) => Ok(bytes as u64),
        _ => Err("give a size in bytes, or with a unit such as 500M or 2G".into()),
    }
}

/// The memory for the rows to learn from: what the user says, or half of the machine's.
pub fn room(bytes: Option<u64>, rows: Option<usize>) -> Room {
    Room { bytes: bytes.or_else(|| Some(of_machine()? / 2)).unwrap_or(u64::MAX), rows }
}

/// The memory of the machine, or of the control group that this process is in; `None` where nothing tells.
fn of_machine() -> Option<u64> {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    limits.chain(total).min()
}

/// The memory that `/proc/meminfo` tells of.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The files that may hold a limit, for the control groups (of both versions) that `/proc/self/cgroup` names. The
/// limits of all groups above a group apply as well.
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (folder, name) = match parts.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some("memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut group = parts.next().unwrap_or_default().trim_end_matches('/');
        loop {
            files.push(format!("{folder}{group}/{name}"));
            match group.rfind('/') {
                Some(end) => group = &group[..end],
                None => break,
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let sizes = ["512", "1k", "500M", "2G", "1.5 GiB", "1GB"].map(|text| size(text).expect(text));
        assert_eq!(sizes, [512, 1 << 10, 500 << 20, 2 << 30, 3 << 29, 1 << 30]);
        for wrong in ["", "0", "much", "-2G", "2X", "1e300", "nan", "G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_machine_and_its_groups_are_asked() {
        assert_eq!(total_of("MemFree: 1 kB\nMemTotal:       24115 kB\n"), Some(24115 << 10));
        assert_eq!(total_of("MemFree: 1 kB\n"), None);
        let files = limit_files("7:memory:/docker/ab\n3:cpu,cpuacct:/\n0::/user/me\n");
        let expected = [
            "/sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/user/me/memory.max",
            "/sys/fs/cgroup/user/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(files, expected);
        assert_eq!(room(Some(7), Some(3)), Room { bytes: 7, rows: Some(3) });
    }
}
