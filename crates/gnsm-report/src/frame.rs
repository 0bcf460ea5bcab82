//! What all pages share: the style sheet, and the policy that lets a page run its own script and nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The style sheet of all pages.
const STYLE: &str = include_str!("../templates/style.css");

/// A page's style sheet, script and content security policy.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The style sheet.
    pub style: &'static str,
    /// The script; none where it is empty.
    pub script: &'static str,
    /// What the page may load and run: this style sheet, this script, pictures inside the page.
    pub policy: String,
}

impl Frame {
    /// A frame with a script of the page's own. `more` is added to the policy, such as `connect-src 'self'; `.
    pub fn new(script: &'static str, more: &str) -> Self {
        let scripts = if script.is_empty() { "'none'".to_owned() } else { hash(script) };
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {scripts}; img-src data:; {more}base-uri 'none'; form-action 'none'",
            hash(STYLE)
        );
        Self { style: STYLE, script, policy }
    }

    /// The same frame, whose policy lets another script run as well.
    pub fn and_script(mut self, other: &str) -> Self {
        self.policy = self.policy.replacen("script-src ", &format!("script-src {} ", hash(other)), 1);
        self
    }
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_other_tools() {
        // printf abc | openssl dgst -sha256 -binary | base64
        assert_eq!(hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
        assert!(Frame::new("", "").policy.contains("script-src 'none'"));
    }
}
