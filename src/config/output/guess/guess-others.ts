import type { Guess, RootFiles } from './guess.ts';
import { findChecks, type Workflow } from './workflows.ts';

const NOTHING: Guess = { setup: [], gates: [], reasons: [] };

/** Rust. Downloads are kept in the workspace, because the home folder is deleted with the sandbox. */
export function guessRust(files: RootFiles): Guess {
  if (!files.has('Cargo.toml')) return NOTHING;
  const setup = files.has('Cargo.lock') ? ['cargo fetch --locked'] : ['cargo fetch'];
  const env = { CARGO_HOME: '/workspace/target/cargo-home' };
  const gates = ['cargo test --offline'];
  return {
    setup,
    gates,
    reasons: ['there is a Cargo.toml'],
    sources: from('Cargo.toml', gates),
    env,
    keeps: ['target'],
  };
}

export function guessGo(files: RootFiles): Guess {
  if (!files.has('go.mod')) return NOTHING;
  // Only `-v` names the tests.
  const gates = ['go vet ./...', 'go test -v ./...'];
  const reasons = ['there is a go.mod'];
  const sources = from('go.mod', gates);
  if (!files.has('go.sum')) return { setup: [], gates, reasons, sources };
  const env = {
    GOMODCACHE: '/workspace/.go-modules',
    // In the same folder, so that git must ignore only one.
    GOCACHE: '/workspace/.go-modules/.build',
    GOFLAGS: '-modcacherw',
  };
  return { setup: ['go mod download'], gates, reasons, sources, env, keeps: ['.go-modules'] };
}

/** Ruby: Bundler and the Rakefile. RubyGems is not a known registry, so its hosts are listed. */
export function guessRuby(files: RootFiles): Guess {
  const gate = files.has('Rakefile') ? ['rake'] : files.has('.rspec') ? ['rspec'] : [];
  if (!files.has('Gemfile')) {
    return gate.length === 0 ? NOTHING : { setup: [], gates: gate, reasons: ['there is a Rakefile or .rspec'] };
  }
  return {
    setup: ['bundle install'],
    gates: gate.map((command) => `bundle exec ${command}`),
    reasons: ['there is a Gemfile'],
    env: {
      BUNDLE_PATH: '/workspace/vendor/bundle',
      BUNDLE_APP_CONFIG: '/tmp/.bundle',
      ...(files.has('Gemfile.lock') ? { BUNDLE_FROZEN: 'true' } : {}),
    },
    hosts: ['rubygems.org:443', 'index.rubygems.org:443'],
    keeps: ['vendor/bundle'],
  };
}

function from(file: string, gates: readonly string[]): Record<string, string[]> {
  return Object.fromEntries(gates.map((gate) => [gate, [file]]));
}

/** Maven and Gradle. Their repositories are not known registries, so their hosts are listed. */
export function guessJvm(files: RootFiles): Guess {
  if (files.has('pom.xml')) {
    const maven = files.has('mvnw') ? './mvnw' : 'mvn';
    const gates = [`${maven} -B -o verify`];
    return {
      setup: [`${maven} -B dependency:go-offline`],
      gates,
      reasons: ['there is a pom.xml'],
      sources: from('pom.xml', gates),
      env: { MAVEN_OPTS: '-Dmaven.repo.local=/workspace/.m2/repository', MAVEN_USER_HOME: '/workspace/.m2' },
      hosts: [MAVEN_CENTRAL],
      keeps: ['.m2'],
    };
  }
  const build = ['build.gradle', 'build.gradle.kts'].find((name) => files.has(name));
  if (build === undefined) return NOTHING;
  const gradle = files.has('gradlew') ? './gradlew' : 'gradle';
  const gates = [`${gradle} --offline check`];
  return {
    setup: [`${gradle} testClasses`],
    gates,
    reasons: ['there is a Gradle build'],
    sources: from(build, gates),
    env: { GRADLE_USER_HOME: '/workspace/.gradle/home' },
    hosts: [MAVEN_CENTRAL, 'plugins.gradle.org:443', ...(files.has('gradlew') ? ['services.gradle.org:443'] : [])],
    keeps: ['.gradle'],
  };
}

const MAVEN_CENTRAL = 'repo.maven.apache.org:443';

/** Make: the targets lint, check and test, and the check targets that workflows run. */
export function guessMake(files: RootFiles, workflows: readonly Workflow[] = []): Guess {
  const text = files.get('GNUmakefile') ?? files.get('makefile') ?? files.get('Makefile') ?? '';
  const names = new Set(['lint', 'check', 'test', ...findChecks(workflows, 'make')]);
  const targets = [...names].filter((target) => new RegExp(`^${target}\\s*:(?!=)`, 'm').test(text));
  if (targets.length === 0) return NOTHING;
  const gates = targets.map((target) => `make ${target}`);
  return {
    setup: [],
    gates,
    sources: from('Makefile', gates),
    reasons: [`the Makefile has the targets ${targets.join(', ')}`],
  };
}
