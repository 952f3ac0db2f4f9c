//! Which servers may be asked: tables of URLs, `tests/cases/resource/guard`.

use playhouse::host::resource::http::guard::Guard;

use crate::golden;

fn strings(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn judge(guard: &Guard, row: &str) -> Result<String, String> {
    match row.split_once(" => ") {
        Some((from, location)) => {
            let from = guard.check(from).map_err(|refusal| refusal.to_string())?;
            let next = guard.check_redirect(&from, location).map_err(|refusal| refusal.to_string())?;
            Ok(next.to_string())
        }
        None => guard.check(row).map(|url| url.to_string()).map_err(|refusal| refusal.to_string()),
    }
}

#[test]
fn tables_of_urls() {
    golden::check("resource/guard", &["txt"], |_, text| {
        let (head, rows) = text.split_once("\n\n").unwrap();
        let setting = |name: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            strings(line)
        };
        let guard = Guard::new(&setting("hosts:"), &setting("networks:"), &setting("schemes:")).unwrap();
        let judged = rows.lines().map(|row| {
            if row.is_empty() || row.starts_with('#') {
                return format!("{row}\n");
            }
            match judge(&guard, row) {
                Ok(url) => format!("{row}\n    asked: {url}\n"),
                Err(refusal) => format!("{row}\n    refused: {refusal}\n"),
            }
        });
        judged.collect()
    });
}

#[test]
fn what_is_no_allow_list_is_told() {
    let fault = |hosts: &[&str], networks: &[&str], schemes: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Guard::new(&owned(hosts), &owned(networks), &owned(schemes)).unwrap_err().cause
    };
    assert_eq!(fault(&[], &[], &["https"]), "`hosts` is empty, so no server could be called");
    let hosts = [
        ("https://a.example", "`https://a.example` in `hosts` is more than a host"),
        ("a.example/path", "`a.example/path` in `hosts` is more than a host"),
        ("a.example:x", "`a.example:x` in `hosts` has no port"),
        ("a.example:0", "`a.example:0` in `hosts` has no port"),
        ("user@a.example", "`user@a.example` in `hosts` is not a host"),
        ("a.*.example", "`a.*.example` in `hosts` is not a host"),
        ("*.127.0.0.1", "`*.127.0.0.1` in `hosts` is an address, and an address has no subdomains"),
        ("", "`` in `hosts` is not a host"),
    ];
    for (host, cause) in hosts {
        assert_eq!(fault(&[host], &[], &["https"]), cause);
    }
    assert_eq!(fault(&["*"], &["10.0.0.0/33"], &["https"]), "`10.0.0.0/33` in `networks` is not a network");
    assert_eq!(fault(&["*"], &[], &["ftp"]), "`ftp` in `schemes` is unknown");
}
