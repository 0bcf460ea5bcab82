//! The arguments of `gnsm mask` and `gnsm bench masks`, and their help texts.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::super::bench::PAPER_HEAD;
use super::networks;
use crate::arguments::{RuleArguments, seconds};

/// Arguments of `mask`.
#[derive(Debug, Args)]
#[command(after_help = "\
A list is a text file with one NAME per line. NAME.png is a mask. NAME.jpg or NAME.png is its image. A mask is a PNG with a \
palette or with grey values of up to 8 bits. Its values are classes; 0 is the background.
Masks and images may also be volumes: NAME.nii.gz or NAME.nii (NIfTI-1). Networks look at them slice by slice, along the third \
axis. A volume has one verdict, that of its oddest slice.
If an image cannot be used, an error names it and the others go on. The exit code is then 2.")]
pub struct MaskArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: MaskCommand,
}

/// What to do with masks.
#[derive(Debug, Subcommand)]
pub enum MaskCommand {
    /// Learn from images with good masks, and keep the model.
    Fit(FitArguments),
    /// Apply a model to masks: write a score, a p-value and a flag for each.
    Score(ScoreArguments),
    /// Compare predicted masks with the true ones: overlap and surface distances.
    Metrics(MetricsArguments),
    /// Tell whether high scores go with low quality.
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
    /// The folder with the images, which gnsm and dsvdd need. An image must have the size of its mask.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub images: Option<PathBuf>,
    /// The list: one name per line.
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
    /// The method that finds odd masks.
    #[arg(long, value_name = "NAME", default_value = methods()[0], value_parser = PossibleValuesParser::new(methods()))]
    pub method: String,
    /// Ready-made settings for gnsm [default: fast].
    #[arg(long, value_enum)]
    pub preset: Option<MaskPreset>,
    /// How gnsm turns the network's answers into a score [default: the preset's].
    #[arg(long, value_enum)]
    pub head: Option<MaskHeadName>,
    /// A TOML file with settings of gnsm or dsvdd that replace the preset's. `gnsm inspect` shows their names.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// The number of classes, with the background [default: found in the masks].
    #[arg(long, value_name = "K")]
    pub classes: Option<u32>,
    /// Resize masks to N × N pixels (nearest neighbour) [default: 64 for gnsm and dsvdd, otherwise not].
    #[arg(long, value_name = "N")]
    pub size: Option<u32>,
    /// The label of pixels that nobody can judge, or `none`. They are taken for background.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void)]
    pub void: Void,
    /// The seed for all random choices. The same seed and data give the same model.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Stop training after this many seconds and keep the best model so far.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_seconds: Option<f64>,
    /// Continue an interrupted run from MODEL.checkpoint.
    #[arg(long)]
    pub resume: bool,
    /// Print a report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Settings to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaskPreset {
    /// Masks of 64 × 64 pixels. Takes about ten minutes on a laptop.
    Fast,
    /// The same with a fifth of the steps, for a first try.
    Quick,
    /// The paper's network at 256 × 256 pixels; for a GPU, and never run to the end.
    Paper,
}

/// How a score is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MaskHeadName {
    /// How surprising the pixels of each class are, and the size of its largest piece.
    Evidence,
    /// The paper's way: how unlikely the sizes of the network's scores are.
    Norms,
}

/// Arguments of `mask score`.
#[derive(Debug, Args)]
#[command(after_help = "\
The output has these columns:
  id       the name of the image
  score    higher is odder
  p_value  the share of usual masks that are at least as odd
  anomaly  1 if the mask is flagged, otherwise 0
  slice    the oddest slice of a volume, counted from 0; only if there are volumes")]
pub struct ScoreArguments {
    /// A model that `gnsm mask fit` wrote.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub model: PathBuf,
    /// Which masks.
    #[command(flatten)]
    pub folder: FolderArguments,
    /// The csv file to write [default: standard output].
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Draw where each mask is odd, in red over its image, as DIR/NAME.png; for a volume as numbers, as
    /// DIR/NAME.nii.gz.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub maps: Option<PathBuf>,
    /// What is flagged.
    #[command(flatten)]
    pub rule: RuleArguments,
}

