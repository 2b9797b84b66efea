import { safeLine } from '../../../../core/text/safe-text.ts';
import { shellQuote } from '../../../../lib/text.ts';
import { parseDuration, parseSize } from '../../../../lib/units.ts';
import { interpolate } from './interpolate.ts';
import type { YamlValue } from './read-yaml.ts';
import { splitWords } from './split-words.ts';

/** What a compose file says about one service, in the terms of compose. */
export interface ComposeService {
  name: string;
  line: number;
  image: string;
  env: Record<string, string>;
  /** Words. */
  command?: string[];
  /** A shell command. */
  ready?: string;
  /** After this time in ms, compose calls it unhealthy. */
  readyMs?: number;
  memory?: string;
  cpus?: number;
  /** Paths. */
  tmpfs: string[];
  /** Paths of volumes, with a name or without. */
  volumes: string[];
  ports: number[];
  aliases: string[];
}

export interface Remark {
  line: number;
  says: string;
}

const MAX_ENTRIES = 200;
const MAX_REMARKS = 20;
const SEALED = 'every service is sealed in the same way';
const NO_FILES = 'a service sees no files of this machine';
const NO_NETWORK = 'a service has no network';

type Handler = (reader: ServiceReader, value: YamlValue) => void;

/** Keys that change nothing that tests see of a service. */
const UNUSED = `
  annotations attach blkio_config cap_drop cpu_count cpu_percent cpu_shares cpuset develop domainname hostname
  init labels logging mac_address mem_reservation mem_swappiness memswap_limit oom_score_adj pids_limit platform
  profiles pull_policy read_only restart scale stdin_open stop_grace_period stop_signal tty
`
  .trim()
  .split(/\s+/);

/** Keys without which a service may work, and why they are not used. */
const NOTED: Record<string, string> = {
  cap_add: 'a service has no capabilities',
  configs: NO_FILES,
  depends_on: 'services start at the same time',
  dns: NO_NETWORK,
  extra_hosts: NO_NETWORK,
  group_add: 'halo chooses its user',
  links: NO_NETWORK,
  secrets: NO_FILES,
  security_opt: SEALED,
  shm_size: 'it is 128 MiB',
  sysctls: SEALED,
  ulimits: SEALED,
  user: 'halo chooses its user',
  working_dir: 'it is that of the image',
};

/** Keys without which a service does something else, and what to do. */
const REFUSED: Record<string, string> = {
  devices: SEALED,
  entrypoint: 'that of the image runs; give it a command',
  env_file: 'halo reads no files of variables; write them below environment',
  extends: 'halo does not combine services; write its settings here',
  ipc: SEALED,
  network_mode: SEALED,
  pid: SEALED,
  privileged: SEALED,
  runtime: SEALED,
  userns_mode: SEALED,
  volumes_from: 'every service has data of its own',
};

const HANDLERS: Record<string, Handler> = {
  image: (reader, value) => {
    const image = reader.text(value, 'image');
    if (image === undefined) return;
    if (/^[\w][\w.:/@-]{0,254}$/.test(image)) reader.found.image = image;
    else reader.problem(value, `image: ${quote(image)} is not the name of an image`);
  },
  container_name: (reader, value) => reader.addAlias(value),
  environment: (reader, value) => reader.readEnv(value),
  command: (reader, value) => {
    const words = reader.words(value, 'command');
    if (words !== undefined && words.length > 0) reader.found.command = words;
  },
  healthcheck: (reader, value) => reader.readHealth(value),
  mem_limit: (reader, value) => reader.readMemory(value, 'mem_limit'),
  cpus: (reader, value) => reader.readCpus(value, 'cpus'),
  deploy: (reader, value) => {
    const { memory, cpus } = membersOf(value, 'resources', 'limits');
    if (memory !== undefined) reader.readMemory(memory, 'deploy.resources.limits.memory');
    if (cpus !== undefined) reader.readCpus(cpus, 'deploy.resources.limits.cpus');
  },
  tmpfs: (reader, value) => {
    for (const each of value.kind === 'list' ? value.items : [value])
      reader.addFolder(each, 'tmpfs', reader.text(each, 'tmpfs'));
  },
  ports: (reader, value) => reader.items(value, 'ports').forEach((each) => reader.readPort(each)),
  expose: (reader, value) => reader.items(value, 'expose').forEach((each) => reader.readPort(each)),
  volumes: (reader, value) => reader.items(value, 'volumes').forEach((each) => reader.readVolume(each)),
  networks: (reader, value) => {
    if (value.kind !== 'map') return;
    for (const network of value.entries.values()) {
      const { aliases } = membersOf(network);
      if (aliases?.kind === 'list') aliases.items.forEach((each) => reader.addAlias(each));
    }
  },
};

