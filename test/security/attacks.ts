/** What an attacker tries, and what keeps it from working. The tests of this folder name the ids that they try. */
export interface Attack {
  /** As in a test's name: `attack 17` or `incident git-hooks`. */
  id: string;
  attack: string;
  defence: string;
}

const ROWS: [id: string, attack: string, defence: string][] = [
  [
    'attack 1',
    'read the provider’s key in the sandbox',
    'the key is in the gateway’s memory only; listed variables only',
  ],
  [
    'attack 2',
    'use another attempt’s way to the model, or an ended one',
    'a socket and a token per attempt, revoked at its end',
  ],
  ['attack 3', 'settings in the repository send the key elsewhere', 'there is no key inside, and no other way out'],
  [
    'attack 4',
    'the attacker’s own key with the allowed provider',
    'client credentials dropped; exact methods and paths',
  ],
  ['attack 5', 'the provider as a way out: its tools, URLs, files', 'bodies rebuilt from listed fields and tools'],
  ['attack 6', 'requests that two readers read in two ways', 'strict parser, requests rebuilt, no redirects'],
  ['attack 7', 'the provider repeats the key', 'answers checked and masked before they are passed on'],
  ['attack 8', 'many requests at once overrun the budget', 'worst case reserved before, settled after'],
  [
    'incident budget-burst',
    'requests that a provider counts as more than they look',
    'one limit, pictures and files at their worst, overdrawn runs end',
  ],
  [
    'incident untold-usage',
    'a provider whose counts of tokens are none, so that a budget never ends',
    'what is no count tells nothing: the worst case that was held is spent',
  ],
  ['attack 9', 'flood the gateway', 'limits of connections, bytes and time, per sandbox'],
  ['attack 10', 'host names that slip through an allow list', 'one canonical form; exact host:port; empty is none'],
  [
    'attack 11',
    'an allowed name that leads to the inside',
    'resolved once, private ranges refused, that address dialled',
  ],
  ['attack 12', 'another server behind an allowed tunnel', 'the name in the TLS greeting must be the host'],
  [
    'attack 13',
    'publish through an allowed registry',
    'GET and HEAD only, without credentials, body or words of the client’s',
  ],
  ['attack 14', 'system calls that reach the kernel’s depths', 'a list of allowed ones; private namespaces'],
  ['attack 15', 'a sandbox that was described carelessly', 'one frozen description; proven before the first use'],
  ['attack 16', 'holes of known container runtimes', 'versions judged, images by id, fixed working folder'],
  ['attack 17', 'bombs: forks, memory, disk, inodes, output, silence', 'limits, each with an end of its own'],
  ['attack 18', 'a process that outlives the agent', 'killed with its container; a read-only, later export'],
  ['attack 19', 'archives that write elsewhere', 'no archive of the sandbox’s is ever unpacked'],
  ['attack 20', 'links in place of folders', 'only links inside the tree pass; nothing follows them'],
  ['attack 21', 'a hostile .git', 'git of the host never runs in a tree of the sandbox’s'],
  ['attack 22', 'filters, drivers and attributes', 'no checkout, attributes off, new ones wait for a person'],
  ['attack 23', 'submodules', 'refused'],
  ['attack 24', 'a patch hidden in words', 'blobs, no patches'],
  ['attack 25', 'names that file systems take for others', 'strict rules for every path; the tree is rebuilt'],
  ['attack 26', 'bombs of packs and trees', 'limits of bytes, entries and time'],
  ['attack 27', 'ids that look like options, paths or refs', 'ids of halo’s own; arguments after `--`'],
  ['attack 28', 'forged authors, trailers, messages', 'the host writes them'],
  ['attack 29', 'somebody else’s branch', 'one ref per run, compare-and-swap'],
  [
    'attack 30',
    'a verdict that the agent writes itself',
    'gates of the base in a clean container; the engine’s exit code',
  ],
  ['attack 31', 'output that is an order', 'output is text, control has a channel of its own'],
  ['attack 32', 'output that a terminal obeys', 'escapes and hidden characters are spelled, and nothing is left out'],
  ['attack 33', 'a secret in logs, encoded or in pieces', 'masked in every sink, in all common encodings'],
  ['attack 34', 'a web page that talks to the API', 'token always; Host and Origin checked; JSON only'],
  [
    'attack 35',
    'an address that halo is made to call',
    'halo calls no address that a PRD, a repository or an agent names',
  ],
  ['attack 36', 'forged jobs in Redis', 'ids only, each validated; the rest is set aside'],
  ['attack 37', 'ids and file names that climb out of folders', 'keys of halo’s own; owner-only folders'],
  ['attack 38', 'a PRD or README that turns the agent', 'assumed: no secret, no way out, limits, gates, people'],
  ['attack 39', 'a worker’s hold on the engine', 'descriptions can hold no host mounts, devices or namespaces'],
  ['attack 40', 'traces from run to run', 'nothing is shared that can be written; residue is removed'],
  [
    'incident gate-tree',
    'tests or install scripts rewrite what a later gate reads',
    'before each gate the commit’s tree is put back',
  ],
  [
    'incident judge-memory',
    'a test writes into the memory of the shell that judges it',
    'each gate has a container of its own; `halo doctor` warns where the kernel lets processes do that',
  ],
  [
    'incident submodule-programs',
    'git, when it looks into a submodule, runs what the agent wrote there',
    'no command of halo’s enters a submodule',
  ],
  [
    'incident story-limits',
    'a change so large that git gives up, and the agent is paid again',
    'its patch is cut; a limit that it reaches is its own fault',
  ],
  [
    'incident allow-list',
    'an allow list that is empty, or cut by a NUL byte, lets all through',
    'empty is none; names are letters, digits, hyphens',
  ],
  [
    'incident relay',
    'a relay inside the sandbox makes another’s request its own',
    'each request is judged by its bytes',
  ],
  [
    'incident address-password',
    'a password in an address is kept and served',
    'taken out at the door; git gets it for one fetch, by its environment',
  ],
  [
    'incident setup-way-out',
    'the agent has the setup of the gates send what the agent cannot',
    'setup reaches what [network] lists and nothing else; `halo network` shows whose setup asked',
  ],
  ['incident dns', 'data leaves through name look-ups', 'no resolver inside'],
  ['incident patch-parser', 'two parsers of one patch disagree', 'no patch is parsed'],
  ['incident files-api', 'an allowed provider stores stolen files', 'the provider’s other paths are refused'],
  [
    'incident repository-settings',
    'settings that move a base URL or run hooks',
    'they change nothing outside and wait for a person',
  ],
  [
    'incident endless-depth',
    'folders in folders, deeper than an engine can remove',
    'emptied by a sandbox first, whatever the depth; the depth is measured',
  ],
  [
    'incident terminals',
    'a sandbox takes all terminals of the machine, or types into one of the host',
    'no terminal of the host is inside; each sandbox has a limit of its own where the engine can keep one',
  ],
  [
    'incident other-users',
    'another user of the machine uses sockets or reads logs of halo',
    'private folders and files from the first moment; `halo doctor` looks at HALO_HOME',
  ],
  ['incident git-hooks', 'hooks written in the sandbox run on the host', 'no .git comes back'],
  [
    'incident named-files',
    'a story changes hooks that a setting names, the target of a link, the marks of others in the PRD',
    'settings, links and the PRD are read first; such a story waits for a person',
  ],
  [
    'incident config-programs',
    'a folder of somebody else whose .git/config names programs for git to run',
    'halo replaces them by the operator’s own, or by none',
  ],
  [
    'incident embedded-repository',
    'files that make a folder a git repository run programs for anyone who enters it',
    'no such folder is taken over; git of the host ignores it',
  ],
  [
    'incident hidden-code',
    'code between escapes, or made invisible, is not seen by the person who approves it',
    'hidden characters are spelled and counted in every diff, and a story that adds some waits',
  ],
  [
    'incident secret-oracle',
    'a dictionary in files shows which word is a secret of the machine',
    'one refusal, which does not say where; no further attempt',
  ],
  [
    'incident two-names',
    'a tag named like the branch, a folder whose name reads like another',
    'full names of refs; lists of git with NUL between names',
  ],
  [
    'incident hostile-server',
    'a server whose answers a terminal obeys',
    'all that is printed passes one place, which spells it',
  ],
  ['incident pseudo-key', 'code in the form of a secret is asterisks in the diff', 'diffs mask known secrets only'],
  [
    'incident strange-answer',
    'a server that answers with another protocol, and halo waits for ever',
    'an answer has a status from 200 to 599, or is a failure',
  ],
  ['incident environ', 'a reading tool prints /proc/self/environ', 'no secret in any process inside'],
  ['incident open-api', 'a local API without a token, open to all origins', 'a token on loopback, too'],
  [
    'incident foreign-image',
    'a repository’s file names the image of another project',
    'halo’s own and those that config.toml lists',
  ],
  [
    'incident held-work',
    'agents read commits of other runs that wait for a person',
    'kept beside the mirror, where no sandbox looks',
  ],
  [
    'incident other-runs',
    'agents read what other runs landed, and other branches',
    'sandboxes see a view with what their commit reaches',
  ],
  [
    'incident retry-options',
    'settings that come with a retry loosen what the run was made with',
    'the rules of a submit; gates and image need a yes; the journal keeps who',
  ],
  [
    'incident artifact-paths',
    'a request for a log leads to other files, or to one without end',
    'plain names, no links, regular files of at most 16 MiB',
  ],
  [
    'incident repository-pager',
    'a repository configures the program that shows its diffs',
    'the pager of the user’s own configuration alone',
  ],
  ['incident weak-token', 'a token that can be guessed', 'refused when the server starts'],
  [
    'incident request-options',
    'options of a request that loosen what the server keeps',
    'never looser than server, repository and defaults',
  ],
  [
    'incident request-probe',
    'repositories of a request that probe network and files',
    'public addresses and absolute paths; one answer for all else',
  ],
  [
    'incident foreign-prd',
    'a run marks the PRD of another team as done',
    'over the network only a file of the submitted repository',
  ],
  ['incident engine-socket', 'the engine’s socket inside', 'it is never mounted'],
  ['incident git-calls', 'some git calls hardened, others not', 'one function runs git; a test forbids others'],
  ['incident dash-branch', 'a branch named -h becomes an option', 'full ref names after --end-of-options'],
  [
    'incident twin-ids',
    'ids that only trailers or people cannot tell apart: a story counts as done without work',
    'invisible characters and look-alikes are refused; commits are found by a digest of the id',
  ],
  [
    'incident key-collision',
    'two ids with the same short key: one story’s evidence overwrites another’s',
    '128 bits of a digest in every key',
  ],
  [
    'incident message-orders',
    'a commit message closes issues, calls people, starts or skips CI, announces a release',
    'every reference, bracket and footer of text that halo did not write is broken',
  ],
  [
    'incident forged-record',
    'a record that anybody may push says that `true` was the gate, or names hosts inside this network',
    'settings are held against those of the base commit; what differs fails and is not run',
  ],
  [
    'incident unsigned-record',
    'a forged record profits from a signature that was made for something else',
    'each record needs a signature of its own by an allowed signer; unsigned is said',
  ],
  [
    'incident config-newline',
    'a newline in data becomes a setting of git',
    'data is never written into git’s settings',
  ],
  ['incident archive-library', 'tar-fs wrote outside its folder', 'fixed versions, held by a test'],
  [
    'incident slow-globs',
    'globs of a repository that take for ever to match',
    'linear time; few and short; a limit of time for all of them',
  ],
  [
    'incident slow-text',
    'text that a search of halo’s goes through again and again',
    'patterns without a choice on the way; limits of length and number',
  ],
  [
    'incident report-bomb',
    'test output that fills the worker’s memory',
    'limits of depth, names and number while reading',
  ],
  ['incident json-bomb', 'JSON with more values than memory', 'counted before it is parsed and checked'],
  [
    'incident endless-file',
    'a device, a pipe or a huge file in the place of one that halo reads',
    'regular files of a limited size only, never waited for',
  ],
  [
    'incident linked-file',
    'a link of a repository that leads out of it',
    'neither read as its file nor written through',
  ],
  [
    'incident ignored-files',
    'a story adds files over those of the checkout that git ignores',
    'landing overwrites nothing that is there',
  ],
  [
    'incident other-history',
    'settings, grafts and caches by which git reads another history',
    'left out; halo reads its trailers itself',
  ],
  ['incident working-folder', 'a working folder below /proc/self/fd', 'refused'],
  [
    'incident kernel-families',
    'AF_ALG, AF_VSOCK and io_uring in a sandbox without network',
    'refused by the list of system calls',
  ],
  ['incident internal-network', 'an internal network still reaches the host', 'no network at all'],
  ['incident git-holes', 'holes of clone, fetch and submodules', 'packs through quarantine; no transport'],
  ['incident set-env', 'printed lines become commands of CI', 'nothing that was printed is obeyed'],
  [
    'incident open-link',
    'an escape that is cut in two stays open',
    'lines are made safe as a whole, however they come',
  ],
  ['incident redis-port', 'Redis on a port that others reach', 'a private unix socket'],
];

export const ATTACKS: readonly Attack[] = ROWS.map(([id, attack, defence]) => ({ id, attack, defence }));

/** The ids that a test's full name begins with: `attacks 14, 15 and 40: …`, `attack 21, incident git-hooks: …`. */
export function idsIn(name: string): string[] {
  // A test may be one of a hazard, too, which has numbers of its own.
  const head = /^([^:]*):/.exec(name)?.[1]?.replace(/\bhazards? \d+(?:(?:, | and )\d+)*/g, '') ?? '';
  if (!/^(attacks?|incident) /.test(head)) return [];
  const numbers = [...head.matchAll(/\b\d+\b/g)].map(([number]) => `attack ${number}`);
  const incidents = [...head.matchAll(/incident ([a-z-]+)/g)].map(([, slug]) => `incident ${slug}`);
  return [...numbers, ...incidents];
}
