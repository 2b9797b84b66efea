import { quote, Remarks, ServiceReader, type ComposeService, type Remark } from './compose-service.ts';
import { readYaml, type YamlMap, type YamlValue } from './read-yaml.ts';

/** A service that is left out, because it is the project itself or only starts on demand. */
export interface LeftOut {
  name: string;
  line: number;
  why: string;
  /** Its variables, as far as they have a value. */
  env: Record<string, string>;
}

export interface ComposeFile {
  services: ComposeService[];
  leftOut: LeftOut[];
  /** What is not used, a sentence each, with its line. */
  notes: Remark[];
  /** What prevents the use of the file, a sentence each, with its line. */
  problems: Remark[];
}

const MAX_SERVICES = 20;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

/**
 * Reads the services of a compose file that halo can start. Nothing of the machine counts, neither its variables nor its
 * `.env`. Whatever the file says beyond that is named: as a note if the service works without it, else as a problem.
 */
export function readCompose(text: string): ComposeFile {
  const root = readYaml(text);
  const reader = new Reader();
  if ('says' in root) reader.problem(root, `the text is not YAML that halo reads: ${root.says}`);
  else if (root.kind !== 'map') reader.problem(root, 'must be a map with services');
  else reader.readFile(root);
  return reader.result();
}

class Reader extends Remarks {
  readonly #services: ComposeService[] = [];
  readonly #leftOut: LeftOut[] = [];

  readFile({ entries, line }: YamlMap): void {
    for (const [key, value] of entries)
      if (key === 'include') this.problem(value, 'include: halo reads one file; name the services in it');
      else if (
        !['services', 'version', 'name', 'volumes', 'networks', 'secrets', 'configs'].includes(key) &&
        !key.startsWith('x-')
      )
        this.note(value, `${quote(key)} is not a key that halo knows`);
    const services = entries.get('services');
    if (services?.kind !== 'map') return this.problem(services ?? { line }, 'services: must be a map of services');
    if (services.entries.size > MAX_SERVICES)
      return this.problem(services, `services: more than ${MAX_SERVICES} services`);
    for (const [name, service] of services.entries) this.#readService(name, service);
    if (this.#services.length === 0 && this.problems.length === 0)
      this.problem(services, 'services: no service has an image that is not built from this project');
  }

  #readService(name: string, value: YamlValue): void {
    if (!NAME.test(name)) return this.problem(value, `services: ${quote(name)} is not the name of a service`);
    if (value.kind !== 'map') return this.problem(value, `services.${name}: must be a map`);
    const { entries, line } = value;
    const profiles = entries.get('profiles');
    const onDemand = profiles?.kind === 'list' && profiles.items.length > 0;
    if (entries.has('build') || onDemand) {
      // What is wrong with a service that is left out does not matter.
      const quiet = new ServiceReader(name, line, new Remarks());
      const environment = entries.get('environment');
      if (environment !== undefined) quiet.readEnv(environment);
      const why = onDemand ? 'it has profiles' : 'it is built from this project';
      this.#leftOut.push({ name, line, why, env: quiet.found.env });
      return;
    }
    const reader = new ServiceReader(name, line, this);
    for (const [key, member] of entries) reader.readKey(key, member);
    const { image, ...found } = reader.found;
    if (!entries.has('image')) this.problem(value, `services.${name}: image is missing`);
    if (image !== undefined) this.#services.push({ image, ...found });
  }

  result(): ComposeFile {
    const byLine = (remarks: Remark[]) => remarks.toSorted((a, b) => a.line - b.line);
    return {
      services: this.#services,
      leftOut: this.#leftOut,
      notes: byLine(this.notes),
      problems: byLine(this.problems),
    };
  }
}
