import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { HaloError } from '../../core/failure/errors.ts';

/** A certificate with its chain and its private key, PEM. */
export interface TlsPair {
  cert: string;
  key: string;
}

/** Certificates are renewed days before they expire. */
const READ_EVERY_MS = 60_000;

/** The files of `[server] tls_certificate` and `tls_key`. */
export class TlsFiles {
  readonly #files: { certificate: string; key: string };
  #last: TlsPair | undefined;

  constructor(files: { certificate: string; key: string }) {
    this.#files = files;
  }

  /** Throws CONFIG_INVALID if a file cannot be read, or the two do not belong together. */
  async read(): Promise<TlsPair> {
    const [cert, key] = await Promise.all([
      readPem(this.#files.certificate, 'tls_certificate'),
      readPem(this.#files.key, 'tls_key'),
    ]);
    try {
      createSecureContext({ cert, key });
    } catch (cause) {
      throw new HaloError(
        'CONFIG_INVALID',
        `[server] tls_certificate and tls_key cannot be used: ${toReason(cause)}.`,
        {
          hint: 'Use PEM files: the certificate followed by its chain, and its private key without a passphrase.',
          cause,
        },
      );
    }
    this.#last = { cert, key };
    return this.#last;
  }

  /** Calls `renew` with new contents of the files. Keeps the last valid pair otherwise. Returns a function that stops it. */
  watch(renew: (pair: TlsPair) => void, everyMs = READ_EVERY_MS): () => void {
    let reading = false;
    const timer = setInterval(() => {
      if (reading) return;
      reading = true;
      const before = this.#last;
      void this.read()
        .then(
          (pair) => {
            if (pair.cert !== before?.cert || pair.key !== before.key) renew(pair);
          },
          () => undefined,
        )
        .finally(() => (reading = false));
    }, everyMs);
    timer.unref();
    return () => clearInterval(timer);
  }
}

async function readPem(path: string, name: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new HaloError('CONFIG_INVALID', `[server] ${name}: ${path} cannot be read (${toReason(cause)}).`, {
      hint: 'Correct the path in config.toml of HALO_HOME, or make the file readable for the user who runs the server.',
      cause,
    });
  }
}

function toReason(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? String(cause);
}
