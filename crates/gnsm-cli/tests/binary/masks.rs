//! `gnsm mask` on small masks.

use std::path::Path;

use crate::harness::{Folder, Run};

/// A grey PNG of 8 × 8 with a square of this class and side; a side of 9 makes it 9 × 9.
fn write_mask(path: &Path, class: u8, side: usize) {
    let n = side.max(8);
    let cells: Vec<u8> = (0..n * n).map(|i| if i % n < side && i / n < side { class } else { 0 }).collect();
    write_png(path, n, png::ColorType::Grayscale, &cells);
}

fn write_png(path: &Path, n: usize, color: png::ColorType, data: &[u8]) {
    let file = std::fs::File::create(path).expect("created");
    let mut encoder = png::Encoder::new(file, n as u32, n as u32);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(data).expect("pixels");
    writer.finish().expect("finished");
}

/// Forty pairs `m00` to `m39` with squares of side 3 to 6, a prediction for each, and `list.txt`; `m07` is predicted empty.
fn masks() -> Folder {
    let folder = Folder::new();
    for kind in ["truth", "pred", "images"] {
        std::fs::create_dir(folder.path(kind)).expect("a folder");
    }
    let mut list = String::new();
    for i in 0..40 {
        let name = format!("m{i:02}");
        write_mask(&folder.path(&format!("truth/{name}.png")), 1, 3 + i % 4);
        let side = if i == 7 { 0 } else { 2 + (i + i / 8) % 5 };
        write_mask(&folder.path(&format!("pred/{name}.png")), 1, side);
        let image: Vec<u8> = (0..192).map(|j| (i * 5 + j) as u8).collect();
        write_png(&folder.path(&format!("images/{name}.png")), 8, png::ColorType::Rgb, &image);
        list += &(name + "\n");
    }
    folder.write("list.txt", list);
    folder
}

fn fit(folder: &Folder, method: &str, more: &[&str]) -> Run {
    let arguments = ["mask", "fit", "--masks", "truth", "--list", "list.txt", "--method", method, "-o", "m.gnsm"];
    folder.run(&[&arguments[..], more].concat())
}

fn score(folder: &Folder, more: &[&str]) -> Run {
    folder.run(&[&["mask", "score", "m.gnsm", "--masks", "pred", "--list", "list.txt"][..], more].concat())
}

fn metrics(folder: &Folder, more: &[&str]) -> Run {
    let arguments = ["mask", "metrics", "--truth", "truth", "--pred", "pred", "--list", "list.txt"];
    folder.run(&[&arguments[..], more].concat())
}

#[test]
fn help_of_every_mask_command() {
    let folder = Folder::new();
    insta::assert_snapshot!("help_mask", folder.run(&["mask", "--help"]).succeeded().stdout);
    for command in ["fit", "score", "metrics", "evaluate", "report"] {
        let help = folder.run(&["mask", command, "--help"]).succeeded();
        insta::assert_snapshot!(format!("help_mask_{command}"), help.stdout);
    }
}

