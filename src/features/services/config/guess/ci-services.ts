import { readYaml, type YamlMap, type YamlValue } from '../compose/read-yaml.ts';
import { splitWords } from '../compose/split-words.ts';

/** A service that a file of the repository names. */
export interface FoundService {
  /** Under this name, other programs reach it. */
  name: string;
  image: string;
  /** The file that names it. */
  source: string;
  env: Record<string, string>;
  command?: string[];
  /** A shell command that exits 0 when it is ready. */
  ready?: string;
  ports: { port: number; published: number }[];
}

/** What a CI file says about the surroundings of tests. */
export interface FoundServices {
  services: FoundService[];
  /** Variables of the commands beside them. */
  env: Record<string, string>;
  /** What is not used, a sentence each. */
  notes: string[];
}

const IMAGE = /^[\w][\w.:/@-]{0,200}$/;
const NAME = /^[A-Za-z0-9][\w.-]{0,62}$/;

/** Services and variables of the Linux jobs of a GitHub workflow that have services. */
export function servicesOfWorkflow(path: string, text: string): FoundServices {
  const found: FoundServices = { services: [], env: {}, notes: [] };
  const workflow = mapOf(parse(text));
  const triggers = workflow.get('on');
  const names = triggers === undefined ? [] : [...mapOf(triggers).keys(), ...textsOf(triggers)];
  if (!names.includes('push') && !names.includes('pull_request')) return found;
  for (const value of mapOf(workflow.get('jobs')).values()) {
    const job = mapOf(value);
    const services = mapOf(job.get('services'));
    if (services.size === 0 || /windows|macos/i.test(JSON.stringify(job.get('runs-on') ?? ''))) continue;
    const matrix = mapOf(mapOf(job.get('strategy')).get('matrix'));
    for (const [name, member] of services) addService(found, path, { name, member, matrix });
    const steps = listOf(job.get('steps')).filter((step) => mapOf(step).has('run'));
    const variables = [workflow, job, ...steps.map(mapOf)].flatMap((each) => [...mapOf(each.get('env'))]);
    for (const [name, member] of variables) {
      const value = member.kind === 'text' ? withPorts(member.text, found.services) : undefined;
      if (value !== undefined && found.env[name] === undefined) found.env[name] = value;
    }
  }
  return found;
}

function addService(
  found: FoundServices,
  path: string,
  { name, member, matrix }: { name: string; member: YamlValue; matrix: ReadonlyMap<string, YamlValue> },
): void {
  const service = mapOf(member);
  const written = member.kind === 'text' ? member.text : textOf(service.get('image'));
  const image = written?.replace(
    /\$\{\{\s*matrix\.([\w-]+)\s*\}\}/g,
    (_, key: string) => textsOf(matrix.get(key)).at(-1) ?? '',
  );
  if (image === undefined || !IMAGE.test(image) || !NAME.test(name)) {
    found.notes.push(`${path}: the image of the service ${name.slice(0, 50)} is not written out, and it is left out`);
    return;
  }
  const env: Record<string, string> = {};
  for (const [key, value] of mapOf(service.get('env'))) {
    const text = value.kind === 'text' ? value.text : undefined;
    if (text === undefined || text.includes('${{'))
      found.notes.push(
        `${path}: ${key.slice(0, 50)} of the service ${name} has no value in the file; set it in halo.toml`,
      );
    else env[key] = text;
  }
  const options = splitWords(textOf(service.get('options')) ?? '') ?? [];
  const health = optionOf(options, '--health-cmd');
  found.services.push({
    name,
    image,
    source: path,
    env,
    ports: textsOf(service.get('ports')).flatMap(portOf),
    ...(health !== undefined && { ready: health }),
  });
}

/** `--name value` or `--name=value` */
function optionOf(words: readonly string[], name: string): string | undefined {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  const word = words[at];
  return word === undefined ? undefined : word === name ? words[at + 1] : word.slice(name.length + 1);
}

function portOf(text: string): { port: number; published: number }[] {
  const [, published, port] = /^(?:(\d+):)?(\d+)(?:\/tcp)?$/.exec(text) ?? [];
  return port === undefined ? [] : [{ port: Number(port), published: Number(published ?? port) }];
}

