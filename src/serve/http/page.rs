//! The page: files inside the program, sent as they are.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::serve::http::problem::Problem;

/// A file of the page.
struct Asset {
    /// Below `/page/`.
    path: &'static str,
    bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal),* $(,)?) => {
        [$(Asset { path: $path, bytes: include_bytes!(concat!("page/", $path)) }),*]
    };
}

/// All of them.
#[rustfmt::skip]
static ASSETS: &[Asset] = &assets![
    "app.js",
    "bits.js",
    "chat.html",
    "chat.js",
    "index.html",
    "inspector.js",
    "markdown.js",
    "net.js",
    "session.js",
    "speech.js",
    "store.js",
    "style.css",
    "talk.js",
    "timeline.js",
    "vendor/LICENSES",
    "vendor/hooks.js",
    "vendor/htm.js",
    "vendor/preact.js",
];

/// `/`.
pub(super) async fn index(headers: HeaderMap) -> Response {
    send("index.html", &headers)
}

/// `/chat/NAME`.
pub(super) async fn chat(headers: HeaderMap) -> Response {
    send("chat.html", &headers)
}

/// `/page/…`.
pub(super) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    send(&path, &headers)
}

fn send(path: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) else {
        return Problem::not_found(format!("the page has no file {path:?}")).into_response();
    };
    let tag = format!("\"{}\"", STANDARD.encode(Sha256::digest(asset.bytes)));
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    let kind = match path.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    };
    let headers =
        [(header::CONTENT_TYPE, kind.to_owned()), (header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    (headers, asset.bytes).into_response()
}

/// The hash of the import map, which is the only script that stands in a page itself: the content policy names it.
pub(super) fn import_map_hash() -> String {
    let of = |path: &str| {
        let asset = ASSETS.iter().find(|asset| asset.path == path)?;
        let html = std::str::from_utf8(asset.bytes).ok()?;
        let (_, rest) = html.split_once("<script type=\"importmap\">")?;
        let (map, _) = rest.split_once("</script>")?;
        Some(format!("sha256-{}", STANDARD.encode(Sha256::digest(map))))
    };
    let [index, chat] = ["index.html", "chat.html"].map(|path| of(path).unwrap_or_default());
    if index == chat { index } else { format!("{index}' '{chat}") }
}
