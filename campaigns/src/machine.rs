//! Where and with what it was measured, as far as it matters and names nobody.

use std::fs;
use std::process::Command;

use legwork_testkit::VERSION;

/// Names and facts.
pub fn facts() -> Vec<(String, String)> {
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").and_then(|text| in_gb(&text));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let mut facts = vec![
        ("date", first_line("date", &["-u", "+%F"])),
        ("legwork", first_line("git", &["describe", "--always", "--dirty"])),
        ("OpenCode", Some(VERSION.to_owned())),
        ("processor", Some(format!("{cores} cores, {processor}"))),
        ("memory", memory),
        ("kernel", first_line("uname", &["-sr"])),
    ];
    // Figures from a machine that does something else are worth nothing.
    facts.push(("load before it began", Some(load)));
    let known = |(name, fact): (&str, Option<String>)| Some((name.to_owned(), fact?));
    facts.into_iter().filter_map(known).collect()
}

/// For a document.
pub fn list(facts: &[(String, String)]) -> String {
    facts.iter().map(|(name, fact)| format!("- {name}: {fact}\n")).collect()
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn in_gb(kb: &str) -> Option<String> {
    let kb: u64 = kb.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.0} GB", kb as f64 / f64::from(1 << 20)))
}

fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_gigabytes() {
        assert_eq!(in_gb("24641536 kB").as_deref(), Some("24 GB"));
        assert_eq!(in_gb("none"), None);
    }
}
