//! An OpenCode server that is connected by its address, without a plugin.

use legwork_testkit::legwork::{Home, eventually, ran};
use legwork_testkit::{Home as OpenCodeHome, Model, block_on, ended};

#[test]
fn a_server_is_connected_by_its_address_and_password() {
    let home = Home::new();
    let opencode = OpenCodeHome::new(&Model::start());
    let serve = block_on(opencode.serve_with_password("secret"));
    let bridge = |password: &str| {
        let mut command = home.command(["bridge", "opencode", "--url", serve.url()]);
        command.env("OPENCODE_SERVER_PASSWORD", password);
        command
    };
    let refused = ran(bridge("wrong")).with_code(1);
    assert!(refused.err.contains("OPENCODE_SERVER_PASSWORD"), "{refused:?}");

    let mut connected = bridge("secret").spawn().unwrap();
    let hosts = || home.run(["daemon", "status", "--json"]).json()["daemon"]["hosts"].clone();
    let host = eventually("it is there", || hosts().get(0).cloned());
    assert!(host["host"].as_str().unwrap().starts_with("opencode-url-"), "{host}");

    let before = home.run(["daemon", "status", "--json"]).json()["daemon"]["pid"].clone();
    home.run(["daemon", "stop"]).with_code(0);
    eventually("it is there again, with another daemon", || {
        let now = home.run(["daemon", "status", "--json"]).json()["daemon"].clone();
        (now["pid"] != before && now["hosts"].get(0).is_some()).then_some(())
    });
    connected.kill().unwrap();
    ended(&mut connected);
}

#[test]
fn an_address_where_nobody_is_and_one_that_is_none_are_refused() {
    let home = Home::new();
    let nobody = home.run(["bridge", "opencode", "--url", "http://127.0.0.1:9"]).with_code(1);
    assert!(nobody.err.contains("did not answer"), "{nobody:?}");
    home.run(["bridge", "opencode", "--url", "ftp://x"]).with_code(2);
    home.run(["bridge", "opencode", "--directory", "/d"]).with_code(2);
}
