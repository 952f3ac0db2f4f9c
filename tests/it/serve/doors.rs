//! Who may come in: tokens and cookies, foreign pages, visitors; and sessions that rest.

use playhouse::serve::http::access::Role;

use super::Running;
use super::streams::{MODEL, TALK};

fn talk() -> Vec<(String, String)> {
    vec![("desk.md".to_owned(), TALK.to_owned()), ("model.jsonl".to_owned(), MODEL.to_owned())]
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn a_cookie_comes_from_a_token_and_changes_things_for_the_own_page_only() {
    let running = Running::start(&talk(), &[("ida", Role::User)]);
    let answer = running.ask("POST", "/api/login", &[], Some(r#"{"token":"ph_ida"}"#));
    assert_eq!(answer.status, 204, "{}", answer.body);
    let cookie = answer.headers.iter().find(|(name, _)| name == "set-cookie").unwrap().1.clone();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let own = format!("http://{}", running.address);
    let begin = Some(r#"{"program":"desk"}"#);
    let ask = |headers: &[(&str, &str)]| running.ask("POST", "/api/sessions", headers, begin).status;
    assert_eq!(ask(&[JSON, ("cookie", cookie)]), 403, "nothing says that the page has sent it");
    assert_eq!(ask(&[JSON, ("cookie", cookie), ("origin", "https://evil.example")]), 403);
    assert_eq!(ask(&[JSON, ("cookie", cookie), ("origin", &own), ("sec-fetch-site", "cross-site")]), 201);
    assert_eq!(ask(&[JSON, ("cookie", cookie), ("origin", &own)]), 201);
    assert_eq!(ask(&[JSON]), 401);
    // A form of another site sends no JSON.
    let form = ("content-type", "application/x-www-form-urlencoded");
    assert_eq!(running.ask("POST", "/api/sessions", &[form, ("cookie", cookie), ("origin", &own)], begin).status, 415);
    assert_eq!(running.ask("GET", "/api/me", &[("cookie", cookie)], None).status, 200);
    // One that was changed anywhere is none.
    let mut bytes = cookie.as_bytes().to_vec();
    for at in "playhouse=".len()..bytes.len() {
        let before = bytes[at];
        bytes[at] = if before == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(bytes.clone()).unwrap();
        // The last letter has bits that mean nothing: it may be read as the same.
        if at + 1 < bytes.len() {
            let status = running.ask("GET", "/api/me", &[("cookie", &forged)], None).status;
            assert!(status == 401 || status == 429, "{at}: {status}");
        }
        bytes[at] = before;
    }
}

#[test]
fn a_token_in_an_address_is_none() {
    let running = Running::start(&talk(), &[("ida", Role::Admin)]);
    for path in ["/api/me?token=ph_ida", "/api/me?access_token=ph_ida"] {
        assert_eq!(running.ask("GET", path, &[], None).status, 401, "{path}");
    }
}

#[test]
fn wrong_tokens_are_taken_ten_times_in_a_minute() {
    let running = Running::start(&talk(), &[("ida", Role::Admin)]);
    let wrong = [("authorization", "Bearer ph_nobody")];
    let statuses: Vec<u16> = (0..11).map(|_| running.ask("GET", "/api/me", &wrong, None).status).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 429]);
    let own = [("authorization", "Bearer ph_ida")];
    assert_eq!(running.ask("GET", "/api/me", &own, None).status, 200, "who has one is not kept out");
}

#[test]
fn a_token_for_one_program_knows_of_no_other() {
    let mut files = talk();
    files.push(("shop.md".to_owned(), files[0].1.clone()));
    let running = Running::start(&files, &[("ida", Role::Admin), ("olga@shop", Role::Operator)]);
    let ask = |name: &str, method: &str, path: &str, body: Option<&str>| {
        let token = format!("Bearer ph_{name}");
        running.ask(method, path, &[("authorization", &token), JSON], body)
    };
    let begin = |program: &str| {
        let begun = ask("ida", "POST", "/api/sessions", Some(&format!(r#"{{"program":"{program}"}}"#)));
        let begun: serde_json::Value = serde_json::from_str(&begun.body).unwrap();
        begun["id"].as_str().unwrap().to_owned()
    };
    let [desk, shop] = ["desk", "shop"].map(begin);
    let listed = |path: &str| {
        let listed: serde_json::Value = serde_json::from_str(&ask("olga", "GET", path, None).body).unwrap();
        let sessions = listed["sessions"].as_array().unwrap().iter();
        sessions.map(|session| session["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("/api/sessions"), std::slice::from_ref(&shop));
    assert!(listed("/api/sessions?program=desk").is_empty());
    let of = |id: &str, rest: &str| format!("/api/sessions/{id}{rest}");
    assert_eq!(ask("olga", "GET", &of(&shop, ""), None).status, 200);
    for path in ["", "/events", "/state", "/export", "/source", "/steps", "/why"] {
        assert_eq!(ask("olga", "GET", &of(&desk, path), None).status, 404, "{path}");
    }
    let fork = ask("olga", "POST", &of(&shop, "/fork"), Some(r#"{"at":"1","program":"desk"}"#));
    assert_eq!(fork.status, 404, "{}", fork.body);
    assert_eq!(ask("olga", "GET", &of(&shop, &format!("/diff/{desk}")), None).status, 404);
}

#[test]
fn a_session_rests_and_goes_on_when_it_is_wanted() {
    let mut files = talk();
    files.push(("playhouse.toml".to_owned(), "[serve]\nidle = 0.001\n".to_owned()));
    let running = Running::start(&files, &[]);
    let id = running.begin("desk");
    let state = || running.json("GET", &format!("/api/sessions/{id}"), None);
    // Its task ends when it goes to rest.
    if let Some(handle) = running.residents.sessions().get(&id) {
        running.runtime.block_on(handle.outcome()).unwrap();
    }
    let resting = state();
    assert_eq!((&resting["live"], &resting["state"]), (&false.into(), &"waiting".into()), "{resting}");
    assert_eq!((&resting["mark"], &resting["approval"]), (&"1:11".into(), &serde_json::Value::Null), "{resting}");
    let listed = running.json("GET", "/api/sessions?state=waiting", None);
    assert_eq!(listed["sessions"][0], resting);
    let said = running.json("POST", &format!("/api/sessions/{id}/messages?wait=30"), Some(r#"{"text":"4334"}"#));
    assert_eq!(said["session"]["value"], "4334", "{said}");
    assert_eq!(state()["state"], "finished");
}

#[test]
fn pages_of_named_sites_may_use_the_interface_and_others_may_not() {
    let mut files = talk();
    files.push(("playhouse.toml".to_owned(), "[serve]\norigins = [\"https://www.example\"]\n".to_owned()));
    let running = Running::start(&files, &[("ida", Role::User)]);
    let allowed = |origin: &str, method: &str, headers: &[(&str, &str)], body| {
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([("origin", origin)]).collect();
        let answer = running.ask(method, "/api/sessions", &headers, body);
        let allowed = answer.headers.iter().find(|(name, _)| name == "access-control-allow-origin");
        (answer.status, allowed.map(|(_, value)| value.clone()))
    };
    let (own, foreign) = ("https://www.example", "https://evil.example");
    let token = ("authorization", "Bearer ph_ida");
    let preflight = [("access-control-request-method", "POST"), ("access-control-request-headers", "authorization")];
    assert_eq!(allowed(own, "OPTIONS", &preflight, None), (200, Some(own.to_owned())));
    assert_eq!(allowed(foreign, "OPTIONS", &preflight, None), (200, None));
    assert_eq!(allowed(own, "GET", &[token], None), (200, Some(own.to_owned())));
    let begin = Some(r#"{"program":"desk"}"#);
    assert_eq!(allowed(own, "POST", &[token, JSON], begin), (201, Some(own.to_owned())));
    assert_eq!(allowed(foreign, "POST", &[token, JSON], begin), (403, None));
}

#[test]
fn whom_a_trusted_proxy_names_is_a_user_and_nobody_else_can_name_one() {
    let mut files = talk();
    let config = "[serve]\ntrusted_proxies = [\"127.0.0.1/32\"]\nuser_header = \"Remote-User\"\n";
    files.push(("playhouse.toml".to_owned(), config.to_owned()));
    let ida = ("remote-user", "ida");
    let running = Running::start(&files, &[("ida", Role::Admin)]);
    let me = |headers: &[(&str, &str)]| running.ask("GET", "/api/me", headers, None);
    assert!(me(&[ida]).body.contains(r#""role":"user","name":"sso:ida""#), "{}", me(&[ida]).body);
    assert_eq!(me(&[]).status, 401);
    // It is sent without anybody's doing, as a cookie is.
    let begin =
        |headers: &[(&str, &str)]| running.ask("POST", "/api/sessions", headers, Some(r#"{"program":"desk"}"#)).status;
    let own = format!("http://{}", running.address);
    assert_eq!([begin(&[ida, JSON]), begin(&[ida, JSON, ("origin", &own)])], [403, 201]);
    files.last_mut().unwrap().1 = config.replace("127.0.0.1/32", "192.0.2.0/24");
    let running = Running::start(&files, &[]);
    assert_eq!(running.ask("GET", "/api/me", &[ida], None).status, 401, "it does not come from a proxy");
}

#[test]
fn what_a_trusted_proxy_says_of_who_asks_counts_and_nobody_elses_word() {
    let mut files = talk();
    files.push(("playhouse.toml".to_owned(), "[serve]\ntrusted_proxies = [\"127.0.0.1/32\"]\n".to_owned()));
    let ask = |running: &Running, from: &str| {
        let headers = [("authorization", "Bearer ph_nobody"), ("x-forwarded-for", from)];
        running.ask("GET", "/api/me", &headers, None).status
    };
    let running = Running::start(&files, &[("ida", Role::User)]);
    let one: Vec<u16> = (0..11).map(|_| ask(&running, "10.0.0.1, 192.0.2.1")).collect();
    assert_eq!(one.last(), Some(&429));
    assert_eq!(ask(&running, "10.0.0.1, 192.0.2.2"), 401, "another one");
    let running = Running::start(&talk(), &[("ida", Role::User)]);
    let many: Vec<u16> = (0..11).map(|n| ask(&running, &format!("192.0.2.{n}"))).collect();
    assert_eq!(many.last(), Some(&429), "it is one who says to be many");
}

#[test]
fn over_tls_the_cookie_is_one_that_nobody_else_can_set() {
    let mut files = talk();
    files.push(("playhouse.toml".to_owned(), "[serve]\ntrusted_proxies = [\"127.0.0.1/32\"]\n".to_owned()));
    let login = |running: &Running| {
        let headers = [("x-forwarded-proto", "https")];
        let answer = running.ask("POST", "/api/login", &headers, Some(r#"{"token":"ph_ida"}"#));
        answer.headers.into_iter().find(|(name, _)| name == "set-cookie").unwrap().1
    };
    let running = Running::start(&files, &[("ida", Role::User)]);
    let cookie = login(&running);
    assert!(cookie.starts_with("__Host-playhouse=") && cookie.contains("; Path=/;") && cookie.contains("; Secure"));
    let cookie = cookie.split(';').next().unwrap();
    let me = |protocol: &str, cookie: &str| {
        running.ask("GET", "/api/me", &[("x-forwarded-proto", protocol), ("cookie", cookie)], None).status
    };
    assert_eq!(me("https", cookie), 200);
    // A plain connection could have set this one.
    assert_eq!(me("https", cookie.strip_prefix("__Host-").unwrap()), 401);
    let out = running.ask("POST", "/api/logout", &[("x-forwarded-proto", "https")], None);
    assert!(out.headers.iter().any(|(_, value)| value.starts_with("__Host-playhouse=;")));
    // Who is no proxy does not say how it has connected.
    let running = Running::start(&talk(), &[("ida", Role::User)]);
    assert!(login(&running).starts_with("playhouse="));
}