/** The members of a map at this place; none if there is no map. */
function membersOf(value: YamlValue | undefined, ...path: string[]): Record<string, YamlValue | undefined> {
  const at = path.reduce<YamlValue | undefined>(
    (each, key) => (each?.kind === 'map' ? each.entries.get(key) : undefined),
    value,
  );
  return at?.kind === 'map' ? Object.fromEntries(at.entries) : {};
}

/** Where remarks go. */
export class Remarks {
  readonly notes: Remark[] = [];
  readonly problems: Remark[] = [];

  note({ line }: { line: number }, says: string): void {
    if (this.notes.length < MAX_REMARKS) this.notes.push({ line, says });
  }

  problem({ line }: { line: number }, says: string): void {
    if (this.problems.length < MAX_REMARKS) this.problems.push({ line, says });
  }
}

/** Reads the keys of one service. What is wrong goes to its remarks. */
export class ServiceReader {
  readonly found: Omit<ComposeService, 'image'> & { image?: string };

  readonly #remarks: Remarks;

  constructor(name: string, line: number, remarks: Remarks) {
    this.#remarks = remarks;
    this.found = { name, line, env: {}, tmpfs: [], volumes: [], ports: [], aliases: [] };
  }

  note(at: { line: number }, says: string): void {
    this.#remarks.note(at, `services.${this.found.name}.${says}`);
  }

  problem(at: { line: number }, says: string): void {
    this.#remarks.problem(at, `services.${this.found.name}.${says}`);
  }

  readKey(key: string, value: YamlValue): void {
    const handler = Object.hasOwn(HANDLERS, key) ? HANDLERS[key] : undefined;
    if (value.kind === 'text' && value.plain === 'null') return;
    if (handler !== undefined) return handler(this, value);
    if (UNUSED.includes(key) || key.startsWith('x-') || isOff(value)) return;
    if (Object.hasOwn(REFUSED, key)) this.problem(value, `${key}: is not supported: ${REFUSED[key]}`);
    else if (Object.hasOwn(NOTED, key)) this.note(value, `${key}: is not used: ${NOTED[key]}`);
    else this.note(value, `${safe(key)}: is not a key that halo knows`);
  }

  /** The text of a value without its variables; undefined if it has none, which is a problem. */
  text(value: YamlValue, key: string): string | undefined {
    if (value.kind !== 'text') {
      this.problem(value, `${key}: must be a text`);
      return undefined;
    }
    const done = interpolate(value.text);
    if ('text' in done) {
      if (!done.text.includes('\0')) return done.text;
      this.problem(value, `${key}: must not contain a NUL character`);
      return undefined;
    }
    const name = safe(done.missing);
    this.problem(
      value,
      /^\w+$/.test(name)
        ? `${key}: the variable ${name} has no value here, because halo reads none of this machine; write the value, or \${${name}:-value}`
        : `${key}: ${quote(name)} is not a variable; write $$ for a dollar sign`,
    );
    return undefined;
  }

