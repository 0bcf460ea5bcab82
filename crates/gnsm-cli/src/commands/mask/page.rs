//! The page that `gnsm mask report` writes: everything in one file, pictures included.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::display::{count, plural};

/// What is on the page.
pub struct Page<'a> {
    /// Where the scores come from.
    pub scores: &'a str,
    /// How many images have one.
    pub images: usize,
    /// The oddest images, the oddest first.
    pub cards: Vec<Card<'a>>,
    /// The classes that occur in them.
    pub classes: BTreeSet<u8>,
    /// The class that cannot be judged.
    pub void: Option<u8>,
}

/// An image with what is known about it.
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
pub struct Panel {
    /// What it shows.
    pub title: &'static str,
    /// A PNG file as base64, or why there is none.
    pub content: Result<String, String>,
}

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 1.5rem auto; padding: 0 1rem; max-width: 90rem; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem .9rem; margin: .8rem 0 1.2rem; padding: 0; list-style: none; }
.legend i { display: inline-block; width: .9em; height: .9em; margin-right: .35em; vertical-align: -.1em; border: 1px solid #8888; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 1rem; }
article { border: 1px solid #8886; border-radius: .5rem; padding: .7rem .8rem; }
h2 { font-size: 1rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 mark { font-size: .8rem; font-weight: normal; padding: 0 .4em; border-radius: .3em; }
dl { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: 0 0 .5rem; font-variant-numeric: tabular-nums; }
dl div { display: flex; gap: .35em; }
dt { opacity: .7; }
dd { margin: 0; }
.panels { display: flex; gap: .5rem; }
figure { flex: 1 1 0; min-width: 0; margin: 0; }
figure img { width: 100%; display: block; image-rendering: pixelated; }
figcaption { font-size: .8rem; opacity: .7; }
.missing { font-size: .8rem; overflow-wrap: anywhere; border: 1px dashed #8888; padding: .4rem; }
";

impl Page<'_> {
    /// The page. Writing to a string cannot fail.
    pub fn html(&self) -> String {
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>The oddest masks of {0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <h1>The oddest masks of {0}</h1>\n<p>{1} of {2}, the oddest first. p is the part of usual masks that are at least as odd.</p>\n",
            escape(self.scores),
            count(self.cards.len() as u64),
            plural(self.images as u64, "image"),
        );
        html += "<ul class=\"legend\">\n";
        for class in &self.classes {
            let [r, g, b] = color(*class, self.void);
            let name = match *class {
                void if Some(void) == self.void => "void, not judged".to_owned(),
                0 => "background".to_owned(),
                class => format!("class {class}"),
            };
            let _ = writeln!(html, "<li><i style=\"background: rgb({r} {g} {b})\"></i>{name}</li>");
        }
        html += "</ul>\n<main>\n";
        for (card, rank) in self.cards.iter().zip(1..) {
            card.write(rank, &mut html);
        }
        html + "</main>\n</body>\n</html>\n"
    }
}

impl Card<'_> {
    fn write(&self, rank: usize, html: &mut String) {
        let name = escape(self.name);
        let mark = if self.is_flagged { " <mark>flagged</mark>" } else { "" };
        let _ = write!(html, "<article>\n<h2>{rank}. {name}{mark}</h2>\n<dl>");
        for (title, value) in &self.facts {
            let _ = write!(html, "<div><dt>{title}</dt><dd>{}</dd></div>", escape(value));
        }
        *html += "</dl>\n<div class=\"panels\">\n";
        for Panel { title, content } in &self.panels {
            let _ = match content {
                Ok(png) => writeln!(
                    html,
                    "<figure><img alt=\"{title} of {name}\" src=\"data:image/png;base64,{png}\"><figcaption>{title}</figcaption></figure>"
                ),
                Err(problem) => writeln!(
                    html,
                    "<figure><div class=\"missing\">{}</div><figcaption>{title}</figcaption></figure>",
                    escape(problem)
                ),
            };
        }
        *html += "</div>\n</article>\n";
    }
}

/// Text that cannot become part of the page's own language.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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
        let card = Card { name: "<b>\"&", is_flagged: true, facts: vec![("score", "1<2".into())], panels: vec![panel] };
        let page =
            Page { scores: "<i>", images: 3, cards: vec![card], classes: BTreeSet::from([0, 2, 7]), void: Some(7) };
        let html = page.html();
        for raw in ["<script>", "<b>", "<i>\n", "1<2"] {
            assert!(!html.contains(raw), "{raw}");
        }
        assert!(html.contains("1. &lt;b&gt;&quot;&amp; <mark>flagged</mark>") && html.contains("class 2"), "{html}");
        assert!(html.contains("rgb(224 224 192)\"></i>void, not judged") && !html.contains("class 7"), "{html}");
    }
}
