//! References inside text.

use playhouse::lang::expr::template::{Part, TextScanner, scan_text, whole_reference};

/// Text as it is, `<$x.y[0]>` for a braced reference and `<<$x>>` for a bare one.
fn show(text: &str) -> String {
    let mut shown = String::new();
    for part in scan_text(text) {
        match part {
            Part::Text(text) => shown.push_str(&text),
            Part::Reference { reference, braced, source } => {
                if braced {
                    assert_eq!(source, format!("{{{reference}}}"));
                    shown.push_str(&format!("<{reference}>"));
                } else {
                    assert_eq!(source, reference.to_string());
                    shown.push_str(&format!("<<{reference}>>"));
                }
            }
        }
    }
    shown
}

#[test]
fn references_in_text() {
    for (text, expected) in [
        ("no references", "no references"),
        ("{$name}", "<$name>"),
        ("Hi {$user.first[0].x}!", "Hi <$user.first[0].x>!"),
        ("Hi $user.", "Hi <<$user>>."),
        ("Hi $user.name.", "Hi <<$user.name>>."),
        ("$items[0] and $items[x]", "<<$items[0]>> and <<$items>>[x]"),
        ("costs $$5 or $5 or $ 5", "costs $5 or $5 or $ 5"),
        ("literal {$$name}", "literal {$name}"),
        ("$$name", "$name"),
        ("$$$name", "$<<$name>>"),
        ("{{$name}}", "{<$name>}"),
        ("{$name", "{<<$name>>"),
        ("{$name + 1}", "{<<$name>> + 1}"),
        ("{$5}", "{$5}"),
        ("{ $name }", "{ <<$name>> }"),
        ("${name}", "${name}"),
        ("a$", "a$"),
        ("{$", "{$"),
        ("$größe", "<<$größe>>"),
        ("{$a{$b}", "{<<$a>><$b>"),
        ("$a$b", "<<$a>><<$b>>"),
    ] {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn braces_reach_64_bytes() {
    let fits = format!("{{${}}}", "a".repeat(61));
    assert_eq!(fits.len(), 64);
    assert_eq!(show(&fits), format!("<${}>", "a".repeat(61)));
    let too_long = format!("{{${}}}", "a".repeat(62));
    assert_eq!(show(&too_long), format!("{{<<${}>>}}", "a".repeat(62)));
}

#[test]
fn speech_is_held_back_no_longer_than_needed() {
    let mut scanner = TextScanner::default();
    let mut parts = Vec::new();
    scanner.push("You owe {$total.", &mut parts);
    assert_eq!(parts, [Part::Text("You owe ".to_owned())]);
    assert_eq!(scanner.pending(), "{$total.");
    scanner.push("net} Euro and {$5", &mut parts);
    assert_eq!(scanner.pending(), "");
    assert_eq!(parts.last(), Some(&Part::Text(" Euro and {$5".to_owned())));
    scanner.push(" {$", &mut parts);
    scanner.push(&"x".repeat(100), &mut parts);
    assert_eq!(scanner.pending().len(), 101);
    scanner.finish(&mut parts);
    assert_eq!(scanner.pending(), "");
}

#[test]
fn whole_references() {
    assert_eq!(whole_reference("$name").unwrap().to_string(), "$name");
    assert_eq!(whole_reference("$a.b[0]").unwrap().to_string(), "$a.b[0]");
    for text in ["", "$", "$5", "name", " $name", "$name ", "$name.", "$a b", "$a$b", "{$name}", "$$name"] {
        assert!(whole_reference(text).is_none(), "{text}");
    }
}