  items(value: YamlValue, key: string): YamlValue[] {
    if (value.kind === 'list' && value.items.length <= MAX_ENTRIES) return value.items;
    this.problem(value, `${key}: must be a list of at most ${MAX_ENTRIES} entries`);
    return [];
  }

  texts(value: YamlValue, key: string): string[] {
    return this.items(value, key).flatMap((item) => this.text(item, key) ?? []);
  }

  words(value: YamlValue, key: string): string[] | undefined {
    if (value.kind === 'list') return this.texts(value, key);
    const line = this.text(value, key);
    const words = line === undefined ? [] : splitWords(line);
    if (words === undefined) this.problem(value, `${key}: a quote is not closed`);
    return line === undefined ? undefined : words;
  }

  readEnv(value: YamlValue): void {
    const assignments =
      value.kind === 'map'
        ? [...value.entries].map(([name, member]) => ({ name, member, at: member }))
        : value.kind === 'list'
          ? value.items.map((item) => this.#assignmentOf(item))
          : undefined;
    if (assignments === undefined) return this.problem(value, 'environment: must be a map or a list');
    if (assignments.length > MAX_ENTRIES) return this.problem(value, `environment: more than ${MAX_ENTRIES} variables`);
    for (const { name, member, at } of assignments) {
      if (!/^[A-Za-z_][\w.-]*$/.test(name))
        this.problem(at, `environment: ${quote(name)} is not the name of a variable`);
      else if (member === undefined || (member.kind === 'text' && member.plain === 'null'))
        this.note(at, `environment: ${name} has no value here, and is left out`);
      else {
        const text = this.text(member, `environment.${name}`);
        if (text !== undefined) this.found.env[name] = text;
      }
    }
  }

  /** `NAME=value` */
  #assignmentOf(item: YamlValue): { name: string; member: YamlValue | undefined; at: YamlValue } {
    const text = item.kind === 'text' ? item.text : '';
    const split = text.indexOf('=');
    if (split < 0) return { name: text, member: undefined, at: item };
    const member: YamlValue = { line: item.line, kind: 'text', plain: 'string', text: text.slice(split + 1) };
    return { name: text.slice(0, split), member, at: item };
  }

  readHealth(value: YamlValue): void {
    const { test, disable, interval, timeout, retries, start_period: start } = membersOf(value);
    if (value.kind !== 'map') return this.problem(value, 'healthcheck: must be a map');
    if (test === undefined || (disable?.kind === 'text' && disable.text === 'true')) return;
    const written =
      test.kind === 'list'
        ? this.texts(test, 'healthcheck.test')
        : ['CMD-SHELL', this.text(test, 'healthcheck.test') ?? ''];
    const [form = '', ...words] = written;
    if (form === 'NONE') return;
    if (!['CMD', 'CMD-SHELL'].includes(form) || words.join('') === '')
      return this.problem(test, 'healthcheck.test: must begin with CMD, CMD-SHELL or NONE, and have a command');
    this.found.ready = form === 'CMD' ? words.map(shellWord).join(' ') : words.join(' ');
    const ms = (time: YamlValue | undefined, preset: number) => (time === undefined ? preset : this.#timeOf(time));
    const tries = retries === undefined ? 3 : Number(this.text(retries, 'healthcheck.retries'));
    if (!(Number.isInteger(tries) && tries > 0 && tries <= 10_000))
      return this.problem(retries ?? value, 'healthcheck.retries: must be a whole number from 1 to 10000');
    this.found.readyMs = ms(start, 0) + tries * (ms(interval, 30_000) + ms(timeout, 30_000));
  }

  #timeOf(value: YamlValue): number {
    const text = this.text(value, 'healthcheck');
    const ms = text === undefined ? 0 : parseDuration(text);
    if (ms === undefined) this.problem(value, `healthcheck: ${quote(text ?? '')} is not a time like 5s`);
    return ms ?? 0;
  }

