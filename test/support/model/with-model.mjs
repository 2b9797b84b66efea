// Runs a program against a scripted model, inside a container without network:
//
//   node with-model.mjs '<turns as JSON>' <command> [<argument>...]
//
// `{url}` in an argument is the base URL of the model. Prints the output of the program, then a line of JSON with the
// requests that the model received.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startModelServer } from './model-server.ts';

const [turns, command, ...args] = process.argv.slice(2);
const server = await startModelServer({ turns: JSON.parse(turns) });
const words = args.map((word) => word.replaceAll('{url}', server.url));
const program = spawn(command, words, { stdio: ['ignore', 'inherit', 'inherit'] });
const [code] = await once(program, 'exit');
console.log(JSON.stringify(server.requests.map(({ body }) => JSON.parse(body))));
await server.close();
process.exitCode = code ?? 1;