#[test]
fn from_masks_to_a_page() {
    let folder = masks();
    for method in ["foreground-share", "largest-component"] {
        let run = fit(&folder, method, &["--images", "images"]).succeeded();
        assert!(
            run.stderr.contains("40 masks of 2 classes: 32 to learn from, 4 to choose by, 4 to calibrate"),
            "{}",
            run.stderr
        );
        let csv = score(&folder, &["--contamination", "0.2", "--images", "images"]).succeeded().stdout;
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!((lines[0], lines.len()), ("id,score,p_value,anomaly", 41));
        assert!(lines[8].starts_with("m07,") && lines[8].ends_with(",0.2,1"), "{}", lines[8]);
        for threads in ["1", "3"] {
            let again = score(&folder, &["--contamination", "0.2", "--threads", threads]).succeeded().stdout;
            assert_eq!(again, csv, "{method}");
        }
        score(&folder, &["-o", "scores.csv", "--threshold", "1"]).succeeded();
        assert_eq!(folder.text("scores.csv").lines().count(), 41);
    }
    metrics(&folder, &["-o", "metrics.csv"]).succeeded();
    let table = folder.text("metrics.csv");
    assert!(table.starts_with("id,dice,dice_fg,miou,pixacc,msd,hd95,msd_pen,"), "{table}");
    // 6 × 6 against nothing: no distance, and the diagonal where it is paid.
    let root = 128f64.sqrt();
    assert!(table.contains(&format!("m07,0,0,0.21875,0.4375,,,{root},{root},,,1,1\n")), "{table}");

    let arguments = ["mask", "evaluate", "scores.csv", "metrics.csv", "--top", "10"];
    let page = folder.run(&[&arguments[..], &["--chart", "chart.svg"]].concat()).succeeded();
    assert!(page.stdout.contains("The 10 oddest images") && page.stdout.contains("All 40 images"), "{}", page.stdout);
    assert!(!page.stdout.contains('\u{1b}'), "no colours through a pipe");
    let chart = folder.text("chart.svg");
    assert!(chart.starts_with("<svg ") && chart.contains("Dice ↓") && chart.contains("95-HD ↑"), "{chart}");
    let json: serde_json::Value =
        serde_json::from_str(&folder.run(&[&arguments[..], &["--json"]].concat()).succeeded().stdout).expect("json");
    assert_eq!((&json["images"], &json["top"], &json["metrics"][0]["all"]["n"]), (&40.into(), &10.into(), &40.into()));
    assert_eq!(json["metrics"][4]["name"], "msd");
    assert_eq!(json["metrics"][4]["all"]["n"], 39);

    let report =
        ["mask", "report", "scores.csv", "--images", "images", "--pred", "pred", "-o", "report.html", "--top", "3"];
    let more = ["--truth", "truth", "--metrics", "metrics.csv", "--maps", "images"];
    folder.run(&[&report[..], &more].concat()).succeeded();
    let html = folder.text("report.html");
    assert_eq!((html.matches("<article>").count(), html.matches("data:image/png;base64,").count()), (3, 12));
    assert!(html.contains("<bdi>m07</bdi> <mark>flagged</mark>") && html.contains("<dt>Dice</dt><dd>0.000</dd>"));
    assert!(!html.contains("http://") && !html.contains("https://"), "nothing is fetched");
}

/// Settings with which a network learns next to nothing, at once.
const TINY: &str = "size = 8\ntraining.steps = 6\ntraining.batch = 4\ntraining.validate_every = 3\n";

