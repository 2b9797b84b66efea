import { describe, expect, test } from 'vitest';
import { OK } from '../../support/halo/halo.ts';
import { cloneProject } from '../../support/services/cloned-project.ts';
import { POSTGRES_CLIENT } from '../../support/services/postgres-client.ts';
import { REDIS_CLIENT } from '../../support/services/redis-client.ts';
import { ensureServiceImage, type TestService } from '../../support/services/service-images.ts';

/** `python3 sql.py STATEMENT...` for a MariaDB server that lets root in without a password: prints the first column of each row. */
const MARIADB_CLIENT = `import socket, sys
connection = socket.create_connection(('127.0.0.1', 3306))
def packet():
    def take(size):
        data = b''
        while len(data) < size: data += connection.recv(size - len(data)) or sys.exit('the server closed the connection')
        return data
    head = take(4)
    return take(int.from_bytes(head[:3], 'little'))
def send(nth, body): connection.sendall(len(body).to_bytes(3, 'little') + bytes([nth]) + body)
def checked(body): return sys.exit(body[9:].decode()) if body[0] == 0xff else body
packet()
send(1, (0x8200 | 0x80000).to_bytes(4, 'little') + bytes(4) + bytes([45]) + bytes(23) + b'root\\0' + b'\\0' + b'mysql_native_password\\0')
checked(packet())
for statement in sys.argv[1:]:
    send(0, b'\\x03' + statement.encode())
    columns = checked(packet())[0]
    if columns == 0: continue
    for _ in range(columns + 1): packet()
    while (row := packet())[0] != 0xfe: print(row[1:1 + row[0]].decode())
`;

interface Database {
  client: string;
  env: string;
  /** Makes the data, reads it as one line, and destroys it. */
  make: string[];
  read: string;
  destroy: string;
}

const TABLE = 'CREATE TABLE books (title text)';
const DATABASES: Record<TestService, Database> = {
  postgres: {
    client: POSTGRES_CLIENT,
    env: 'POSTGRES_HOST_AUTH_METHOD = "trust"',
    make: [TABLE, 'INSERT INTO books SELECT 1 FROM generate_series(1, 70)'],
    read: 'SELECT count(*) FROM books',
    destroy: 'DROP TABLE books',
  },
  mariadb: {
    client: MARIADB_CLIENT,
    env: 'MARIADB_ALLOW_EMPTY_ROOT_PASSWORD = "1"',
    make: [
      'CREATE DATABASE shop',
      `${TABLE.replace('books', 'shop.books')}`,
      'INSERT INTO shop.books SELECT seq FROM mysql.seq_1_to_70',
    ],
    read: 'SELECT count(*) FROM shop.books',
    destroy: 'DROP DATABASE shop',
  },
  redis: { client: REDIS_CLIENT, env: '', make: ['SET books 70'], read: 'INCRBY books 0', destroy: 'FLUSHALL' },
};

describe.each(['overlay', 'copy'] as const)('data that is prepared once, as %s', (mode) => {
  test.each(Object.keys(DATABASES) as TestService[])(
    'is that of each gate alone, with %s',
    async (service) => {
      const image = await ensureServiceImage(service);
      const { client, env, make, read, destroy } = DATABASES[service];
      const sql = (...statements: string[]) => `python3 sql.py ${statements.map((each) => `'${each}'`).join(' ')}`;
      const gate = `test "$(${sql(read)})" = 70 && ${sql(destroy)}`;
      const fields = [`image = "${image}"`, `env = { ${env} }`, `prepare = [${JSON.stringify(sql(...make))}]`];
      const settings = [
        `services.db={ ${fields.join(', ')}, prepare_files = ["sql.py"], for = ["gates"] }`,
        `gates=${JSON.stringify([gate, gate])}`,
        'tests.baseline="never"',
        `snapshot.mode="${mode}"`,
      ];
      const { run } = cloneProject({ 'sql.py': client });
      const ended = await run([{ id: 'A' }, { id: 'B' }], `date +%N > $(date +%N).txt; ${OK}`, settings);
      expect(ended.code, ended.stdout + ended.stderr).toBe(0);
      expect(ended.stdout.match(/db prepared/g)).toHaveLength(1);
    },
    900_000,
  );
});
