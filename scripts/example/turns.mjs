// What the model of the example says and does, story by story. A person wrote this; no model did.

const LOOK = 'cat AGENTS.md README.md && tail -n +1 src/*.js test/*.js';
const TEST = "npm test -- --test-reporter=tap | grep -E '^(not ok|# (pass|fail))'";
const CHECK = `${TEST} && npm run --silent check`;

const done = [
  { saying: 'I read the guide, the code and the tests first.', run: LOOK },
  {
    saying: 'The tests come first: what `done` does to the list, and what the command prints.',
    patch: `*** Begin Patch
*** Update File: test/list.test.js
@@
 import { test } from 'node:test';
-import { add, format } from '../src/list.js';
+import { add, done, format } from '../src/list.js';
@@
-test('todos are shown with their numbers', () => {
-  assert.equal(format([{ text: 'milk' }, { text: 'bread' }]), '1. milk\\n2. bread');
+test('a todo is marked as done by its number', () => {
+  const todos = [{ text: 'milk' }, { text: 'bread' }];
+  assert.deepEqual(done(todos, '2'), [{ text: 'milk' }, { text: 'bread', done: true }]);
+});
+
+test('a number that is not on the list is refused', () => {
+  for (const number of ['0', '2', '-1', '1.5', 'milk', '']) {
+    assert.throws(() => done([{ text: 'milk' }], number), { message: \`there is no todo \${number}\` });
+  }
+});
+
+test('todos are shown with their numbers and whether they are done', () => {
+  assert.equal(format([{ text: 'milk', done: true }, { text: 'bread' }]), '1. [x] milk\\n2. [ ] bread');
 });
*** Update File: test/cli.test.js
@@
-import { mkdtemp, rm } from 'node:fs/promises';
+import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
@@
 const CLI = new URL('../src/cli.js', import.meta.url).pathname;
 let dir;
+let file;
@@
   dir = await mkdtemp(join(tmpdir(), 'todo-'));
+  file = join(dir, 'todo.json');
 });
@@
-  const env = { ...process.env, TODO_FILE: join(dir, 'todo.json') };
+  const env = { ...process.env, TODO_FILE: file };
@@
   await todo('add', 'bake bread');
-  assert.equal(await todo('list'), '1. buy milk\\n2. bake bread\\n');
+  assert.equal(await todo('list'), '1. [ ] buy milk\\n2. [ ] bake bread\\n');
 });
 
 test('an empty list prints nothing', async () => {
   assert.equal(await todo('list'), '');
 });
 
+test('what was done is listed as done', async () => {
+  await todo('add', 'buy milk');
+  await todo('add', 'bake bread');
+  assert.equal(await todo('done', '1'), '');
+  assert.equal(await todo('list'), '1. [x] buy milk\\n2. [ ] bake bread\\n');
+});
+
+test('a number that is not on the list fails and changes nothing', async () => {
+  await todo('add', 'buy milk');
+  const before = await readFile(file, 'utf8');
+  await assert.rejects(todo('done', '2'), { code: 1, stderr: 'there is no todo 2\\n' });
+  assert.equal(await readFile(file, 'utf8'), before);
+});
+
+test('the todos of an older list are open', async () => {
+  await writeFile(file, '[{ "text": "buy milk" }]');
+  assert.equal(await todo('list'), '1. [ ] buy milk\\n');
+});
+
 test('an unknown command fails and shows the usage', async () => {
-  await assert.rejects(todo('fly'), /Usage:/);
+  await assert.rejects(todo('fly'), /Usage:[^]*todo done <number>/);
 });
*** End Patch
`,
  },
  { run: TEST },
  {
    saying:
      'They fail for the right reason. Now the code. A todo without `done` is open, so older lists need no change.',
    patch: `*** Begin Patch
*** Update File: src/list.js
@@
-// The list itself: pure functions from list to list. A todo is { text }.
+// The list itself: pure functions from list to list. A todo is { text }, and { text, done: true } when it is done.
@@
+export function done(todos, number) {
+  const index = Number(number) - 1;
+  if (!(index in todos)) throw new Error(\`there is no todo \${number}\`);
+  return todos.with(index, { ...todos[index], done: true });
+}
+
 export function format(todos) {
-  return todos.map((todo, index) => \`\${index + 1}. \${todo.text}\`).join('\\n');
+  return todos.map((todo, index) => \`\${index + 1}. [\${todo.done ? 'x' : ' '}] \${todo.text}\`).join('\\n');
 }
*** Update File: src/cli.js
@@
-import { add, format } from './list.js';
+import { add, done, format } from './list.js';
 
 const USAGE = \`Usage:
-  todo add <text>   add a todo
-  todo list         show all todos\`;
+  todo add <text>      add a todo
+  todo done <number>   mark a todo as done
+  todo list            show all todos\`;
@@
       return save(file, add(todos, args.join(' ')));
+    case 'done':
+      return save(file, done(todos, args.join(' ')));
     case 'list':
*** Update File: README.md
@@
-    todo add <text>   add a todo
-    todo list         show all todos
+    todo add <text>      add a todo
+    todo done <number>   mark a todo as done
+    todo list            show all todos
*** End Patch
`,
  },
  { run: CHECK },
  {
    json: {
      status: 'ok',
      summary: 'Added `todo done <number>`, and `todo list` shows which todos are done. Older lists load as they are.',
    },
  },
];

