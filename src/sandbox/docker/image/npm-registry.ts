import { HaloError } from '../../../core/failure/errors.ts';
import { execa } from '../../../lib/execa.ts';
import { tryParseJson } from '../../../lib/parse-json.ts';

/** How long the registry may take, in ms. */
const WAIT_MS = 30_000;

/**
 * Asks the registry that npm of this machine is configured with for fields of a package, such as `dist.integrity` of
 * `pack@1.2.3`. Returns undefined if it has no such package or version. Throws IMAGE_BUILD_FAILED.
 */
export async function askRegistry(spec: string, field: string): Promise<string | undefined> {
  const args = ['view', spec, field, '--json', '--fetch-retries=0', `--fetch-timeout=${WAIT_MS}`];
  const { failed, stdout, stderr, code } = await execa('npm', args, { reject: false, timeout: WAIT_MS });
  if (!failed) {
    const value = tryParseJson(stdout);
    return typeof value === 'string' ? value : undefined;
  }
  const error = (tryParseJson(stdout) as { error?: { code?: string; summary?: string } } | undefined)?.error;
  if (error?.code === 'E404' || error?.code === 'ETARGET') return undefined;
  const missing = code === 'ENOENT';
  const why = missing ? 'there is no npm on this machine' : (error?.summary ?? stderr).split('\n')[0]?.trim();
  throw new HaloError(
    'IMAGE_BUILD_FAILED',
    `The npm registry cannot be asked for ${spec}: ${(why || `no answer within ${WAIT_MS / 1_000} s`).replace(/\.$/, '')}.`,
    { hint: missing ? 'Install npm.' : `Try \`npm view ${spec}\`. Set a registry or proxy in .npmrc.` },
  );
}
