//! What helpers cost, and the budget.

use legwork_testkit::legwork::{Home, Host};
use serde_json::{Value, json};

/// A task that has ended with these figures.
fn done(home: &Home, host: &mut Host, description: &str, tokens: u64, dollars: f64) -> String {
    let (task, session) = host.launch(description);
    host.finish_for(&session, "done", tokens, dollars);
    home.run(["wait", &task]).with_code(0);
    task
}

fn fact<'a>(page: &'a str, name: &str) -> &'a str {
    let found = page.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no {name} in {page}")).trim()
}

#[test]
fn p4_a_finished_task_shows_its_model_tokens_and_cost_also_after_a_restart() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let task = done(&home, &mut host, "count", 12_345, 0.0123);
    let check = || {
        let page = home.run(["show", &task]).with_code(0).out;
        let facts = [fact(&page, "Model"), fact(&page, "Tokens"), fact(&page, "Cost")];
        assert_eq!(facts, ["acme/large", "12,345", "0.0123 USD"]);
        let shown = home.run(["show", &task, "--json"]).with_code(0).json();
        assert_eq!((&shown["tokens"], &shown["cost_micros"]), (&json!(12_345), &json!(12_300)));
        assert_eq!((&shown["currency"], &shown["model"]), (&json!("USD"), &json!("acme/large")));
        let run = &shown["runs"][0];
        assert_eq!((&run["outcome"], &run["tokens"]), (&json!("completed"), &json!(12_345)));
    };
    check();
    let list = home.run(["list"]).with_code(0).out;
    assert!(list.contains("0 tool calls, 0.0123 USD"), "{list}");
    drop(host);
    home.run(["daemon", "stop"]).with_code(0);
    check();
}

#[test]
fn p4_what_the_host_does_not_tell_is_unknown() {
    let home = Home::new();
    let mut host = Host::connect(&home);
    let (task, session) = host.launch("silent");
    host.finish(&session, "done");
    home.run(["wait", &task]).with_code(0);
    let page = home.run(["show", &task]).with_code(0).out;
    let facts = [fact(&page, "Model"), fact(&page, "Tokens"), fact(&page, "Cost")];
    assert_eq!(facts, ["unknown"; 3]);
    let shown = home.run(["show", &task, "--json"]).with_code(0).json();
    for key in ["tokens", "cost_micros", "currency", "model"] {
        assert_eq!(shown.get(key), None, "{key} is there");
    }
    let costs = home.run(["cost"]).with_code(0).out;
    assert!(costs.starts_with("1 run that told no cost and tokens.\n"), "{costs}");
    assert!(!costs.contains("Not in these sums"), "the same is said twice: {costs}");
}

#[test]
fn p4_costs_are_summed_in_words_first_and_in_json() {
    let home = Home::new();
    let nothing = home.run(["cost"]).with_code(0).out;
    assert_eq!(nothing, "There are no runs to sum up.\n");
    let mut host = Host::connect(&home);
    done(&home, &mut host, "one", 1_000, 0.5);
    done(&home, &mut host, "two", 2_000, 0.25);
    let (silent, session) = host.launch("three");
    host.finish(&session, "done");
    home.run(["wait", &silent]).with_code(0);

    let by_agent = home.run(["cost", "--by", "agent"]).with_code(0).out;
    let expected = "\
3 runs have cost 0.7500 USD and used 3,000 tokens.
Not in these sums: 1 run that told no cost and tokens.

AGENT    RUNS  TOOL CALLS  TOKENS               COST
general  3     0           3,000 and 1 unknown  0.7500 USD and 1 unknown
";
    assert_eq!(by_agent, expected);
    let by = |by| home.run(["cost", "--by", by, "--json"]).with_code(0).json();
    let total = |costs: &Value| costs["total"]["costs"].clone();
    let sum = json!([{ "micros": 750_000, "currency": "USD" }]);
    for (costs, name) in [(by("agent"), "general"), (by("project"), "/d")] {
        assert_eq!((total(&costs), &costs["groups"][0]["name"]), (sum.clone(), &json!(name)));
    }
    assert_eq!(by("day")["groups"].as_array().unwrap().len(), 1);
    let later = home.run(["cost", "--since", "2999-01-01", "--json"]).with_code(0).json();
    assert_eq!(later["total"]["runs"], 0);
    let lately = home.run(["cost", "--since", "1h", "--json"]).with_code(0).json();
    assert_eq!(lately["total"]["runs"], 3);
    let wrong = home.run(["cost", "--since", "lately"]).with_code(2);
    assert!(wrong.err.contains("a day like 2026-11-01"), "{wrong:?}");
}

#[test]
fn p4_a_budget_is_shown_when_it_is_nearly_used_up_and_refuses_when_it_is() {
    let home = Home::new();
    home.configure("[limits]\nmax_cost = 1\n");
    let mut host = Host::connect(&home);
    let first = done(&home, &mut host, "one", 1, 0.7);
    let page = home.run(["show", &first]).with_code(0).out;
    assert!(!page.contains("Budget") && !home.run(["list"]).out.contains("Budget"), "{page}");
    done(&home, &mut host, "two", 1, 0.15);
    let near = "0.8500 of 1.0000 USD are used up by one session (limits.max_cost); at the limit \
         no more helpers are started in it";
    assert_eq!(fact(&home.run(["show", &first]).with_code(0).out, "Budget"), near);
    let list = home.run(["list"]).with_code(0).out;
    assert!(list.ends_with(&format!("Budget: {near}.\n")), "{list}");
    done(&home, &mut host, "three", 1, 0.2);
    let refusal = host.try_launch("four");
    assert!(refusal.contains("1.0500 of 1.0000 USD (limits.max_cost = 1)"), "{refusal}");
    let shown = home.run(["show", &first, "--json"]).with_code(0).json();
    assert_eq!(shown["budget"]["spent_micros"], 1_050_000);
}
