// Puts `legwork mcp`, which speaks on stdin and stdout, behind HTTP, because the conformance suite
// asks in no other way. Lends the names of the suite's tools to ours: each becomes calls of real
// tools, with scripts for the agent that is built in. Every answer is legwork's own; what is made
// here are sessions and status codes.
//
// usage: node bridge.mjs LEGWORK. Prints its address, and ends when its stdin does.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import readline from 'node:readline';

const [program] = process.argv.slice(2);
const VERSION = 'io.modelcontextprotocol/protocolVersion';
const NO_SUCH_METHOD = -32601;
const TRIVIAL = { type: 'object' };

const list = () => ['background_list', {}];
const work = (prompt) => () => {
  return ['background_task', { prompt, description: 'a task of the suite', agent: 'rehearsal' }];
};
// Waits for the task that the call before has launched.
const wait = (before) => {
  const id = /^Task ID: (\S+)$/m.exec(before.content?.[0]?.text)?.[1];
  return ['background_block', { task_ids: [id], timeout: 60_000 }];
};

// What the suite calls, and the calls that this is here, one after the other.
const LENT = {
  confirm_delete: () => [work('ask delete it; say deleted')],
  failing_job: () => [work('wait 500ms; fail it did not work')],
  greet: () => [list],
  multi_input: () => [work('ask one | two; say both')],
  protocol_error_job: () => [work('wait 500ms; crash 3')],
  slow_compute: ({ seconds }) => [work(`wait ${(seconds ?? 1) * 1000}ms; say computed`)],
  test_elicitation: () => [work('ask delete it; say deleted'), wait],
  test_error_handling: () => [() => ['background_output', { task_id: 'bg_00000000' }]],
  test_logging_tool: () => [list],
  test_simple_text: () => [list],
  test_streaming_elicitation: () => [work('ask delete it; say deleted')],
  test_tool_with_progress: () => [work('wait 32s; say computed'), wait],
};

class Front {
  constructor() {
    this.child = spawn(program, ['mcp'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.open = new Map();
    this.last = 0;
    // What came while no request was open; the next one hears it.
    this.unsaid = [];
    readline.createInterface({ input: this.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      if (message.method === undefined) {
        this.open.get(message.id)?.end(message);
        this.open.delete(message.id);
        return;
      }
      const token = message.params?.progressToken;
      const open = [...this.open.values()].reverse();
      const hears = open.find((one) => token === undefined || one.token === token);
      if (hears) hears.say(message);
      else this.unsaid.push(message);
    });
  }

  write(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  // Sends a request under a number of its own, and gives the answer under the suite's.
  ask(message, say) {
    const id = ++this.last;
    const token = message.params?._meta?.progressToken;
    return new Promise((done) => {
      const end = (answer) => done({ ...answer, id: message.id });
      this.open.set(id, { token, say, end });
      this.unsaid.splice(0).forEach(say);
      this.write({ ...message, id });
    });
  }

  async answer(message, say) {
    const lent = message.method === 'tools/call' && LENT[message.params?.name];
    if (lent) {
      let answer = {};
      for (const call of lent(message.params.arguments ?? {})) {
        const [name, given] = call(answer.result ?? {});
        const params = { ...message.params, name, arguments: given };
        answer = await this.ask({ ...message, params }, say);
      }
      return answer;
    }
    const answer = await this.ask(filledIn(message), say);
    if (message.method === 'tools/list' && answer.result) {
      const lend = (name) => ({ name, description: 'lent to the suite', inputSchema: TRIVIAL });
      answer.result.tools.push(...Object.keys(LENT).map(lend));
    }
    return answer;
  }
}

// The suite fills in every form as if it were its own.
const reply = (response) => {
  return response?.action === 'accept' ? { ...response, content: { reply: 'once' } } : response;
};

function filledIn(message) {
  const responses = message.params?.inputResponses;
  if (message.method !== 'tasks/update' || !responses) return message;
  const entries = Object.entries(responses).map(([key, response]) => [key, reply(response)]);
  return { ...message, params: { ...message.params, inputResponses: Object.fromEntries(entries) } };
}

const isModern = (message) => message.params?._meta?.[VERSION] !== undefined;

// The new era has status codes for refusals, the old one has none.
function status({ error }, message, hasSession) {
  if (!error || hasSession || message.method === 'initialize' && !isModern(message)) return 200;
  return error.code === NO_SUCH_METHOD ? 404 : 400;
}

// All requests of the new era share one front; each client of the old era has its own.
const shared = new Front();
const sessions = new Map();

async function serve(request, response, body) {
  const finish = (code) => response.writeHead(code).end();
  let session = request.headers['mcp-session-id'];
  if (session && !sessions.has(session)) return finish(404);
  if (request.method === 'DELETE') {
    sessions.get(session)?.child.stdin.end();
    sessions.delete(session);
    return finish(200);
  }
  if (request.method !== 'POST') return finish(405);
  const message = JSON.parse(body);
  if (message.method === 'initialize' && !isModern(message)) {
    session = randomUUID();
    sessions.set(session, new Front());
  }
  const front = sessions.get(session) ?? shared;
  if (message.id === undefined || message.method === undefined) {
    front.write(message.result ? { ...message, result: reply(message.result) } : message);
    return finish(202);
  }
  const headers = session ? { 'mcp-session-id': session } : {};
  const say = (said) => {
    if (!response.headersSent) {
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    }
    response.write(`event: message\ndata: ${JSON.stringify(said)}\n\n`);
  };
  const answer = await front.answer(message, say);
  if (response.headersSent) {
    say(answer);
    return response.end();
  }
  const code = status(answer, message, session !== undefined);
  response.writeHead(code, { ...headers, 'content-type': 'application/json' });
  return response.end(JSON.stringify(answer));
}

const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (data) => { body += data; });
  request.on('end', () => serve(request, response, body).catch((why) => {
    console.error(why);
    response.destroy();
  }));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
// The fronts end with their stdin, which ends with this process.
process.stdin.on('end', () => process.exit(0)).resume();