/** A variable that names the port of a service, as on a runner; undefined if it has another expression. */
function withPorts(text: string, services: readonly FoundService[]): string | undefined {
  const value = text.replace(
    /\$\{\{\s*job\.services\.([\w-]+)\.ports\[['"]?(\d+)['"]?\]\s*\}\}/g,
    (whole, name: string, port: string) => {
      const known = services.find((each) => each.name === name)?.ports.find((each) => each.port === Number(port));
      return known === undefined ? whole : String(known.published);
    },
  );
  return value.includes('${{') ? undefined : value;
}

/** Keys of a GitLab CI file that are not jobs. */
const NO_JOBS = [
  'default',
  'include',
  'stages',
  'variables',
  'workflow',
  'image',
  'services',
  'cache',
  'before_script',
  'after_script',
  'pages',
];
/** Variables of jobs that images of services read. */
const OF_IMAGES = /^(?:POSTGRES|MYSQL|MARIADB|REDIS|MONGO|RABBITMQ)_/;

/** Services and variables of the jobs of a GitLab CI file. GitLab gives the variables of a job to its services. */
export function servicesOfGitlab(path: string, text: string): FoundServices {
  const found: FoundServices = { services: [], env: {}, notes: [] };
  const file = mapOf(parse(text));
  const jobs = [...file]
    .filter(([name, job]) => !NO_JOBS.includes(name) && mapOf(job).has('script'))
    .map(([, job]) => mapOf(job));
  const scopes = [file, mapOf(file.get('default')), ...jobs];
  const variables = new Map<string, string>();
  for (const scope of scopes)
    for (const [name, value] of mapOf(scope.get('variables'))) {
      const plain = textOf(value) ?? textOf(mapOf(value).get('value'));
      if (plain !== undefined && !variables.has(name)) variables.set(name, plain);
    }
  const expand = (value: string) =>
    value.replace(
      /\$(?:\{(\w+)\}|(\w+))/g,
      (whole, braced?: string, plain?: string) => variables.get(braced ?? plain ?? '') ?? whole,
    );
  const values = [...variables]
    .map(([name, value]) => [name, expand(value)] as const)
    .filter(([, value]) => !/\$\{?\w/.test(value));
  const env = Object.fromEntries(values.filter(([name]) => OF_IMAGES.test(name)));
  for (const member of scopes.flatMap((scope) => listOf(scope.get('services')))) {
    const service = mapOf(member);
    const image = textOf(member) ?? textOf(service.get('name')) ?? '';
    const [withoutTag = ''] = image.split(/[:@]/);
    const name = textOf(service.get('alias'))?.split(/[ ,]+/)[0] ?? withoutTag.replaceAll('/', '-');
    if (!IMAGE.test(image) || !NAME.test(name)) {
      found.notes.push(`${path}: the image of a service is not written out, and it is left out`);
      continue;
    }
    if (found.services.some((each) => each.name === name)) continue;
    const command = service.has('command') ? textsOf(service.get('command')) : undefined;
    found.services.push({ name, image, source: path, env, ports: [], ...(command !== undefined && { command }) });
  }
  // Other variables of a file without services say nothing about them.
  return found.services.length === 0 ? found : { ...found, env: Object.fromEntries(values) };
}

function parse(text: string): YamlValue | undefined {
  const read = readYaml(text);
  return 'says' in read ? undefined : read;
}

function mapOf(value: YamlValue | undefined): YamlMap['entries'] {
  return value?.kind === 'map' ? value.entries : new Map<string, YamlValue>();
}

function listOf(value: YamlValue | undefined): YamlValue[] {
  return value?.kind === 'list' ? value.items : [];
}

function textOf(value: YamlValue | undefined): string | undefined {
  return value?.kind === 'text' && value.plain !== 'null' ? value.text : undefined;
}

/** The texts of a list, or one text. */
function textsOf(value: YamlValue | undefined): string[] {
  return (value?.kind === 'list' ? value.items : [value]).flatMap((each) => textOf(each) ?? []);
}
