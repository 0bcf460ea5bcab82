//! What can be said after `gnsm mask`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::super::bench::PAPER_HEAD;
use crate::arguments::{RuleArguments, seconds};

/// Arguments of `mask`.
#[derive(Debug, Args)]
#[command(after_help = "\
A list has the name of one image a line; NAME.png is its mask, NAME.jpg or NAME.png its image. A mask is a PNG with a palette or grey \
of up to 8 bits whose values are classes, 0 the background. An image that cannot be used is named, and the others go on; \
the exit code is then 2.")]
pub struct MaskArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: MaskCommand,
}

/// What to do with masks.
#[derive(Debug, Subcommand)]
pub enum MaskCommand {
    /// Learn what masks usually look like.
    Fit(FitArguments),
    /// Write a score, a p-value and a flag for each mask.
    Score(ScoreArguments),
    /// Write how good predicted masks are: Dice, surface distances, intersection over union.
    Metrics(MetricsArguments),
    /// Show whether high scores go with low quality.
    Evaluate(EvaluateArguments),
    /// Write a page with the oddest masks as pictures.
    Report(ReportArguments),
}

/// Which masks.
#[derive(Debug, Args)]
pub struct FolderArguments {
    /// The folder with the masks.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub masks: PathBuf,
    /// The folder with the images; gnsm and dsvdd look at them. Each must be readable and of its mask's size.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub images: Option<PathBuf>,
    /// The list of names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
}

/// The label of pixels that nobody can judge.
#[derive(Debug, Clone, Copy)]
pub struct Void(pub Option<u8>);

fn void(text: &str) -> Result<Void, String> {
    match text {
        "none" => Ok(Void(None)),
        _ => text.parse().map(|label| Void(Some(label))).map_err(|_| "give a label from 0 to 255, or `none`".into()),
    }
}

/// Arguments of `mask fit`.
#[derive(Debug, Args)]
pub struct FitArguments {
    /// Which masks.
    #[command(flatten)]
    pub folder: FolderArguments,
    /// Where to write the model.
    #[arg(long, short, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// The detector.
    #[arg(long, value_name = "NAME", default_value = "gnsm", value_parser = PossibleValuesParser::new(methods()))]
    pub method: String,
    /// The settings of gnsm to start from [default: fast].
    #[arg(long, value_enum)]
    pub preset: Option<MaskPreset>,
    /// How gnsm makes the score, if not as the preset has it.
    #[arg(long, value_enum)]
    pub head: Option<MaskHeadName>,
    /// A TOML file with settings of gnsm or dsvdd in place of the preset's; `gnsm inspect` shows their names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// The number of classes, the background included [default: as found].
    #[arg(long, value_name = "K")]
    pub classes: Option<u32>,
    /// Bring masks to N × N pixels by nearest neighbour [default: 64 for gnsm and dsvdd, otherwise as stored].
    #[arg(long, value_name = "N")]
    pub size: Option<u32>,
    /// The label that is taken for background because it marks what cannot be judged, or `none`.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void)]
    pub void: Void,
    /// Where all randomness comes from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// End training after this many seconds, with the best model so far.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_seconds: Option<f64>,
    /// Continue a training that was interrupted; its state is beside the model, in MODEL.checkpoint.
    #[arg(long)]
    pub resume: bool,
    /// Print a report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Settings to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaskPreset {
    /// Minutes on a laptop, at 64 pixels.
    Fast,
    /// The paper's network at 256 pixels; days on a GPU.
    Paper,
}

/// How a score is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaskHeadName {
    /// How surprising each class's pixels are, and the size of its largest piece.
    Evidence,
    /// The paper's: a density over the score norms.
    Norms,
}

