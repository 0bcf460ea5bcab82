//! The page of the server: choose a model, drop a table to get its report, or fill in a row and watch its score.

use askama::Template;

use crate::frame::Frame;
use crate::page;

#[derive(Template)]
#[template(path = "serving.html")]
struct Page<'a> {
    frame: &'a Frame,
}

/// The page, and its content security policy. A report that it opens runs the report's own script under the same
/// policy.
pub fn serving_page() -> (String, String) {
    let more = "connect-src 'self'; frame-src blob:; ";
    let frame = Frame::new(include_str!("../templates/serving.js"), more).and_script(page::SCRIPT);
    // A template of this crate that is filled into memory does not fail.
    let html = Page { frame: &frame }.render().unwrap_or_default();
    (html, frame.policy)
}