/// Arguments of `mask metrics`.
#[derive(Debug, Args)]
#[command(after_help = "\
The output has these columns:
  id                        the name of the image
  dice                      overlap, 0 to 1: mean over the foreground classes; 1 if there are none
  miou, pixacc              mean intersection over union; share of right pixels (void left out)
  msd, hd95                 mean surface distance and 95 % Hausdorff distance in pixels: means over
                            the classes that both masks have; empty if none
  msd_pen, hd95_pen         the same; a class that only one mask has costs the image's diagonal
  dice_fg, msd_fg, hd95_fg  the same for all foreground against the background
  n_classes, n_unmatched    how many classes there are; how many of them only one mask has
Void pixels count as background. Pixels at the border of the image are part of a surface. Volumes are measured in three \
dimensions, with the distances between voxels that their files give, so that msd and hd95 are in the file's unit (mm).")]
pub struct MetricsArguments {
    /// The folder with the true masks.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub truth: PathBuf,
    /// The folder with the predicted masks.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pred: PathBuf,
    /// The list: one name per line.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub list: PathBuf,
    /// The csv file to write [default: standard output].
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The label of pixels that nobody can judge, or `none`.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void)]
    pub void: Void,
}

/// Arguments of `mask evaluate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Images with equal scores are ranked by name. An image that lacks a metric is left out of the correlation with that metric; \
n says how many are left.")]
pub struct EvaluateArguments {
    /// The scores, as `gnsm mask score` wrote them.
    #[arg(value_name = "SCORES", value_hint = ValueHint::FilePath)]
    pub scores: PathBuf,
    /// The metrics, as `gnsm mask metrics` wrote them.
    #[arg(value_name = "METRICS", value_hint = ValueHint::FilePath)]
    pub metrics: PathBuf,
    /// Give the correlations of the N oddest images as well.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// Draw the correlations (Pearson) of the N oddest images as a bar chart.
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    pub chart: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `mask report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The scores, as `gnsm mask score` wrote them.
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
    /// The folder with the maps that `gnsm mask score --maps` drew.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub maps: Option<PathBuf>,
    /// The metrics, as `gnsm mask metrics` wrote them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub metrics: Option<PathBuf>,
    /// How many images to show.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// The label of pixels that nobody can judge, or `none`.
    #[arg(long, value_name = "LABEL", default_value = "255", value_parser = void)]
    pub void: Void,
    /// The page to write.
    #[arg(long, short, value_name = "OUT.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

/// Arguments of `bench masks`.
#[derive(Debug, Args)]
#[command(after_help = "\
A set is a folder with images, masks, pred, train.txt and val.txt. Methods learn from the images and masks that train.txt lists, \
and score the masks in pred that val.txt lists. Each result is added to OUT/raw.csv as soon as it is measured. A run that was \
stopped goes on when the same command is given again. OUT/summary.md has the tables.")]
pub struct BenchMasksArguments {
    /// The folder with a folder for each set.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,
    /// The sets to run, by folder name [default: all].
    #[arg(long, value_name = "SETS", value_delimiter = ',')]
    pub sets: Vec<String>,
    /// The methods to run [default: all]. `gnsm-norms` is gnsm with the paper's way to score.
    #[arg(long, value_name = "METHODS", value_delimiter = ',', default_values = bench_methods(), hide_default_value = true, value_parser = PossibleValuesParser::new(bench_methods()))]
    pub methods: Vec<String>,
    /// How many seeds to run.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub seeds: u64,
    /// Train gnsm and dsvdd for at most this many steps.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<NonZeroU64>,
    /// The folder for the results.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
}

/// The names of all methods.
fn methods() -> Vec<&'static str> {
    networks::methods().iter().map(|method| method.name()).collect()
}

/// The default, the paper's head, and the others.
fn bench_methods() -> Vec<&'static str> {
    let mut names = methods();
    if cfg!(feature = "masks") {
        names.insert(1, PAPER_HEAD);
    }
    names
}
