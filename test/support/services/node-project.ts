/** Writes and reads notes, as an application does and as a person by hand: `node notes.js add TEXT`, `node notes.js list`. */
const NOTES = `const { Client } = require('pg');

async function query(text, values) {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

exports.add = (text) => query('INSERT INTO notes (text) VALUES ($1)', [text]);
exports.list = async () => (await query('SELECT text FROM notes ORDER BY id')).map((row) => row.text);

if (require.main === module) {
  const [name, text] = process.argv.slice(2);
  exports[name](text).then((rows) => console.log(rows.join('\\n')));
}
`;

const TEST = `const assert = require('node:assert');
const { test } = require('node:test');
const notes = require('./notes.js');

test('a note is kept', async () => {
  assert.deepStrictEqual(await notes.list(), []);
  await notes.add('milk');
  assert.deepStrictEqual(await notes.list(), ['milk']);
});
`;

const WORKFLOW = `name: test
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    services:
      postgres:
        image: halo.test/postgres:15
        env:
          POSTGRES_PASSWORD: postgres
          POSTGRES_DB: shop_test
        ports:
          - 5432:5432
        options: >-
          --health-cmd pg_isready
          --health-interval 10s
          --health-timeout 5s
          --health-retries 5
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: { node-version: 22 }
      - run: npm ci
      - run: npm test
        env:
          DATABASE_URL: postgres://postgres:postgres@localhost:5432/shop_test
`;

const MANIFEST = {
  name: 'shop',
  private: true,
  scripts: { migrate: 'node-pg-migrate up', pretest: 'npm run migrate', test: 'node --test' },
  dependencies: { 'node-pg-migrate': '9.0.0', pg: '8.23.1' },
};

/** A Node project whose tests want an empty PostgreSQL with the tables of its migrations, as its workflow starts it. */
export const NODE_PROJECT = {
  'package.json': JSON.stringify(MANIFEST, null, 2),
  '.npmrc': 'omit-lockfile-registry-resolved=true\n',
  '.gitignore': 'node_modules/\n',
  'migrations/1700000000000_notes.sql':
    '-- Up Migration\nCREATE TABLE notes (id serial PRIMARY KEY, text text NOT NULL);\n\n-- Down Migration\nDROP TABLE notes;\n',
  'notes.js': NOTES,
  'notes.test.js': TEST,
  '.github/workflows/test.yml': WORKFLOW,
};
