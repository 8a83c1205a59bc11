//! Agents that are shell scripts: they do in a prompt whatever a test wants a program to do.

use super::program;

/// The settings of an agent whose prompts are all answered by this script, without single quotes in
/// threes. In it `say TEXT` answers, `line` writes a line of the agent's, and `$LEGWORK` is us.
pub fn script_agent(name: &str, work: &str) -> String {
    let legwork = program().unwrap();
    let legwork = legwork.display();
    let text = r#""sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"#;
    let script = format!(
        r#"
LEGWORK={legwork}
line() {{ printf '%s\n' "$1"; }}
update() {{ line '{{"method":"session/update","params":{{"sessionId":"s","update":{{'"$1"'}}}}}}'; }}
say() {{ update '{text}"'"$1"'"}}'; }}
work() {{
{work}
}}
while read -r asked; do
  case $asked in
    *'"initialize"'*) line '{{"id":1,"result":{{"protocolVersion":1}}}}' ;;
    *'"session/new"'*) line '{{"id":2,"result":{{"sessionId":"s"}}}}' ;;
    *'"session/prompt"'*) work; line '{{"id":3,"result":{{"stopReason":"end_turn"}}}}' ;;
  esac
done
"#
    );
    format!("[agents.{name}]\ncommand = [\"sh\", \"-c\", '''{script}''']\n")
}
