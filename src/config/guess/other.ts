import type { Guess, RootFiles } from './repository.ts';

const NOTHING: Guess = { setup: [], gates: [], reasons: [] };

export function guessRust(files: RootFiles): Guess {
  if (!files.has('Cargo.toml')) return NOTHING;
  const setup = files.has('Cargo.lock') ? ['cargo fetch --locked'] : ['cargo fetch'];
  return { setup, gates: ['cargo test --offline'], reasons: ['there is a Cargo.toml'] };
}

export function guessGo(files: RootFiles): Guess {
  if (!files.has('go.mod')) return NOTHING;
  const setup = files.has('go.sum') ? ['go mod download'] : [];
  return { setup, gates: ['go vet ./...', 'go test ./...'], reasons: ['there is a go.mod'] };
}

export function guessJvm(files: RootFiles): Guess {
  if (files.has('pom.xml')) {
    const maven = files.has('mvnw') ? './mvnw' : 'mvn';
    const setup = [`${maven} -B dependency:go-offline`];
    return { setup, gates: [`${maven} -B -o verify`], reasons: ['there is a pom.xml'] };
  }
  if (!files.has('build.gradle') && !files.has('build.gradle.kts')) return NOTHING;
  const gradle = files.has('gradlew') ? './gradlew' : 'gradle';
  return {
    setup: [`${gradle} testClasses`],
    gates: [`${gradle} --offline check`],
    reasons: ['there is a Gradle build'],
  };
}

/** The targets lint, check and test of a Makefile. */
export function guessMake(files: RootFiles): Guess {
  const text = files.get('GNUmakefile') ?? files.get('makefile') ?? files.get('Makefile') ?? '';
  const targets = ['lint', 'check', 'test'].filter((target) => new RegExp(`^${target}\\s*:(?!=)`, 'm').test(text));
  if (targets.length === 0) return NOTHING;
  return {
    setup: [],
    gates: targets.map((target) => `make ${target}`),
    reasons: [`the Makefile has the targets ${targets.join(', ')}`],
  };
}
