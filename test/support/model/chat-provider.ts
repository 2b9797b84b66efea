import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A provider of the Chat Completions API that answers as a function says. */
export interface ChatProvider {
  url: string;
  /** When each request came, in ms. */
  times: number[];
  /** The models that they asked for. */
  models: string[];
  close(): void;
}

/** `answer` gets the response, the number of requests so far, and the model. */
export async function startChatProvider(
  answer: (res: ServerResponse, count: number, model: string) => void,
): Promise<ChatProvider> {
  const [times, models]: [number[], string[]] = [[], []];
  const server: Server = createServer((req, res) => {
    void text(req).then((body) => {
      const { model } = JSON.parse(body) as { model: string };
      models.push(model);
      answer(res, times.push(Date.now()), model);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    times,
    models,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A completion without text that used these tokens. */
export function complete(res: ServerResponse, prompt = 1, completion = 1): void {
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } }));
}

/** Settings of a `command` agent that sends requests to the model at `url`, and fails if one of them is refused. */
export function askingAgent(url: string, requests: number): string[] {
  const program = `
const body = JSON.stringify({ model: process.env.HALO_MODEL, max_tokens: 2000, messages: [{ role: 'user', content: 'hello' }] });
const headers = { authorization: 'Bearer ' + process.env.HALO_MODEL_KEY };
(async () => {
  for (let nth = 0; nth < ${requests}; nth++) {
    const { status } = await fetch(process.env.HALO_MODEL_URL + '/chat/completions', { method: 'POST', headers, body });
    if (status !== 200) process.exit(1);
  }
  require('fs').appendFileSync('work.txt', 'done\\n');
  console.log(JSON.stringify({ status: 'ok', summary: 'Did it.' }));
})();`;
  const encoded = Buffer.from(program).toString('base64');
  return [
    'agent=command',
    `agents.command.run=${JSON.stringify(`echo ${encoded} | base64 -d > /tmp/a.js && node /tmp/a.js`)}`,
    'agents.command.model=openai',
    `model.base_url=${url}`,
    'model.key_env=HALO_TEST_KEY',
    'model.name=m',
    'gates=["true"]',
    'retry.attempts=1',
    'retry.provider.retries=0',
    'breaker.cooldown="10ms"',
  ];
}