const open = [
  { saying: 'I read the guide, the code and the tests first.', run: LOOK },
  {
    saying: 'Each todo keeps its number, so `format` leaves lines out instead of getting a shorter list.',
    patch: `*** Begin Patch
*** Update File: src/list.js
@@
-export function format(todos) {
-  return todos.map((todo, index) => \`\${index + 1}. [\${todo.done ? 'x' : ' '}] \${todo.text}\`).join('\\n');
+// One line per todo, with its number in the whole list, also when only the open ones are shown.
+export function format(todos, { openOnly = false } = {}) {
+  const lines = todos.map((todo, index) => \`\${index + 1}. [\${todo.done ? 'x' : ' '}] \${todo.text}\`);
+  return lines.filter((_, index) => !openOnly || !todos[index].done).join('\\n');
 }
*** Update File: src/cli.js
@@
-  todo list            show all todos\`;
+  todo list            show all todos
+  todo list --open     show the todos that are not done\`;
@@
-      return print(format(todos));
+      return print(format(todos, { openOnly: args.includes('--open') }));
*** Update File: README.md
@@
     todo list            show all todos
+    todo list --open     show the todos that are not done
*** Update File: test/list.test.js
@@
   assert.equal(format([{ text: 'milk', done: true }, { text: 'bread' }]), '1. [x] milk\\n2. [ ] bread');
 });
+
+test('open todos are shown with their numbers in the whole list', () => {
+  const todos = [{ text: 'milk', done: true }, { text: 'bread' }, { text: 'salt', done: true }, { text: 'jam' }];
+  assert.equal(format(todos, { openOnly: true }), '2. [ ] bread\\n4. [ ] jam');
+});
*** Update File: test/cli.test.js
@@
   assert.equal(await todo('list'), '1. [x] buy milk\\n2. [ ] bake bread\\n');
 });
+
+test('a list of what is open leaves out what is done, and its numbers work with done', async () => {
+  await todo('add', 'buy milk');
+  await todo('add', 'bake bread');
+  await todo('done', '1');
+  assert.equal(await todo('list', '--open'), '2. [ ] bake bread\\n');
+  await todo('done', '2');
+  assert.equal(await todo('list', '--open'), '');
+  assert.equal(await todo('list'), '1. [x] buy milk\\n2. [x] bake bread\\n');
+});
@@
-  await assert.rejects(todo('fly'), /Usage:[^]*todo done <number>/);
+  await assert.rejects(todo('fly'), /Usage:[^]*todo done <number>[^]*todo list --open/);
*** End Patch
`,
  },
  { run: CHECK },
  {
    json: {
      status: 'ok',
      summary: 'Added `todo list --open`: what is done is left out, and the numbers stay those of the whole list.',
    },
  },
];

const clear = [
  { saying: 'I read the guide, the code and the tests first.', run: LOOK },
  {
    saying: 'The list gets a `clear`; the command counts what went and saves only when something did.',
    patch: `*** Begin Patch
*** Update File: src/list.js
@@
+export function clear(todos) {
+  return todos.filter((todo) => !todo.done);
+}
+
 // One line per todo, with its number in the whole list, also when only the open ones are shown.
*** Update File: src/cli.js
@@
-import { add, done, format } from './list.js';
+import { add, clear, done, format } from './list.js';
@@
   todo add <text>      add a todo
+  todo clear           remove the todos that are done
@@
       return save(file, add(todos, args.join(' ')));
+    case 'clear':
+      return clearDone(file, todos);
     case 'done':
@@
+async function clearDone(file, todos) {
+  const open = clear(todos);
+  const removed = todos.length - open.length;
+  if (removed > 0) await save(file, open);
+  print(\`removed \${removed} \${removed === 1 ? 'todo' : 'todos'}\`);
+}
+
 function print(text) {
*** Update File: README.md
@@
     todo add <text>      add a todo
+    todo clear           remove the todos that are done
*** Update File: test/list.test.js
@@
-import { add, done, format } from '../src/list.js';
+import { add, clear, done, format } from '../src/list.js';
@@
+test('what is open stays in its order when the list is cleared', () => {
+  const todos = [{ text: 'milk', done: true }, { text: 'jam' }, { text: 'salt', done: true }, { text: 'bread' }];
+  assert.deepEqual(clear(todos), [{ text: 'jam' }, { text: 'bread' }]);
+});
+
 test('todos are shown with their numbers and whether they are done', () => {
*** Update File: test/cli.test.js
@@
+test('clearing removes what is done and says how much that was', async () => {
+  for (const text of ['buy milk', 'bake bread', 'eat']) await todo('add', text);
+  await todo('done', '1');
+  await todo('done', '3');
+  assert.equal(await todo('clear'), 'removed 2 todos\\n');
+  assert.equal(await todo('list'), '1. [ ] bake bread\\n');
+  await todo('done', '1');
+  assert.equal(await todo('clear'), 'removed 1 todo\\n');
+  assert.equal(await todo('list'), '');
+});
+
+test('clearing without a done todo changes nothing', async () => {
+  await writeFile(file, '[{"text":"buy milk"}]');
+  assert.equal(await todo('clear'), 'removed 0 todos\\n');
+  assert.equal(await readFile(file, 'utf8'), '[{"text":"buy milk"}]');
+});
+
 test('an unknown command fails and shows the usage', async () => {
-  await assert.rejects(todo('fly'), /Usage:[^]*todo done <number>[^]*todo list --open/);
+  await assert.rejects(todo('fly'), /Usage:[^]*todo clear[^]*todo done <number>[^]*todo list --open/);
 });
*** End Patch
`,
  },
  { run: CHECK },
  {
    json: {
      status: 'ok',
      summary:
        'Added `todo clear`: it removes what is done, says how many todos that were, and writes nothing when there are none.',
    },
  },
];

/** In the order of the stories in prd.json. */
export const TURNS = [...done, ...open, ...clear];