#[test]
fn networks_from_a_fit_to_maps() {
    let folder = masks();
    folder.write(
        "gnsm.toml",
        format!("{TINY}network = {{ channels = 4, multipliers = [1, 2], blocks = 1, fold = 1 }}\n"),
    );
    folder.write(
        "dsvdd.toml",
        format!("{TINY}network = {{ channels = [4, 4], blocks = [1, 1], fused = 1, code = 4 }}\n"),
    );
    for (method, head) in [("gnsm", Some("evidence")), ("gnsm", Some("norms")), ("dsvdd", None)] {
        let config = format!("{method}.toml");
        let mut more = vec!["--images", "images", "--config", &config];
        more.extend(head.iter().flat_map(|head| ["--head", head]));
        let run = fit(&folder, method, &more).succeeded();
        assert!(run.stderr.contains("6 steps of training, at most "), "{}", run.stderr);
        assert!(run.stderr.contains("training is complete after 6 steps"), "{}", run.stderr);
        assert!(run.stderr.contains("the network runs on "), "{}", run.stderr);
        assert!(run.stderr.contains("too few masks to calibrate well: with 4 held out"), "{}", run.stderr);
        assert!(!folder.path("m.gnsm.checkpoint").exists());
        assert!(score(&folder, &[]).failed().contains("looks at the images; give their folder with --images"));
        let run = score(&folder, &["--images", "images", "--maps", "maps"]).succeeded();
        let scores = run.stdout;
        assert_eq!(scores.lines().count(), 41);
        let again = score(&folder, &["--images", "images", "--threads", "1"]).succeeded().stdout;
        assert_eq!(scores, again, "{method}: maps and threads change nothing");
        let drawn = std::fs::read_dir(folder.path("maps")).expect("a folder").count();
        assert_eq!(drawn, if method == "gnsm" { 40 } else { 0 });
        assert_eq!(run.stderr.contains("cannot tell which pixels are odd"), drawn == 0, "{}", run.stderr);
        std::fs::remove_dir_all(folder.path("maps")).expect("removed");
        let error = score(&folder, &["--images", "images", "--maps", "images"]).failed();
        assert!(error.contains("images is read by this command and cannot be written by it"), "{error}");
        let page = folder.run(&["inspect", "m.gnsm"]).succeeded().stdout;
        for part in [method, "32 trained, 4 validated, 4 calibrated", "8 × 8", "training.steps", "validation loss"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let json: serde_json::Value =
            serde_json::from_str(&folder.run(&["inspect", "m.gnsm", "--json"]).succeeded().stdout).expect("json");
        assert_eq!((&json["method"], &json["settings"]["training"]["steps"]), (&method.into(), &6.into()));
    }
}

/// A NIfTI file of bytes, axes x, y, z, with voxels that are 1, 1 and 2.5 apart.
fn write_volume(path: &Path, [x, y, z]: [usize; 3], voxels: impl Fn([usize; 3]) -> u8) {
    let mut file = vec![0u8; 352];
    let mut put = |at: usize, field: &[u8]| file[at..at + field.len()].copy_from_slice(field);
    put(0, &348i32.to_le_bytes());
    for (axis, length) in [3, x, y, z].into_iter().enumerate() {
        put(40 + 2 * axis, &(length as i16).to_le_bytes());
    }
    put(70, &2i16.to_le_bytes());
    put(72, &8i16.to_le_bytes());
    for (axis, distance) in [1f32, 1.0, 2.5].into_iter().enumerate() {
        put(80 + 4 * axis, &distance.to_le_bytes());
    }
    put(108, &352f32.to_le_bytes());
    put(344, b"n+1\0");
    file.extend((0..x * y * z).map(|i| voxels([i % x, i / x % y, i / (x * y)])));
    std::fs::write(path, file).expect("written");
}

#[test]
fn volumes_have_one_verdict_and_a_map() {
    let folder = Folder::new();
    for kind in ["truth", "pred", "images"] {
        std::fs::create_dir(folder.path(kind)).expect("a folder");
    }
    let mut list = String::new();
    for i in 0..20 {
        let name = format!("v{i:02}");
        let cube = |side: usize| move |place: [usize; 3]| u8::from(place.iter().all(|at| *at < side));
        write_volume(&folder.path(&format!("truth/{name}.nii")), [8, 8, 4], cube(3 + i % 2));
        // The third slice of one prediction is full.
        let broken = |place: [usize; 3]| if i == 5 && place[2] == 2 { 1 } else { cube(3 + i % 2)(place) };
        write_volume(&folder.path(&format!("pred/{name}.nii")), [8, 8, 4], broken);
        write_volume(&folder.path(&format!("images/{name}.nii")), [8, 8, 4], |[x, y, z]| (9 * x + 7 * y + i + z) as u8);
        list += &(name + "\n");
    }
    folder.write("list.txt", list);
    fit(&folder, "foreground-share", &[]).succeeded();
    let csv = score(&folder, &[]).succeeded().stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines[0], lines.len()), ("id,score,p_value,anomaly,slice", 21));
    assert!(lines[6].starts_with("v05,") && lines[6].ends_with(",2"), "{}", lines[6]);

    let table = metrics(&folder, &[]).succeeded().stdout;
    let good: Vec<&str> = table.lines().nth(1).expect("a line").split(',').collect();
    assert_eq!((good[0], good[1], good[5]), ("v00", "1", "0"), "{table}");
    // The full slice reaches up to four voxels beyond the cube on two sides.
    let bad: Vec<f64> =
        table.lines().nth(6).expect("a line").split(',').skip(1).map(|text| text.parse().expect("a number")).collect();
    assert!(bad[0] < 1.0 && bad[5] > 2.5, "{bad:?}");

    folder.write(
        "gnsm.toml",
        format!("{TINY}network = {{ channels = 4, multipliers = [1, 2], blocks = 1, fold = 1 }}\n"),
    );
    fit(&folder, "gnsm", &["--images", "images", "--config", "gnsm.toml"]).succeeded();
    let run = score(&folder, &["--images", "images", "--maps", "maps"]).succeeded();
    assert_eq!(run.stdout, score(&folder, &["--images", "images", "--threads", "1"]).succeeded().stdout);
    let map = gnsm::mask::Volume::read(folder.path("maps/v05.nii.gz")).expect("a map");
    assert_eq!((map.shape(), map.spacing()), ([4, 8, 8], [2.5, 1.0, 1.0]));

    let whole = folder.read("pred/v03.nii");
    folder.write("pred/v03.nii", &whole[..400]);
    write_volume(&folder.path("images/v04.nii"), [8, 8, 3], |_| 1);
    let run = score(&folder, &["--images", "images"]);
    assert_eq!((run.code, run.stdout.lines().count()), (Some(2), 19), "{}", run.stderr);
    assert!(run.stderr.contains("pred/v03.nii: has 48 of 256 bytes of numbers; "), "{}", run.stderr);
    assert!(run.stderr.contains("pred/v04.nii: has 8 × 8 × 4 voxels, its image 8 × 8 × 3; "), "{}", run.stderr);
}

