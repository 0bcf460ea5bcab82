//! Flagged rows with the same reason are one finding.

use std::fmt::Write as _;

use crate::harness::Folder;

/// Connections, of which a few scans in a row are alike, and one took much too long.
fn connections() -> String {
    let mut text = String::from("at,protocol,service,length\n");
    for row in 0_u32..1500 {
        let noise = row.wrapping_mul(2_654_435_761) >> 8;
        let at = format!("2024-03-{:02} {:02}:{:02}", 1 + row / 60, 8 + row / 6 % 10, noise % 60);
        let line = match row {
            700..709 => format!("{at},icmp,ecr_i,{}", 1 + row % 3),
            900 => format!("{at},tcp,http,9000"),
            _ => format!("{at},tcp,{},{}", ["http", "smtp"][(noise % 3 % 2) as usize], 100 + noise % 97),
        };
        let _ = writeln!(text, "{line}");
    }
    text
}

#[test]
fn flagged_rows_with_the_same_reason_are_one_finding() {
    let folder = Folder::new();
    folder.write("connections.csv", connections());
    let detect = ["detect", "connections.csv", "--contamination", "0.01"];
    let found = folder.run(&detect).succeeded().stdout;
    assert!(found.contains(". 9 rows with the same reason  p-value "), "{found}");
    assert!(found.contains("  rows 700 to 708, 0.6 % of all; the oddest: 70"), "{found}");
    assert!(found.contains("  at: 2024-03-12 "), "{found}");
    assert!(found.contains("row 900 (line 902)") && found.contains(" findings by reason"), "{found}");

    let found = folder.run(&[&detect[..], &["--json"]].concat()).succeeded().stdout;
    let found: serde_json::Value = serde_json::from_str(&found).expect("json");
    let groups = found["groups"].as_array().expect("groups");
    let rows: u64 = groups.iter().map(|group| group["size"].as_u64().expect("a size")).sum();
    assert_eq!(Some(rows), found["flagged"].as_u64());
    let scans = groups.iter().find(|group| group["size"] == 9).expect("scans");
    assert_eq!(scans["rows"], serde_json::json!((700..709).collect::<Vec<u64>>()));

    let found = folder.run(&["detect", "connections.csv", "--top", "20", "--ungrouped"]).succeeded().stdout;
    assert!(!found.contains("same reason") && !found.contains("by reason"), "{found}");
    assert!((700..709).all(|row| found.contains(&format!("row {row} "))), "{found}");
}
