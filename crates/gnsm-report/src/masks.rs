//! The page that `gnsm mask report` writes: everything in one file, pictures included.

use std::collections::BTreeSet;

use askama::Template;

use crate::frame::Frame;
use crate::words::{count, last_name, percent};

/// What is on the page.
#[derive(Debug)]
pub struct MaskReport<'a> {
    /// Where the scores come from.
    pub scores: &'a str,
    /// How many images have one.
    pub images: usize,
    /// How many are flagged, where the scores say.
    pub flagged: Option<usize>,
    /// The oddest images, the oddest first.
    pub cards: Vec<Card<'a>>,
    /// The classes that occur in them.
    pub classes: BTreeSet<u8>,
    /// The class that cannot be judged.
    pub void: Option<u8>,
}

/// An image with what is known about it.
#[derive(Debug)]
pub struct Card<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is flagged.
    pub is_flagged: bool,
    /// Score, p-value and metrics.
    pub facts: Vec<(&'static str, String)>,
    /// Its pictures.
    pub panels: Vec<Panel>,
}

/// A picture.
#[derive(Debug)]
pub struct Panel {
    /// What it shows.
    pub title: &'static str,
    /// A PNG file as base64, or why there is none.
    pub content: Result<String, String>,
}

#[derive(Template)]
#[template(path = "masks.html")]
struct Page<'a> {
    frame: Frame,
    scores: &'a str,
    shown: String,
    images: String,
    flagged: Option<(String, String)>,
    classes: Vec<Class>,
    cards: &'a [Card<'a>],
}

struct Class {
    name: String,
    fill: String,
}

impl MaskReport<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let class = |class: &u8| {
            let [r, g, b] = color(*class, self.void);
            let name = match *class {
                void if Some(void) == self.void => "void, not judged".to_owned(),
                0 => "background".to_owned(),
                class => format!("class {class}"),
            };
            Class { name, fill: format!("rgb({r},{g},{b})") }
        };
        let page = Page {
            frame: Frame::new("", ""),
            scores: last_name(self.scores),
            shown: count(self.cards.len() as u64),
            images: count(self.images as u64),
            flagged: self.flagged.map(|n| (count(n as u64), percent(n as f64 / self.images.max(1) as f64))),
            classes: self.classes.iter().map(class).collect(),
            cards: &self.cards,
        };
        // A template of this crate that is filled into memory does not fail.
        page.render().unwrap_or_default()
    }
}

/// The colour of a class, as the VOC sets have it: the bits of the label dealt out to red, green and blue.
pub fn color(label: u8, void: Option<u8>) -> [u8; 3] {
    if Some(label) == void {
        return [224, 224, 192];
    }
    // Bit 0 of the label to red, 1 to green, 2 to blue, 3 to red again, each time one place lower.
    let mut rgb = [0; 3];
    for bit in 0..8u8 {
        rgb[usize::from(bit % 3)] |= ((label >> bit) & 1) << (7 - bit / 3);
    }
    rgb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_the_colours_of_voc() {
        // Background, aeroplane, bicycle, bird, boat, bottle, person, monitor and void.
        let expected: [(u8, [u8; 3]); 9] = [
            (0, [0, 0, 0]),
            (1, [128, 0, 0]),
            (2, [0, 128, 0]),
            (3, [128, 128, 0]),
            (4, [0, 0, 128]),
            (5, [128, 0, 128]),
            (15, [192, 128, 128]),
            (20, [0, 64, 128]),
            (255, [224, 224, 192]),
        ];
        for (label, rgb) in expected {
            assert_eq!(color(label, Some(255)), rgb, "{label}");
        }
        let all: BTreeSet<[u8; 3]> = (0..=255).map(|label| color(label, None)).collect();
        assert_eq!(all.len(), 256);
    }

    #[test]
    fn names_cannot_write_the_page() {
        let panel = Panel { title: "image", content: Err("<script>".into()) };
        let card = Card { name: "<u>\"&", is_flagged: true, facts: vec![("score", "1<2".into())], panels: vec![panel] };
        let page = MaskReport {
            scores: "<i>",
            images: 3,
            flagged: Some(1),
            cards: vec![card],
            classes: BTreeSet::from([0, 2, 7]),
            void: Some(7),
        };
        let html = page.html();
        for raw in ["<script>", "<u>", "<i>", "1<2"] {
            assert!(!html.contains(raw), "{raw}");
        }
        assert!(html.contains("1. <bdi>&#60;u&#62;&#34;&#38;</bdi> <mark>flagged</mark>"), "{html}");
        assert!(html.contains("<dd>1 <span>33 %</span></dd>"), "{html}");
        assert!(html.contains("class 2") && html.contains("rgb(224,224,192)"), "{html}");
        assert!(html.contains("void, not judged") && !html.contains("class 7"), "{html}");
    }
}
