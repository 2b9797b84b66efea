const SHOP = `import os
import pymysql

def connect():
    return pymysql.connect(
        host=os.environ["DB_HOST"],
        user=os.environ["DB_USER"],
        password=os.environ["DB_PASSWORD"],
        database=os.environ["DB_NAME"],
        autocommit=True,
    )

def migrate(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(100) NOT NULL)")

def add(connection, text):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO notes (text) VALUES (%s)", (text,))

def texts(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT text FROM notes ORDER BY id")
        return [text for (text,) in cursor.fetchall()]
`;

const TEST = `import shop

def test_a_note_is_kept():
    connection = shop.connect()
    shop.migrate(connection)
    shop.add(connection, "milk")
    assert shop.texts(connection) == ["milk"]
`;

const COMPOSE = `services:
  web:
    build: .
    ports:
      - "8000:8000"
    environment:
      DB_HOST: db
      DB_USER: shop
      DB_PASSWORD: secret
      DB_NAME: shop
    depends_on:
      db:
        condition: service_healthy
  db:
    image: halo.test/mariadb:10.11
    restart: unless-stopped
    command: --character-set-server=utf8mb4 --max-connections=50
    environment:
      MARIADB_DATABASE: shop
      MARIADB_USER: shop
      MARIADB_PASSWORD: secret
      MARIADB_ROOT_PASSWORD: root
    volumes:
      - db:/var/lib/mysql
    healthcheck:
      test: ["CMD", "mariadb-admin", "ping", "-h", "localhost", "-uroot", "-proot"]
      interval: 5s
      retries: 20
volumes:
  db:
`;

/** A Python project whose test wants the MariaDB of its compose file, and packages of PyPI. */
export const PYTHON_PROJECT = {
  'requirements.txt': 'PyMySQL\npytest\n',
  'shop.py': SHOP,
  'test_shop.py': TEST,
  'compose.yaml': COMPOSE,
  Dockerfile:
    'FROM python:3.11\nCOPY . /app\nRUN pip install -r /app/requirements.txt\nCMD ["python", "/app/shop.py"]\n',
  '.gitignore': '.venv/\n__pycache__/\n.pytest_cache/\n',
};

/** The packages of the project. */
export const PACKAGES = ['PyMySQL', 'pytest'];