#[test]
fn one_bad_image_does_not_lose_the_others() {
    let folder = masks();
    fit(&folder, "largest-component", &["--size", "4"]).succeeded();
    let good = score(&folder, &[]).succeeded().stdout;
    let whole = folder.read("pred/m03.png");
    folder.write("pred/m03.png", &whole[..whole.len() / 2]);
    write_png(&folder.path("pred/m04.png"), 8, png::ColorType::Rgb, &[1; 192]);
    write_mask(&folder.path("pred/m05.png"), 2, 4);
    std::fs::remove_file(folder.path("pred/m06.png")).expect("removed");
    let run = score(&folder, &[]);
    assert_eq!(run.code, Some(2));
    let is_good = |line: &&str| !["m03", "m04", "m05", "m06"].iter().any(|name| line.starts_with(name));
    let expected: Vec<&str> = good.lines().filter(is_good).collect();
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), expected);
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.contains(".png: ")).collect();
    assert_eq!(warnings.len(), 4, "{}", run.stderr);
    assert!(warnings[0].starts_with("warning: pred/m03.png: is not readable as a PNG ("), "{}", warnings[0]);
    assert!(warnings[1].starts_with("warning: pred/m04.png: holds colours, not classes; "), "{}", warnings[1]);
    assert!(
        warnings[2].starts_with("warning: pred/m05.png: holds class 2, and classes are 0 to 1; "),
        "{}",
        warnings[2]
    );
    assert!(warnings[3].starts_with("warning: pred/m06.png: No such file"), "{}", warnings[3]);
    let error = "error: 4 of 40 images could not be used; the scores of the others are in standard output";
    assert_eq!(run.stderr.lines().last(), Some(error));

    write_mask(&folder.path("pred/m08.png"), 1, 9);
    let run = metrics(&folder, &["-o", "metrics.csv"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(folder.text("metrics.csv").lines().count(), 37, "{}", run.stderr);
    assert!(
        run.stderr.contains("pred/m08.png: the prediction has 9 × 9 pixels and the truth 8 × 8; "),
        "{}",
        run.stderr
    );
}

#[test]
fn what_cannot_be_done_is_refused() {
    let folder = masks();
    folder.write("empty.txt", "\n");
    let error = metrics(&folder, &["--void", "300"]);
    assert_eq!(error.code, Some(2));
    let list = ["mask", "metrics", "--truth", "truth", "--pred", "pred", "--list", "empty.txt"];
    insta::assert_snapshot!(folder.run(&list).failed(), @"error: empty.txt: names nothing; give a file with the name of one image a line");
    let error = fit(&folder, "foreground-share", &["--classes", "1"]).failed();
    insta::assert_snapshot!(error, @"error: setting `classes`: is 1, must lie between 2 and 256");
    let error = fit(&folder, "foreground-share", &["--void", "1"]).failed();
    insta::assert_snapshot!(error, @"error: no mask has any foreground; give other masks; if 255 is a class of yours and not void, say --void none");
    write_mask(&folder.path("images/m00.png"), 0, 9);
    let error = fit(&folder, "foreground-share", &["--images", "images"]).failed();
    insta::assert_snapshot!(error, @"error: 1 of 40 images could not be used; mend them or take them off the list");
    fit(&folder, "foreground-share", &[]).succeeded();
    let error = folder.run(&["score", "m.gnsm", "list.txt"]).failed();
    insta::assert_snapshot!(error, @"error: m.gnsm: this is a gnsm-mask-model file, not a gnsm-model file; give a file that `gnsm fit` wrote");
    let error = fit(&folder, "gnsm", &[]).failed();
    insta::assert_snapshot!(error, @"error: gnsm looks at the images; give their folder with --images");
    let error = fit(&folder, "dsvdd", &["--preset", "paper"]).failed();
    insta::assert_snapshot!(error, @"error: --preset and --head are for the method gnsm, not for dsvdd; leave them out");
    folder.write("wrong.toml", "network.depth = 3\n");
    let error = fit(&folder, "gnsm", &["--images", "images", "--config", "wrong.toml"]).failed();
    insta::assert_snapshot!(error, @"error: wrong.toml: there is no setting `network.depth`; there are channels, multipliers, blocks, fold");
    let run = metrics(&folder, &[]).succeeded();
    folder.write("metrics.csv", run.stdout);
    folder.write("other.csv", "id,score\nx,1\n");
    let error = folder.run(&["mask", "evaluate", "other.csv", "metrics.csv"]).failed();
    insta::assert_snapshot!(error, @"error: other.csv and metrics.csv have no image in common; give files of one list");
    let error = folder.run(&["mask", "evaluate", "metrics.csv", "metrics.csv"]).failed();
    insta::assert_snapshot!(error, @"error: metrics.csv has no column `score`; give a file that `gnsm mask score` or `gnsm mask metrics` wrote");
}
