//! The page: files inside the program, sent as they are.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::serve::http::body::Path;
use crate::serve::http::problem::Problem;

/// A file of the page.
struct Asset {
    /// Below `/page/`.
    path: &'static str,
    bytes: &'static [u8],
    /// Changes with the file.
    tag: String,
}

macro_rules! assets {
    ($($path:literal),* $(,)?) => {
        [$(Asset::new($path, include_bytes!(concat!("page/", $path)))),*]
    };
}

/// All of them.
#[rustfmt::skip]
static ASSETS: LazyLock<[Asset; 18]> = LazyLock::new(|| assets![
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
]);

impl Asset {
    fn new(path: &'static str, bytes: &'static [u8]) -> Asset {
        Asset { path, bytes, tag: format!("\"{}\"", STANDARD.encode(Sha256::digest(bytes))) }
    }
}

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
    let tag = asset.tag.clone();
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

/// What pages may do, in the words of browsers.
pub(super) struct Policies {
    /// Of pages that sites may show in a frame.
    pub(super) in_frames: HeaderValue,
    /// Of all else.
    pub(super) elsewhere: HeaderValue,
}

impl Policies {
    /// With the sites that may show a chat in a frame.
    pub(super) fn new(frame_ancestors: &[String]) -> Policies {
        let hash = import_map_hash();
        let of = |ancestors: &str| {
            let policy = format!(
                "default-src 'none'; script-src 'self' '{hash}'; style-src 'self'; img-src 'self' data:; connect-src \
                 'self'; base-uri 'none'; form-action 'self'; frame-ancestors {ancestors}; require-trusted-types-for \
                 'script'"
            );
            HeaderValue::from_str(&policy).ok()
        };
        let elsewhere = of("'none'").unwrap_or(HeaderValue::from_static("default-src 'none'"));
        let sites = frame_ancestors.join(" ");
        // What cannot stand in a header allows nobody.
        let in_frames = if sites.is_empty() { None } else { of(&sites) };
        Policies { in_frames: in_frames.unwrap_or_else(|| elsewhere.clone()), elsewhere }
    }
}

/// The hash of the import map, which is the only script that stands in a page itself: the content policy names it.
fn import_map_hash() -> String {
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
