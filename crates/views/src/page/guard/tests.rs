//! Each rule by itself, with all the others kept.

use hyper::header::HeaderValue;

use super::*;

const PORT: u16 = 5975;

fn guard() -> Guard {
    Guard::new(PORT, Secret::new().unwrap(), Secret::new().unwrap())
}

fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

/// What becomes of a request of the page itself, with this header in place of the page's.
fn with(guard: &Guard, method: &Method, path: &str, name: &str, values: &[&str]) -> Option<Denied> {
    let bearer = format!("Bearer {}", guard.token.reveal());
    let mut given = headers(&[
        ("host", "127.0.0.1:5975"),
        ("origin", "http://127.0.0.1:5975"),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-dest", "empty"),
        ("authorization", &bearer),
    ]);
    let name: HeaderName = name.parse().unwrap();
    given.remove(&name);
    for value in values {
        given.append(name.clone(), HeaderValue::from_str(value).unwrap());
    }
    guard.check(Asker { method, path, headers: &given }).err()
}

#[test]
fn v3_only_our_very_address_is_a_host() {
    let guard = guard();
    for path in ["/", "/app.js", "/api/board", ENTER_PATH] {
        let host = |values: &[&str]| with(&guard, &Method::POST, path, "host", values);
        assert_eq!(host(&["127.0.0.1:5975"]), None);
        for bad in ["localhost:5975", "127.0.0.1", "127.0.0.1:5976", "evil.test:5975", "[::1]:5975"]
        {
            assert_eq!(host(&[bad]), Some(Denied::Host), "{path} {bad}");
        }
        assert_eq!(host(&[]), Some(Denied::Host), "none");
        let two = host(&["127.0.0.1:5975", "evil.test"]);
        assert_eq!(two, Some(Denied::Host), "a second one");
    }
    assert_eq!(Denied::Host.status(), 421);
}

#[test]
fn v3_another_origin_is_refused_and_what_acts_has_to_name_ours() {
    let guard = guard();
    for path in ["/", "/api/tasks", ENTER_PATH] {
        for method in [Method::GET, Method::POST] {
            let origin = |values: &[&str]| with(&guard, &method, path, "origin", values);
            assert_eq!(origin(&["http://127.0.0.1:5975"]), None);
            let others = [
                "null",
                "",
                "http://127.0.0.1:5976",
                "https://127.0.0.1:5975",
                "http://localhost:5975",
                "http://evil.test",
            ];
            for bad in others {
                assert_eq!(origin(&[bad]), Some(Denied::Origin), "{method} {path} {bad}");
            }
        }
        assert_eq!(with(&guard, &Method::GET, path, "origin", &[]), None);
        let unnamed = with(&guard, &Method::POST, path, "origin", &[]);
        assert_eq!(unnamed, Some(Denied::Origin));
    }
    assert_eq!(Denied::Origin.status(), 403);
}

#[test]
fn v3_what_another_site_starts_is_refused_but_for_a_link_to_the_page() {
    let guard = guard();
    let site = |path, value| with(&guard, &Method::GET, path, "sec-fetch-site", &[value]);
    for good in ["same-origin", "none"] {
        assert_eq!(site("/api/tasks", good), None);
    }
    for bad in ["cross-site", "same-site", "", "same-origin, none"] {
        for path in ["/", "/app.js", "/api/tasks"] {
            assert_eq!(site(path, bad), Some(Denied::Origin), "{path} {bad}");
        }
    }
    let link = |path: &str, method: &Method, mode, dest| {
        let given = headers(&[
            ("host", "127.0.0.1:5975"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", mode),
            ("sec-fetch-dest", dest),
        ]);
        guard.check(Asker { method, path, headers: &given }).err()
    };
    assert_eq!(link("/", &Method::GET, "navigate", "document"), None);
    for (path, mode, dest) in [
        ("/", "navigate", "iframe"),
        ("/", "no-cors", "document"),
        ("/", "no-cors", "script"),
        ("/app.js", "navigate", "document"),
        ("/api/tasks", "navigate", "document"),
    ] {
        assert_eq!(link(path, &Method::GET, mode, dest), Some(Denied::Origin), "{path} {dest}");
    }
    assert_eq!(link("/", &Method::POST, "navigate", "document"), Some(Denied::Origin));
}

#[test]
fn v3_without_the_token_nothing_is_told_and_nothing_is_done() {
    let guard = guard();
    let key = format!("Bearer {}", guard.key.reveal());
    let token = format!("Bearer {}", guard.token.reveal());
    let bare = guard.token.reveal().to_owned();
    for path in ["/api/board", "/api/tasks", "/api/task/bg_4k2x81pd", "/api/clear", "/api/"] {
        let given = |values: &[&str]| with(&guard, &Method::POST, path, "authorization", values);
        assert_eq!(given(&[&token]), None);
        for bad in ["", "Bearer", "Bearer ", "Bearer 0", &key, &bare, &token[..token.len() - 1]] {
            assert_eq!(given(&[bad]), Some(Denied::Token), "{path} {bad}");
        }
        assert_eq!(given(&[]), Some(Denied::Token));
        assert_eq!(given(&[&token, &token]), Some(Denied::Token));
    }
    let code = |value: &str| with(&guard, &Method::POST, CODE_PATH, "authorization", &[value]);
    assert_eq!(code(&key), None);
    assert_eq!(code(&token), Some(Denied::Token), "a page gives out no codes");
    assert_eq!(with(&guard, &Method::POST, ENTER_PATH, "authorization", &[]), None);
    assert_eq!(with(&guard, &Method::GET, "/", "authorization", &[]), None);
    assert_eq!(Denied::Token.status(), 401);
}