  readMemory(value: YamlValue, key: string): void {
    const text = this.text(value, key);
    if (text === undefined) return;
    const memory = /^\d+$/.test(text) ? `${text}b` : text;
    if (parseSize(memory) === undefined) this.problem(value, `${key}: ${quote(text)} is not a size like 512m`);
    else this.found.memory = memory;
  }

  readCpus(value: YamlValue, key: string): void {
    const cpus = Number(this.text(value, key) ?? '1');
    if (cpus > 0) this.found.cpus = cpus;
    else this.problem(value, `${key}: must be a number`);
  }

  /** A name that depends on the machine, or that no program can ask for, is not one. */
  addAlias(value: YamlValue): void {
    const done = value.kind === 'text' ? interpolate(value.text) : { missing: '' };
    if ('text' in done && /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(done.text))
      this.found.aliases.push(done.text);
  }

  addFolder(at: YamlValue, kind: 'tmpfs' | 'volumes', text: string | undefined): void {
    if (text === undefined) return;
    // Options are after a colon.
    const [path = ''] = text.split(':');
    if (path.startsWith('/')) this.found[kind].push(path.replace(/(?<=.)\/+$/, ''));
    else this.problem(at, `${kind}: ${quote(path)} is not an absolute path`);
  }

  /** `5432`, `5433:5432`, `127.0.0.1:5433:5432/tcp`, or a map with target and published. */
  readPort(value: YamlValue): void {
    const { target, published: outer, protocol: by } = membersOf(value);
    const parts = [outer, target].map((each) => (each === undefined ? '' : (this.text(each, 'ports') ?? '')));
    const text =
      value.kind === 'map'
        ? `${parts.filter((part) => part !== '').join(':')}/${by?.kind === 'text' ? by.text : 'tcp'}`
        : this.text(value, 'ports');
    if (text === undefined) return;
    const [, published = '', port = '', protocol = 'tcp'] =
      /^(?:(?:.*:)?(\d*):)?(\d{1,5})(?:\/(\w+))?$/.exec(text) ?? [];
    if (protocol !== 'tcp') return this.note(value, `ports: ${quote(text)} is not used: only TCP is`);
    if (port === '') return this.problem(value, `ports: ${quote(text)} is not one port, like 5432 or 5433:5432`);
    this.found.ports.push(Number(port));
    if (published !== '' && published !== port)
      this.note(value, `ports: ${published} is not used: tests reach the service at port ${port}`);
  }

  /** Volumes with a name, or without one, are empty at every start. */
  readVolume(value: YamlValue): void {
    const { type, source, target } = membersOf(value);
    if (value.kind === 'map') {
      const kind = type === undefined ? 'volume' : this.text(type, 'volumes');
      if (kind === 'volume' || kind === 'tmpfs')
        return this.addFolder(
          value,
          kind === 'tmpfs' ? 'tmpfs' : 'volumes',
          target === undefined ? '' : this.text(target, 'volumes'),
        );
      const path = source?.kind === 'text' ? source.text : '';
      return this.note(value, `volumes: ${quote(path)} is not mounted: ${NO_FILES}`);
    }
    const written = value.kind === 'text' ? value.text : '';
    const split = written.indexOf(':');
    if (split < 0) return this.addFolder(value, 'volumes', this.text(value, 'volumes'));
    const from = written.slice(0, split);
    if (!/^[A-Za-z0-9][\w.-]*$/.test(from))
      return this.note(value, `volumes: ${quote(from)} is not mounted: ${NO_FILES}`);
    this.addFolder(value, 'volumes', written.slice(split + 1));
  }
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word);
}

function isOff(value: YamlValue): boolean {
  return value.kind === 'text' && (value.text === 'false' || value.text === '');
}

/** What a file contains, for a message. */
function safe(text: string): string {
  return safeLine(text, 50);
}

/** The same in quotes. */
export function quote(text: string): string {
  return JSON.stringify(safe(text));
}
