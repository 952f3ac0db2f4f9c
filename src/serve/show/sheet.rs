//! Pages that are one file: nothing is loaded from elsewhere, and what is shown is data, never markup.

use serde_json::Value as Json;

use crate::value::markup::xml_text;

/// How all of them look, light and dark.
const STYLE: &str = include_str!("sheet/sheet.css");

/// A page. `main` is markup; so it is made with [`xml_text`] text only.
pub(crate) struct Sheet<'a> {
    /// Its title, as text.
    pub(crate) title: &'a str,
    /// What it adds to the style.
    pub(crate) style: &'a str,
    /// What it holds.
    pub(crate) main: &'a str,
    /// Its script, and what that is given as `DATA`.
    pub(crate) script: Option<(&'a str, &'a Json)>,
}

impl Sheet<'_> {
    /// The page's text.
    pub(crate) fn render(&self) -> String {
        let Sheet { title, style, main, script } = self;
        let title = xml_text(title);
        let (allowed, script) = script.map_or_else(Default::default, |(script, data)| {
            // Inside of a script only `<` could end it.
            let data = data.to_string().replace('<', "\\u003c");
            let script = format!("<script>\n\"use strict\";\nconst DATA = {data};\n{script}</script>\n");
            ("; script-src 'unsafe-inline'", script)
        });
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" \
             content=\"default-src 'none'; style-src 'unsafe-inline'{allowed}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{main}</main>\n{script}\
             </body>\n</html>\n"
        )
    }
}