/// Arguments of `mask score`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns of the output: id, score (higher is odder), p_value (the part of usual masks that are at least as odd), anomaly (0 or 1).")]
pub struct ScoreArguments {
    /// A model that `gnsm mask fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// Which masks.
    #[command(flatten)]
    pub folder: FolderArguments,
    /// Where to write, as csv [default: standard output].
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Write a picture DIR/NAME.png for each image: where its mask is odd, in red over the image.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub maps: Option<PathBuf>,
    /// What is flagged.
    #[command(flatten)]
    pub rule: RuleArguments,
}

/// Arguments of `mask metrics`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns of the output: id; dice, the mean over the foreground classes of truth or prediction (1 where there are none); miou and pixacc; msd and \
hd95, the mean surface distance and the 95 % Hausdorff distance in pixels, means over the classes that both have (empty where there are none); \
msd_pen and hd95_pen, where a class on one side only costs the image's diagonal; dice_fg, msd_fg and hd95_fg of foreground against background; n_classes \
and n_unmatched. Void pixels are background, and left out of miou and pixacc. Pixels at the image's border are part of a surface.")]
pub struct MetricsArguments {
    /// The folder with the true masks.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub truth: PathBuf,
    /// The folder with the predicted masks.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pred: PathBuf,
    /// The list of names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// Where to write, as csv [default: standard output].
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The label of pixels that cannot be judged, or `none`.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void)]
    pub void: Void,
}

/// Arguments of `mask evaluate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Images with equal scores are ranked by name. An image without a metric is left out of that metric's correlation; n says how many are left.")]
pub struct EvaluateArguments {
    /// Scores that `gnsm mask score` wrote.
    #[arg(value_name = "SCORES", value_hint = ValueHint::FilePath)]
    pub scores: PathBuf,
    /// Metrics that `gnsm mask metrics` wrote.
    #[arg(value_name = "METRICS", value_hint = ValueHint::FilePath)]
    pub metrics: PathBuf,
    /// Also judge the N oddest images by themselves.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// Draw Pearson's coefficients of the N oddest images as bars.
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub chart: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `mask report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Scores that `gnsm mask score` wrote.
    #[arg(value_name = "SCORES", value_hint = ValueHint::FilePath)]
    pub scores: PathBuf,
    /// The folder with the images.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub images: PathBuf,
    /// The folder with the masks that were scored.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pred: PathBuf,
    /// The folder with the true masks, where they are known.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub truth: Option<PathBuf>,
    /// A folder with a picture NAME.png of where each mask is odd.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub maps: Option<PathBuf>,
    /// Metrics that `gnsm mask metrics` wrote.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub metrics: Option<PathBuf>,
    /// Show this many images.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// The label of pixels that cannot be judged, or `none`.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void)]
    pub void: Void,
    /// Where to write the page.
    #[arg(long, short, value_name = "OUT.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Arguments of `bench masks`.
#[derive(Debug, Args)]
#[command(after_help = "\
A set is a folder with images, masks, pred, train.txt and val.txt: methods learn from the masks of train.txt and score pred on val.txt. \
OUT/raw.csv gets a line as soon as it is measured; the same command goes on where it was stopped. OUT/summary.md follows from it.")]
pub struct BenchMasksArguments {
    /// The folder with a folder for each set.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// The sets, by their folders' names [default: all].
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub sets: Vec<String>,
    /// The methods [default: all]; `gnsm-norms` is gnsm with the paper's own head.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values = bench_methods(), hide_default_value = true, value_parser = PossibleValuesParser::new(bench_methods()))]
    pub methods: Vec<String>,
    /// Seeds 0 to N − 1.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub seeds: u64,
    /// Train gnsm and dsvdd for this many steps at the most.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<NonZeroU64>,
    /// The folder for the results.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

/// The names of all methods.
fn methods() -> Vec<&'static str> {
    gnsm_burn::methods().iter().map(|method| method.name()).collect()
}

/// The default, the paper's head, and the others.
fn bench_methods() -> Vec<&'static str> {
    let mut names = methods();
    names.insert(1, PAPER_HEAD);
    names
}
