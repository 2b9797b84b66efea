import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';

/** A request of halo, and how a stand-in of GitHub answers it. */
export interface GitHubExchange {
  method: string;
  /** Path and query. */
  url: string;
  /** The body of the request, parsed. */
  sent?: unknown;
  status: number;
  /** The body of the response, parsed; undefined if it has none. */
  body?: unknown;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: object;
}

type Content = Record<string, { schema: object }>;

interface Operation {
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required?: boolean; content: Content };
  responses: Record<string, { content?: Content } | { $ref: string }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

/** The part of GitHub's OpenAPI description that halo uses; `scripts/github-api.mjs` writes it. */
const FILE = new URL('../../forge/fixtures/github-api.json', import.meta.url);
const description = JSON.parse(readFileSync(FILE, 'utf8')) as Description;

/** Every operation can answer these, whether or not its description lists them. */
const ERRORS = [401, 403, 404, 410, 422, 429, 500, 502, 503];

/**
 * Finds what is wrong with an exchange by GitHub's own description: path, method, parameters, names and types of the request,
 * and status, types and required fields of the response. `isPartial`: the response may lack required fields, but has no
 * unknown ones.
 */
export function findGitHubFaults(exchange: GitHubExchange, { isPartial = false } = {}): string[] {
  const { method, url, sent, status, body } = exchange;
  const { pathname, searchParams } = new URL(url, 'https://api.github.com');
  // Not described: its language is GraphQL.
  if (pathname === '/graphql') return method === 'POST' ? [] : [`${method} ${pathname}: only POST`];
  const operation = findOperation(method, pathname);
  if (operation === undefined) return [`${method} ${pathname}: GitHub has no such operation, or it is not recorded`];
  const where = `${method} ${pathname}`;
  return [
    ...findQueryFaults(operation, searchParams).map((fault) => `${where}: query ${fault}`),
    ...findSentFaults(operation, sent).map((fault) => `${where}: request ${fault}`),
    ...findAnswerFaults(operation, { status, body, isPartial }).map((fault) => `${where}: response ${status} ${fault}`),
  ];
}

function findOperation(method: string, pathname: string): Operation | undefined {
  const names = pathname.split('/');
  const fits = (path: string) => {
    const parts = path.split('/');
    return parts.length === names.length && parts.every((part, at) => part.startsWith('{') || part === names[at]);
  };
  const [, found] = Object.entries(description.paths).find(([path]) => fits(path)) ?? [];
  return found?.[method.toLowerCase()];
}

function findQueryFaults({ parameters = [] }: Operation, query: URLSearchParams): string[] {
  const known = parameters.map((each) => resolve<Parameter>(each)).filter((each) => each.in === 'query');
  const missing = known.filter(({ name, required }) => required === true && !query.has(name));
  return [
    ...missing.map(({ name }) => `lacks ${name}`),
    ...[...query].flatMap(([name, text]) => {
      const schema = known.find((each) => each.name === name)?.schema;
      if (schema === undefined) return [`has the unknown parameter ${name}`];
      const { type } = resolve<{ type?: string }>(schema);
      const value =
        type === 'integer' || type === 'number' ? Number(text) : type === 'boolean' ? text === 'true' : text;
      return check(schema, value, 'request').map((fault) => `${name} ${fault}`);
    }),
  ];
}

function findSentFaults({ requestBody }: Operation, sent: unknown): string[] {
  const schema = requestBody?.content['application/json']?.schema;
  if (sent === undefined) return requestBody?.required === true ? ['has no body'] : [];
  return schema === undefined ? ['has a body'] : check(schema, sent, 'request');
}

function findAnswerFaults(
  { responses }: Operation,
  { status, body, isPartial }: { status: number; body: unknown; isPartial: boolean },
): string[] {
  if (status === 304) return [];
  const described = responses[status];
  if (described === undefined && !ERRORS.includes(status)) return ['is not described'];
  const basic = { $ref: '#/components/schemas/basic-error' };
  const content = described === undefined ? undefined : resolve<{ content?: Content }>(described).content;
  const schema =
    status >= 400 ? (content?.['application/json']?.schema ?? basic) : content?.['application/json']?.schema;
  if (schema === undefined) return body === undefined || body === '' ? [] : ['has a body'];
  return check(schema, body, isPartial ? 'partial' : 'response');
}

function resolve<T>(value: object): T {
  const ref = (value as { $ref?: string }).$ref;
  if (ref === undefined) return value as T;
  const [, , group = '', name = ''] = ref.split('/');
  return resolve<T>(description.components[group]?.[name] as object);
}

/** Requests and partial responses have no unknown fields, whole responses all required ones. */
type Strictness = 'request' | 'response' | 'partial';

/** Compiled when they are used: most tests use few operations. */
const validators = new Map<string, ValidateFunction>();
const ajvs = new Map<Strictness, Ajv>();

function openAjv(strictness: Strictness): Ajv {
  const known = ajvs.get(strictness);
  if (known !== undefined) return known;
  // Formats such as `date-time` are not types.
  const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, code: { optimize: false } });
  ajv.addSchema(adapt({ $id: 'github', components: description.components }, strictness) as object);
  ajvs.set(strictness, ajv);
  return ajv;
}

function check(schema: object, value: unknown, strictness: Strictness): string[] {
  const key = `${strictness} ${JSON.stringify(schema)}`;
  const validate = validators.get(key) ?? openAjv(strictness).compile(adapt(schema, strictness) as object);
  validators.set(key, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const name = (params as { additionalProperty?: string }).additionalProperty;
    return `${instancePath === '' ? 'body' : instancePath} ${message ?? ''}${name === undefined ? '' : `: ${name}`}`;
  });
}

/** The schema with references that ajv resolves, and with the rules of the strictness. */
function adapt(schema: unknown, strictness: Strictness): unknown {
  if (Array.isArray(schema)) return schema.map((each) => adapt(each, strictness));
  if (typeof schema !== 'object' || schema === null) return schema;
  const isPartial = strictness === 'partial';
  const isClosed = strictness !== 'response' && 'properties' in schema && !('additionalProperties' in schema);
  const adapted: Record<string, unknown> = isClosed ? { additionalProperties: false } : {};
  for (const [key, value] of Object.entries(schema)) {
    const each = adapt(value, strictness);
    if (key === '$ref') adapted[key] = String(value).replace(/^#/, 'github#');
    // A part of an object may fit several of its forms.
    else if (isPartial && key === 'oneOf') adapted['anyOf'] = each;
    // The other parts have more fields.
    else if (key === 'allOf')
      adapted[key] = (each as object[]).map((part) => ({ ...part, ...('$ref' in part ? {} : OPEN) }));
    else if (!(isPartial && key === 'required' && Array.isArray(value))) adapted[key] = each;
  }
  const { nullable, ...plain } = adapted;
  return nullable === true ? { anyOf: [{ type: 'null' }, plain] } : plain;
}

const OPEN = { additionalProperties: true };
