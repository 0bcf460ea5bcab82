//! The paper's Figure 1 as an SVG: for each metric, Pearson's coefficient with the scores of the oddest images, and its
//! interval.

use std::fmt::Write;

use gnsm::mask::Quality;

use super::evaluate::Metric;

/// The metrics that are drawn, where they are there, and what they are called.
const DRAWN: [(&str, &str); 4] = [("dice", "Dice"), ("miou", "mIoU"), ("msd", "MSD"), ("hd95", "95-HD")];

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 310.0;
const BAR: f64 = 46.0;

/// The chart. Writing to a string cannot fail.
pub fn bars(metrics: &[Metric], top: usize) -> String {
    let drawn: Vec<(&str, &Metric)> = DRAWN
        .iter()
        .filter_map(|(name, title)| Some((*title, metrics.iter().find(|metric| metric.name == *name)?)))
        .collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"15\">Pearson correlation with the scores of the {top} oddest images</text>\n"
    );
    for tick in [-1.0, -0.5, 0.0, 0.5, 1.0] {
        let (y, stroke) = (height(tick), if tick == 0.0 { "#444" } else { "#ddd" });
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{stroke}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.1}</text>",
            WIDTH - 20.0,
            LEFT - 8.0,
            y + 4.0
        );
    }
    let step = (WIDTH - 20.0 - LEFT) / drawn.len().max(1) as f64;
    for (place, (title, metric)) in drawn.iter().enumerate() {
        let middle = LEFT + (place as f64 + 0.5) * step;
        let is_better_high = Quality::is_better_high(&metric.name) == Some(true);
        let arrow = if is_better_high { '↓' } else { '↑' };
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{title} {arrow}</text>",
            BOTTOM + 26.0
        );
        let Some(r) = metric.top.pearson else {
            let _ =
                writeln!(svg, "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">–</text>", height(0.0) - 6.0);
            continue;
        };
        // Blue where the sign is as a good score has it.
        let fill = if (r < 0.0) == is_better_high { "#4878a8" } else { "#c8553d" };
        let (from, to) = (height(r.max(0.0)), height(r.min(0.0)));
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{from:.1}\" width=\"{BAR}\" height=\"{:.1}\" fill=\"{fill}\">\
             <title>{title}: {r:.3}, n = {}</title></rect>",
            middle - BAR / 2.0,
            to - from,
            metric.top.n
        );
        if let Some([low, high]) = metric.top.interval {
            let (low, high) = (height(low), height(high));
            let _ = writeln!(
                svg,
                "<path d=\"M{middle:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}h12M{0:.1} {high:.1}h12\" stroke=\"#222\" fill=\"none\"/>",
                middle - 6.0
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{r:+.2}</text>",
            middle + BAR / 2.0 + 4.0,
            height(r / 2.0) + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\" font-size=\"11\" fill=\"#666\">Arrows: the sign that good scores have. Whiskers: 95 % intervals.</text>\n</svg>",
        HEIGHT - 8.0
    );
    svg
}

/// Where a coefficient stands.
fn height(r: f64) -> f64 {
    f64::midpoint(TOP, BOTTOM) - r * (BOTTOM - TOP) / 2.0
}
