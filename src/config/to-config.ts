import { defined } from '../lib/guards.ts';
import type { ModelApi } from '../core/agent.ts';
import { builtInPrice, type Price } from '../core/price.ts';
import type { FleetLimits } from '../core/run/fleet-limit.ts';
import type { RetentionLimits } from '../core/retention/retention.ts';
import type { Config, CredentialSource, KeySource, OidcSettings, ServerRules } from './config.ts';
import type { EndpointSettings } from './endpoint-settings.ts';
import { toAgentOptions } from './to-agent-options.ts';
import type { HaloToml } from './schema/halo-toml.ts';
import type { BreakerPolicy } from '../core/failure/breaker.ts';
import { FAILURE_CLASSES, type ClassPolicy, type FailureClass, type RetryPolicy } from '../core/failure/failure.ts';
import { AGENT_IDS } from '../core/agent.ts';

/** Converts the parsed settings to the configuration of a run. `api`: the model API of the agent, if it has one. */
export function toConfig(toml: HaloToml, api: ModelApi | undefined): Config {
  const {
    agent,
    agents,
    setup,
    gates,
    image,
    env,
    model,
    limits,
    sandbox,
    network,
    secrets,
    tests,
    snapshot,
    run,
    retry,
    prd,
    prompt,
    answers,
    approval,
    land,
    issues,
    git,
    workspace,
  } = toml;
  const own = agents[agent];
  return {
    agent,
    agentCommand: agents.command.run,
    agentAnswer: 'answer' in own ? own.answer : 'json',
    agentOptions: toAgentOptions(toml),
    setup,
    gates,
    image,
    env,
    model: {
      api,
      name: model.name ?? '',
      fallback: model.fallback,
      allow: model.allow,
      baseUrl: model.base_url ?? '',
      ...toKeySource(model),
      keys: model.keys.map(toKeySource),
      mode: model.mode,
      cassettes: model.cassettes,
      timing: model.timing,
    },
    ...toSpending(toml),
    limits: {
      cpus: limits.cpus,
      memoryBytes: limits.memory,
      pids: limits.pids,
      files: limits.files,
      fileBytes: limits.file_size,
      diskBytes: limits.disk,
      freeDiskBytes: limits.free_disk,
      wallMs: limits.wall,
      idleMs: limits.idle,
      outputBytes: limits.output,
    },
    sandbox,
    network: {
      allow: network.allow,
      channel: network.channel,
      mayBePrivate: network.private,
      registries: network.registries,
      agentRegistries: network.agent_registries,
      registryHosts: network.registry_hosts,
      git: network.git,
      upstreams: network.upstreams,
      scopes: network.scopes,
      credentials: Object.fromEntries(
        Object.entries(network.credentials).map(([at, each]) => [at, toCredential(each)]),
      ),
      cacheBytes: network.cache_size,
      caFile: network.ca_file,
    },
    secrets,
    tests: toTests(tests),
    snapshot: {
      mode: snapshot.mode,
      inputs: snapshot.inputs,
      recheck: snapshot.recheck,
      maxBytes: snapshot.max_size,
    },
    run: { parallel: run.parallel, onFailure: run.on_failure },
    retry: toRetryPolicy(retry),
    breaker: toBreakerPolicy(toml.breaker),
    prd: { writeBack: prd.write_back, criteria: prd.criteria },
    prompt: {
      before: prompt.before,
      standards: prompt.standards,
      testStandards: prompt.test_standards,
      specs: prompt.specs,
      vision: prompt.vision,
      prd: prompt.prd,
      maxTokens: prompt.max_tokens,
    },
    answers: { deadlineMs: answers.deadline, unanswered: answers.default },
    approval,
    land: {
      mode: land.mode,
      push: land.push,
      pullRequests: land.pull_requests,
      feedbackRounds: land.feedback_rounds,
      feedbackIntervalMs: land.feedback_interval,
      stopLabel: land.stop_label,
      unchanged: land.unchanged,
      hiddenCharacters: land.hidden_characters,
      protect: land.protect,
    },
    issues: {
      label: issues.label,
      priorityLabels: issues.priority_labels,
      report: issues.report,
      labels: defined(issues.labels),
      close: issues.close,
    },
    git: {
      authorName: git.author.name,
      authorEmail: git.author.email,
      message: git.message,
      sign: git.sign,
      signingKey: git.signing_key,
      allowedSigners: git.allowed_signers,
    },
    workspace,
  };
}

function toKeySource(keys: Omit<HaloToml['model']['keys'][number], 'base_url'>): KeySource {
  return { keyEnv: keys.key_env, keyFile: keys.key_file, keyCommand: keys.key_command };
}

/** `[budget]`, and the prices of the models that may be asked for. */
function toSpending({ budget, prices, rate, model }: HaloToml): Pick<Config, 'budget' | 'prices' | 'rate'> {
  const models = [...new Set([model.name ?? '', ...model.fallback, ...model.allow])];
  const priceOf = (name: string): Price | undefined => {
    const own = Object.hasOwn(prices, name) ? prices[name] : undefined;
    if (own === undefined) return builtInPrice(name);
    const { input, cached = input, cache_write: cacheWrite = input, output } = own;
    return { input, cached, cacheWrite, output };
  };
  return {
    budget: {
      story: { usd: budget.story_usd, tokens: budget.story_tokens },
      run: { usd: budget.run_usd, tokens: budget.run_tokens },
      user: { usd: budget.user_usd, tokens: budget.user_tokens },
      repository: { usd: budget.repository_usd, tokens: budget.repository_tokens },
      day: { usd: budget.day_usd, tokens: budget.day_tokens },
    },
    prices: Object.fromEntries(
      models.flatMap((name) => {
        const price = priceOf(name);
        return price === undefined ? [] : [[name, price]];
      }),
    ),
    rate: Object.fromEntries(models.flatMap((name) => (Object.hasOwn(rate, name) ? [[name, rate[name] ?? {}]] : []))),
  };
}

/** Converts `[keep]`. */
export function toRetention({ keep }: HaloToml): RetentionLimits {
  return {
    ...limit('artifactsMs', keep.artifacts),
    ...limit('runs', keep.runs),
    ...limit('journalsMs', keep.journals),
    ...limit('maxBytes', keep.max_size),
  };
}

/** Converts `[server]`. */
export function toServerRules({ server }: HaloToml): ServerRules {
  const { requests_per_minute: requestsPerMinute, tls_certificate: certificate, tls_key: key } = server;
  const tls = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return {
    private: server.private,
    options: server.options,
    requestsPerMinute,
    behindProxy: server.behind_proxy,
    publicMetrics: server.metrics === 'public',
    ...defined({ tls, url: server.url, oidc: toOidc(server.oidc) }),
  };
}

function toOidc(oidc: HaloToml['server']['oidc']): OidcSettings | undefined {
  const { issuer, client_id: clientId } = oidc;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer,
    clientId,
    secret: { env: oidc.client_secret_env, file: oidc.client_secret_file, command: oidc.client_secret_command },
    userClaim: oidc.user_claim,
    groupsClaim: oidc.groups_claim,
    roles: oidc.roles,
    newUsers: oidc.new_users,
    sessionMs: oidc.session,
  };
}

/** What endpoints receive by default. */
const DEFAULT_EVENTS = ['needs-person', 'failed', 'done'];
const DEFAULT_DEBOUNCE_MS = 10_000;

/** Converts `[notify]`, sorted by name. */
export function toEndpoints({ notify }: HaloToml): EndpointSettings[] {
  return Object.entries(notify)
    .map(([name, each]): EndpointSettings => ({
      name,
      type: each.type,
      url: { text: each.url, env: each.url_env, file: each.url_file, command: each.url_command },
      secret: { env: each.secret_env, file: each.secret_file, command: each.secret_command },
      events: each.events ?? DEFAULT_EVENTS,
      repositories: each.repos,
      users: each.users,
      debounceMs: each.type === 'webhook' ? 0 : (each.debounce ?? DEFAULT_DEBOUNCE_MS),
      allowPrivate: each.allow_private ?? false,
      mail:
        each.from === undefined || each.to === undefined
          ? undefined
          : { user: each.user, from: each.from, to: each.to },
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Converts `[fleet]`. */
export function toFleet({ fleet }: HaloToml): FleetLimits {
  return {
    ...limit('max', fleet.max),
    ...limit('perHost', fleet.per_host),
    ...limit('perRepo', fleet.per_repo),
    ...limit('perUser', fleet.per_user),
    perAgent: Object.assign({}, ...AGENT_IDS.map((id) => limit(id, fleet.per_agent[id]))) as FleetLimits['perAgent'],
  };
}

function limit<K extends string>(name: K, value: number | undefined): Partial<Record<K, number>> {
  return value === undefined ? {} : ({ [name]: value } as Record<K, number>);
}

/** Converts `[retry]` to the policy in core. */
function toTests({ broken_base: brokenBase, ...tests }: HaloToml['tests']): Config['tests'] {
  return { ...tests, brokenBase };
}

function toRetryPolicy(retry: HaloToml['retry']): RetryPolicy {
  const classes = FAILURE_CLASSES.map((name): [FailureClass, ClassPolicy] => {
    const table: { rule: ClassPolicy['rule']; backoff?: number | undefined; retries?: number } = retry[name];
    return [name, { rule: table.rule, backoffMs: table.backoff, retries: table.retries ?? 0 }];
  });
  return {
    attempts: retry.attempts,
    backoffMs: retry.backoff,
    maxBackoffMs: retry.max_backoff,
    multiplier: retry.multiplier,
    jitter: retry.jitter,
    crashes: retry.crashes,
    maxWaitMs: retry.max_wait,
    classes: Object.fromEntries(classes) as Record<FailureClass, ClassPolicy>,
  };
}

/** Converts `[breaker]` to the policy in core. */
function toBreakerPolicy(breaker: HaloToml['breaker']): BreakerPolicy {
  return {
    noChange: breaker.no_change,
    sameError: breaker.same_error,
    outputDecline: breaker.output_decline,
    permissionDenials: breaker.permission_denials,
    testOnly: breaker.test_only,
    cooldownMs: breaker.cooldown,
  };
}

function toCredential({
  scheme,
  user = '',
  token_env: tokenEnv,
  token_file: tokenFile,
  token_command: tokenCommand,
}: HaloToml['network']['credentials'][string]): CredentialSource {
  return { scheme: scheme ?? (user === '' ? 'bearer' : 'basic'), user, tokenEnv, tokenFile, tokenCommand };
}
