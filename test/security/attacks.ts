/** An attack and the defence against it. The tests of this folder name the ids of the attacks that they try. */
export interface Attack {
  /** As in the name of a test: `attack 17` or `incident git-hooks`. */
  id: string;
  attack: string;
  defence: string;
}

const ROWS: [id: string, attack: string, defence: string][] = [
  [
    'attack 1',
    'read the provider key in the sandbox',
    'the key is only in the gateway’s memory; sandboxes get only listed variables',
  ],
  [
    'attack 2',
    'use the model route of another attempt, or of one that has ended',
    'each attempt has its own socket and token, revoked when it ends',
  ],
  [
    'attack 3',
    'change settings in the repository to send the key elsewhere',
    'the sandbox has no key, and no connection except its gateway',
  ],
  [
    'attack 4',
    'use the attacker’s own key at the allowed provider',
    'client credentials are dropped; only exact methods and paths are forwarded',
  ],
  [
    'attack 5',
    'exfiltrate data through the provider’s tools, URLs or files',
    'bodies are rebuilt from allowed fields and tools',
  ],
  ['attack 6', 'send requests that two parsers interpret differently', 'strict parser, rebuilt requests, no redirects'],
  ['attack 7', 'make the provider repeat the key', 'responses are checked and masked before they are forwarded'],
  [
    'attack 8',
    'exceed the budget with many concurrent requests',
    'the maximum cost is reserved before a request and settled after it',
  ],
  [
    'incident model-keys',
    'learn or choose another key of a model, or send requests that make halo stop using all keys',
    'the gateway chooses the key and masks all; a key is not blocked for a status that may be about the request, unless another key gets an answer',
  ],
  [
    'incident budget-burst',
    'send requests that the provider counts as more than they appear',
    'one output limit per request; images and files count at their maximum; overdrawn runs end',
  ],
  [
    'incident untold-usage',
    'use a provider that reports invalid token counts, so that the budget is never used up',
    'invalid counts are unknown usage: the reserved maximum is charged',
  ],
  ['attack 9', 'flood the gateway', 'limits on connections, bytes and time per sandbox'],
  [
    'attack 10',
    'use host names that bypass an allow list',
    'one canonical form; exact host:port; an empty list allows nothing',
  ],
  [
    'attack 11',
    'use an allowed name that resolves to an internal address',
    'the name is resolved once, private ranges are refused, and that address is used',
  ],
  [
    'attack 12',
    'reach another server through an allowed tunnel',
    'the name in the TLS ClientHello must be the requested host',
  ],
  [
    'attack 13',
    'publish through an allowed registry',
    'only GET and HEAD, without credentials, body or other text of the client',
  ],
  ['attack 14', 'exploit the kernel through rare system calls', 'an allow list of system calls; private namespaces'],
  [
    'attack 15',
    'start a sandbox with a weak configuration',
    'one frozen container specification; the isolation is checked before first use',
  ],
  [
    'attack 16',
    'exploit known vulnerabilities of container runtimes',
    'versions are checked, images are started by id, the working directory is fixed',
  ],
  [
    'attack 17',
    'exhaust resources: forks, memory, disk, inodes, output, silence',
    'a limit for each, with its own stop reason',
  ],
  [
    'attack 18',
    'leave a process running after the agent has ended',
    'it is killed with its container; a later export reads the workspace',
  ],
  ['attack 19', 'write outside the target folder with an archive', 'no archive from a sandbox is ever extracted'],
  ['attack 20', 'replace folders with links', 'only links inside the tree are imported; halo follows none of them'],
  ['attack 21', 'return a hostile .git folder', 'git on the host never runs in a tree of the sandbox'],
  [
    'attack 22',
    'run commands by git filters, drivers and attributes',
    'no checkout; attributes are disabled; new ones need approval',
  ],
  ['attack 23', 'add submodules', 'submodules are refused'],
  ['attack 24', 'hide a patch in a text', 'halo imports blobs and applies no patches'],
  ['attack 25', 'use names that file systems confuse with others', 'strict rules for every path; the tree is rebuilt'],
  ['attack 26', 'send decompression bombs in packs and trees', 'limits on bytes, entries and time'],
  ['attack 27', 'use ids that look like options, paths or refs', 'halo generates its own ids; arguments follow `--`'],
  ['attack 28', 'forge authors, trailers and messages', 'the host writes them'],
  ['attack 29', 'overwrite a branch of another user', 'one ref per run, moved by compare-and-swap'],
  [
    'attack 30',
    'let the agent write its own verdict',
    'gates of the base run in a clean container; the engine reports the exit code',
  ],
  ['attack 31', 'print output that looks like a command', 'output is only text; commands use a separate channel'],
  [
    'attack 32',
    'print control sequences that a terminal executes',
    'control and hidden characters are printed as code points; no text is removed',
  ],
  ['attack 33', 'print a secret, encoded or in parts', 'masked in every output, in all common encodings'],
  [
    'attack 34',
    'call the API from a web page',
    'every request needs the token; Host and Origin are checked; only JSON is accepted',
  ],
  ['attack 35', 'make halo connect to an address', 'halo connects to no address from a PRD, a repository or an agent'],
  ['attack 36', 'add forged jobs to Redis', 'jobs contain only ids, each validated; invalid jobs become dead letters'],
  [
    'attack 37',
    'escape from folders with ids and file names',
    'halo generates its own keys; folders are private to their owner',
  ],
  [
    'attack 38',
    'inject prompts through a PRD or README',
    'assumed to succeed; limited by isolation, resource limits, gates and approval',
  ],
  [
    'attack 39',
    'use the worker’s access to the engine',
    'container specifications cannot contain host mounts, devices or namespaces',
  ],
  ['attack 40', 'leave data for other runs', 'no writable resource is shared; leftovers are removed'],
  [
    'incident gate-tree',
    'change in tests or install scripts what a later gate reads',
    'the tree of the commit is restored before each gate',
  ],
  [
    'incident judge-memory',
    'write from a test into the memory of the shell that evaluates it',
    'each gate has its own container; `halo doctor` warns if the kernel allows such writes',
  ],
  [
    'incident submodule-programs',
    'run programs of the agent when git inspects a submodule',
    'no command of halo enters a submodule',
  ],
  [
    'incident story-limits',
    'make a change so large that git fails and the attempt is repeated at cost',
    'the patch is truncated; exceeding a limit is a failure of the story',
  ],
  [
    'incident allow-list',
    'use an allow list that is empty or contains a NUL byte to allow every host',
    'an empty list allows nothing; names consist of letters, digits and hyphens',
  ],
  [
    'incident relay',
    'run a relay in the sandbox that sends the requests of another client',
    'each request is checked by its bytes alone',
  ],
  [
    'incident address-password',
    'store and expose a password in a repository address',
    'the password is removed on input; git receives it for one fetch, by its environment',
  ],
  [
    'incident setup-way-out',
    'use setup before the gates to send what the agent cannot',
    'setup reaches only what [network] lists; `halo network` shows which phase sent a request',
  ],
  ['incident dns', 'send data by name lookups', 'the sandbox has no resolver'],
  ['incident patch-parser', 'use a patch that two parsers interpret differently', 'no patch is parsed'],
  ['incident files-api', 'store stolen files at an allowed provider', 'other paths of the provider are refused'],
  [
    'incident repository-settings',
    'change a base URL or run hooks with settings in the repository',
    'they have no effect outside the sandbox and need approval',
  ],
  [
    'incident endless-depth',
    'create nested folders, deeper than the engine can remove',
    'a sandbox empties them first, at any depth; the depth is measured',
  ],
  [
    'incident terminals',
    'use up all terminals of the machine, or type into a terminal of the host',
    'the sandbox has no terminal of the host, and its own limit if the engine supports one',
  ],
  [
    'incident other-users',
    'use sockets or read logs of halo as another user of the machine',
    'folders and files are private from their creation; `halo doctor` checks HALO_HOME',
  ],
  ['incident git-hooks', 'run hooks from the sandbox on the host', 'no .git folder is imported'],
  [
    'incident named-files',
    'change hooks named by a setting, the target of a link, or other progress marks in the PRD',
    'settings, links and the PRD are read first; such a story needs approval',
  ],
  [
    'incident config-programs',
    'name programs in .git/config of a folder that another user owns',
    'halo replaces them with the operator’s own settings, or with none',
  ],
  [
    'incident embedded-repository',
    'add files that make a folder a git repository, which runs programs when a user enters it',
    'such a folder is not imported; git on the host ignores it',
  ],
  [
    'incident hidden-code',
    'hide code from a reviewer with escape sequences or invisible characters',
    'hidden characters are printed as code points and counted in every diff; a story that adds some needs approval',
  ],
  [
    'incident secret-oracle',
    'find out a secret of the machine by a dictionary in files',
    'one refusal without a location; no further attempt',
  ],
  [
    'incident two-names',
    'use a tag with the name of the branch, or a folder name that looks like another',
    'full ref names; NUL-separated lists of git',
  ],
  [
    'incident hostile-server',
    'send responses that a terminal executes',
    'all output passes one function that escapes it',
  ],
  [
    'incident pseudo-key',
    'write code that looks like a secret, so that the diff masks it',
    'diffs mask only known secrets',
  ],
  [
    'incident swapped-commit',
    'have a story done again after a person has read its commit, so that the approval or the landing is of another one',
    'clients send the commit that they showed; another one is refused',
  ],
  [
    'incident published-secret',
    'let halo publish a secret on a forge by the push of a pull request, before a person has seen the change',
    'a branch is pushed only after a person has confirmed every commit in it that may have a secret, also one that was improved since',
  ],
  [
    'incident continued-run',
    'land a rejected, unapproved or flagged result by landing a run that started from it',
    'landing checks every run that made one of the commits, by their trailers: its approval, its rejection, and its flags',
  ],
  [
    'incident added-secret',
    'add a secret where no person sees it: of a service that few use, with a comment or a file that allows it, in a generated file',
    'the rules of gitleaks on the host; only settings of the user allow a rule',
  ],
  [
    'incident strange-answer',
    'respond with another protocol, so that halo waits forever',
    'a status outside 200 to 599 is a failure',
  ],
  ['incident environ', 'print /proc/self/environ with a read tool', 'no process in the sandbox has a secret'],
  [
    'incident open-api',
    'use a local API without a token and with any origin',
    'a token is required on loopback as well',
  ],
  [
    'incident foreign-image',
    'name the image of another project in the file of a repository',
    'only halo’s own image and those listed in config.toml are allowed',
  ],
  [
    'incident held-work',
    'read commits of other runs that are waiting for approval',
    'they are stored beside the mirror, which no sandbox mounts',
  ],
  [
    'incident other-runs',
    'read commits that other runs landed, and other branches',
    'sandboxes see a view of what their own commit reaches',
  ],
  [
    'incident retry-options',
    'weaken the settings of a run with the settings of a retry',
    'the rules of a submit apply; changes to gates and image need a confirmation; the journal records the user',
  ],
  [
    'incident artifact-paths',
    'request a log that leads to another file, or to an endless one',
    'plain names, no links, regular files of at most 16 MiB',
  ],
  [
    'incident repository-pager',
    'configure a pager in a repository',
    'only the user’s own configuration names the pager',
  ],
  ['incident weak-token', 'guess the token', 'weak tokens are refused when the server starts'],
  [
    'incident request-options',
    'weaken the settings of the server, exclude protected paths, land or forge an author with options, profiles (of the server or of the repository) or halo.toml of a request',
    'every key has an owner and a direction; options are never the owner’s own; what lands or weakens needs the right to land',
  ],
  [
    'incident request-probe',
    'probe the network and files with the repository of a request, also by an address whose host programs read differently',
    'only public addresses and absolute paths; one error for all other cases; the host is that of the address that git gets; backslashes and blanks are refused',
  ],
  [
    'incident foreign-prd',
    'mark stories in the PRD of another team as done',
    'over the network, only a file of the submitted repository is accepted',
  ],
  ['incident engine-socket', 'use the engine’s socket in a sandbox', 'it is never mounted'],
  [
    'incident forge-token',
    'an issue makes the agent print the token of the forge',
    'only processes of halo read the token; it is masked, and no sandbox has it',
  ],
  [
    'incident hostile-issue',
    'an issue closes others, mentions people, hides text or forges trailers',
    'bounded data without hidden text; references and mentions in commit messages are broken',
  ],
  [
    'incident foreign-run',
    'have a run directory resumed whose settings and journal somebody else wrote',
    'only run directories below HALO_HOME are resumed; of others, only the path of a PRD in the repository is used, for a new run',
  ],
  [
    'incident model-list',
    'answer the question for models with a redirect, endless data or odd names',
    'redirects are not followed, 16 MiB at most; only texts of a usual length count, and are printed as one line',
  ],
  [
    'incident price-list',
    'publish prices that give budget back, or break halo',
    'a schema with limits; a list that does not fit is refused as a whole, and the prices of before stay',
  ],
  [
    'incident issue-project',
    'have the server read issues of a project that is not one of the repositories of the user, with the token of the forge, or comment on them',
    'the project is that of the submitted address, or its address is on the list of the user; checked before the forge is asked',
  ],
  [
    'incident issue-bait',
    'rewrite an issue after somebody accepted it as work',
    'the agent receives the submitted text; the journal says that the issue was edited',
  ],
  [
    'incident issue-moved',
    'move an issue to another project, so that halo works on it or reports there',
    'the story is cancelled; redirects are not followed, and nothing is reported any more',
  ],
  [
    'incident comment-bomb',
    'write thousands of comments or a huge text into an issue',
    'texts are cut, only comments since the start of the run are read, and their number is bounded',
  ],
  [
    'incident issue-report',
    'an agent writes into comments of issues, or a redirect of the forge gets the token',
    'comments have only words of halo, ids and commits; redirects are not followed',
  ],
  [
    'incident pull-request',
    'act by a text in a pull request, or receive the token with which halo pushes',
    'texts of others are in code spans; the token goes to the configured address of the forge alone, without redirects',
  ],
  [
    'incident credential-target',
    'receive a token, key or password on another port of its server, or by reading a connection without encryption',
    'one function compares scheme, host and port with those that it was configured for, and requires TLS except on this machine',
  ],
  [
    'incident pull-feedback',
    'give the agent instructions by a review or comment on a pull request',
    'only reviews of people who may push count; their texts are data in the prompt of a sealed sandbox, for a limited number of attempts',
  ],
  [
    'incident forge-redirect',
    'a forge redirects a request to another host, which then receives the token',
    'redirects are not followed, and addresses in answers are not used',
  ],
  ['incident git-calls', 'find a call of git without hardened options', 'one function runs git; a test forbids others'],
  ['incident dash-branch', 'use a branch named -h as an option', 'full ref names after --end-of-options'],
  [
    'incident twin-ids',
    'use ids that only trailers or only users cannot distinguish, so that a story counts as done without work',
    'invisible characters and look-alikes are refused; commits are found by a digest of the id',
  ],
  [
    'incident key-collision',
    'use two ids with the same short key, so that one story overwrites the results of another',
    'every key contains 128 bits of a digest',
  ],
  [
    'incident message-orders',
    'close issues, mention users, control CI or announce a release by a commit message',
    'references, brackets and footers in text that halo did not write are escaped',
  ],
  [
    'incident forged-proof',
    'push a proof that claims `true` was the gate, or names hosts of the internal network',
    'its settings are compared with those of the base commit; different ones fail and are not run',
  ],
  [
    'incident unsigned-proof',
    'reuse a signature of something else for a forged proof',
    'each proof needs its own signature by an allowed signer; a missing one is reported',
  ],
  [
    'incident config-newline',
    'turn data into a git setting with a newline',
    'data is never written into git’s configuration',
  ],
  [
    'incident archive-library',
    'write outside the target folder by a vulnerability of tar-fs',
    'fixed versions, checked by a test',
  ],
  [
    'incident slow-globs',
    'use globs in a repository that take very long to match',
    'linear time; limits on number and length; a time limit for all of them',
  ],
  [
    'incident slow-text',
    'send text that makes a search of halo take quadratic time',
    'patterns without ambiguous repetition; limits on length and number',
  ],
  [
    'incident report-bomb',
    'fill the worker’s memory with a test report',
    'limits on depth, names and number while reading',
  ],
  [
    'incident json-bomb',
    'send JSON with more values than fit in memory',
    'values are counted before parsing and validation',
  ],
  [
    'incident endless-file',
    'replace a file that halo reads with a device, a pipe or a huge file',
    'only regular files of a limited size are read, without blocking',
  ],
  [
    'incident linked-file',
    'use a link in a repository that leads out of it',
    'halo neither reads nor writes through it',
  ],
  [
    'incident ref-alias',
    'make a ref that halo writes another name of a branch of the user',
    'refs are moved without following symbolic refs; notes whose ref is one are not written',
  ],
  [
    'incident ignored-files',
    'add files with the paths of ignored files in the checkout',
    'landing overwrites no existing file',
  ],
  [
    'incident other-history',
    'use settings, grafts and caches that make git read another history',
    'they are disabled; halo reads its trailers itself',
  ],
  [
    'incident pretended-pause',
    'stop work for hours by claiming a usage limit of the provider in the agent’s output',
    'only answers of the provider to the gateway, and halo’s own count of requests, make a story wait',
  ],
  [
    'incident agent-choice',
    'choose an agent or a model that the owner does not allow, or another provider and key, by fields of a PRD, halo.toml or options of a request',
    '[choice] of the owner is compared with what takes effect; a choice is only agent, model and effort, and keys are the owner’s',
  ],
  [
    'incident agent-version',
    'let halo run a version of an agent that has a known fault, or a program of the attacker in its place, by halo.toml, an option of a request or an image',
    'only the owner sets versions and installs them, from npm with the checksum of the registry; a sandbox mounts them read-only, over nothing, whatever its image has there',
  ],
  [
    'incident agent-options',
    'turn off the sandbox, redirect traffic or start programs by settings of the agent’s program in halo.toml',
    'only listed settings are passed on, each of which is checked; halo’s own settings replace them; arguments are quoted',
  ],
  [
    'incident prompt-files',
    'put text into the prompts of later stories, or files of the host into prompts',
    'prompts quote regular files of the commit that the run starts from; changes of named files need an approval',
  ],
  ['incident working-folder', 'use a working directory below /proc/self/fd', 'it is refused'],
  [
    'incident kernel-families',
    'use AF_ALG, AF_VSOCK and io_uring in a sandbox without network',
    'the list of system calls refuses them',
  ],
  ['incident internal-network', 'reach the host over an internal network', 'sandboxes have no network'],
  [
    'incident git-holes',
    'exploit vulnerabilities of clone, fetch and submodules',
    'packs are checked in a quarantine; no transport is allowed',
  ],
  ['incident set-env', 'print lines that CI executes as commands', 'printed text is never executed'],
  [
    'incident open-link',
    'leave an escape sequence open by splitting it',
    'lines are escaped as a whole, independent of chunks',
  ],
  ['incident redis-port', 'connect to Redis on a network port', 'Redis listens only on a private unix socket'],
  [
    'incident mcp-page',
    'a page in a browser calls /mcp, or a client opens sessions without end',
    'token, host and origin checked as on all routes; no sessions, no batches',
  ],
  [
    'incident session-data',
    'leave data, links or instructions in the session that a story keeps, for gates, other stories, other agents or halo, or fill the disk with it; forge or break it to get attempts without end',
    'a volume of its own, which only sandboxes of the same agent, version and user in this story mount; halo reads nothing of it; limited to 256 MiB; removed with the story; an attempt begins again at most once for it',
  ],
  [
    'incident mirror-names',
    'choose the address of a repository so that it shares the mirror of another one, whose commits it then gets; spell one address in many ways for a budget each',
    'names have 128 bits of a digest of the only spelling of a source; a mirror names its source and refuses another one; addresses with query, fragment or dots are refused',
  ],
  [
    'incident pipes',
    'put pipes in the place of files of git, so that submits and retries never end and hold up those of others',
    'questions about a checkout end after 30 seconds and with the request; four submits of one user run at the same time, the next ones wait',
  ],
  [
    'incident hidden-changes',
    'hide the changes of a file from a person who approves by a NUL, which makes it binary for git',
    'files that were text before are shown as text in every diff',
  ],
  [
    'incident borrowed-repository',
    'make a repository of your own from the files of another one, by a .git file, commondir, a link, alternates or a worktree, before or after it was checked',
    'all files are resolved before git reads them, and again after each fetch and before each later use; each repository that they belong to must be one of the user',
  ],
  [
    'incident user-access',
    'a user runs operations that the role does not include, reaches runs or repositories of others by ids, paths, keys or MCP, or acts in the name of others',
    'one check for every operation; hidden runs do not exist; resolved paths are compared; keys and names belong to the user of the token',
  ],
  [
    'incident user-token',
    'guess, reuse or read a token: after revocation, in an open stream, in answers, logs and files, behind forged headers',
    'only hashes are stored; 256 random bits; each request looks it up; streams end; refused tokens are limited and recorded; masked by its form',
  ],
  [
    'incident user-limits',
    'use more of a server than the limits of a user, with more tokens, sessions and sign-ins; hold up others with pending sign-ins, tool calls, large PRDs, replays, searches, slow requests or answers that it does not read',
    'limits count users, not tokens or sessions; pending sign-ins are sealed in the cookie; calls, replays, requests and answers at a time are limited per user, and users take turns; a PRD is read in time that grows with its size',
  ],
  [
    'incident follower-flood',
    'exhaust the server with streams that never end',
    'a user may hold 250 streams over all tokens; a stream reads small parts, and its file and watch are closed with it',
  ],
  [
    'incident unread-stream',
    'open streams of long runs and never read them, so that the server keeps them in memory',
    'files are read only as fast as the client reads; a client that reads nothing for an hour is disconnected',
  ],
  [
    'incident huge-request',
    'send bodies, headers, addresses, nested or compressed JSON that fill the memory of the server or its answers',
    'bodies are read up to 8 MiB and not decompressed; levels and values are counted before parsing; errors are truncated',
  ],
  [
    'incident wrong-audience',
    'use a genuine token that was made for another server, another client or another sign-in',
    'tokens are looked up among those of this server; audience, issuer, nonce and time of ID tokens are checked',
  ],
  [
    'incident slow-client',
    'hold connections with headers or a body of a byte at a time, or with nothing',
    'headers have 10 seconds, a whole request 5 minutes, a TLS handshake 10 seconds',
  ],
  [
    'incident sign-in',
    'take over a user by another account, an unverified address or a forged or repeated answer of the provider; act in the name of a signed-in user from another site; lead a sign-in elsewhere; guess tokens in the form',
    'subject bound to the user; state, nonce and PKCE in a cookie, used once; cookies count only in requests of own pages; only own paths; refused tokens are limited and recorded',
  ],
  [
    'incident dashboard-session',
    'receive the cookie of a session on another port of the machine; use a session as a token, or after sign-out; lock a person out with cookies of the same name',
    'the cookie counts only with a key that pages of the same origin keep; a session is not accepted as a token; all are stored and removed at sign-out; each cookie of the name is tried',
  ],
  [
    'incident notification',
    'lead a notification to a service of the machine, forge one, mention people or add headers by texts of agents, read secrets, code or the address of a chat from messages and logs, delay stories by a slow endpoint',
    'endpoints only in the file of the host; public addresses, resolved once, no redirects; signatures; texts escaped for each service; masked; own queue per endpoint',
  ],
  [
    'incident forged-message',
    'a message to an agent poses as one of another user, ends its frame or contains rules and control characters; a program says that it has read messages, or again and again that it takes some',
    'author and rights are those of the request; each message is separate data in prompt and conversation; hidden characters spelled; only messages that were sent count, once, and so does that it takes them',
  ],
  [
    'incident forged-answer',
    'an agent asks a question that contains an answer and rules; an answer contains control characters',
    'question and answer are separate data in the prompt; hidden characters spelled; one answer, with its author',
  ],
  [
    'incident forged-feedback',
    'feedback or a comment contains rules, the end of its fence, control characters or a secret; a comment names a file outside the commit',
    'each text is data of its own in the prompt; lines are read from the commit by halo; hidden characters spelled; secrets masked; only who may reject',
  ],
  [
    'incident mcp-approve',
    'an agent approves its own story or answers its own question through MCP, or submits with looser rules',
    'deciding tools, and settings that land or weaken, only with [mcp] decide in config.toml; the rules of requests',
  ],
  [
    'incident mcp-path',
    'give a tool an id or a path that makes `halo mcp` send the token of its user to another operation of the server',
    'dots alone are not part of an id or a path: the client refuses them',
  ],
  [
    'incident unconfirmed',
    'approve or land a change with a client that does not show what halo flags in it, or by its own settings',
    'the server refuses both, over HTTP and MCP, unless each flag is named; `land.mode = "ff"` lands nothing that is flagged and not approved',
  ],
  [
    'incident mcp-text',
    'names and logs of a run give instructions to the agent that reads them',
    'strings in JSON below a notice that calls them data, also in errors; hidden characters spelled',
  ],
  [
    'incident imported-config',
    'a repository has a .hankrc or task file that halo init should execute, follow out of the repository, or choke on',
    'read as text of limited size, within the repository only; values that a shell would compute are not used',
  ],
  [
    'incident hostile-plan',
    'hide text, forge stories, marks or trailers in the plan of `halo plan`, or have it written through a link',
    'halo writes the file from checked texts, reads it again and compares; done stories stay byte for byte',
  ],
  [
    'incident dry-run-write',
    'change the repository in a dry run',
    'the workspace is mounted read-only; nothing is exported or landed',
  ],
  [
    'incident watched-folder',
    'put a link, a device, a file with a strange name or a folder of links where a queue looks for PRDs and archives them',
    'only regular files of the folder itself are read, nothing is written through a link or over another file',
  ],
  [
    'incident task-folder',
    'put links, pipes, folders, files with strange names, thousands of files or huge ones into a folder of tasks',
    'only regular Markdown files of the folder itself are read, up to a number and a size; what is left out is named',
  ],
  [
    'incident folder-text',
    'send a folder of tasks with names that lead out of it, or that another team has; put the text of a folder into a file',
    'names are checked; a folder belongs to a run only if it has these files and is in the submitted repository; the text is not read from files',
  ],
  [
    'incident folder-marks',
    'replace a task, or the folder of tasks, by a link before its stories are marked',
    'the folder is read again without following links, and each mark is written into the file that was read, if it has not changed',
  ],
  [
    'incident added-task',
    'add a task to the folder of the PRD, which a later run would work on',
    'the folder is guarded as a whole: such a story waits for approval',
  ],
  [
    'incident tests-not-red',
    'write tests that pass without the story, that are empty, skipped or cannot be loaded, or code beside the tests',
    'tests run on the base commit in a clean container, where each must run and fail, except those that the answer names as met already, which are shown; they are in new test files alone',
  ],
  [
    'incident tests-changed',
    'change, remove, rename or link a locked test while implementing the story',
    'locked files are compared by blob id and mode, after the import and after each merge',
  ],
  [
    'incident tests-skipped',
    'make the test runner exit 0 without running the locked tests, or mark them as expected failures',
    'each locked test must be in the report of the run after the change, as passed; an expected failure has not passed',
  ],
  [
    'incident registry-token',
    'read the token of a private registry, or have it sent elsewhere by a redirect, a path or a setting of the repository',
    'the gateway adds it outside of the sandbox, only for URLs below its address; only config.toml of HALO_HOME names it',
  ],
  [
    'incident registry-cache',
    'make the cache of registry archives return what another request, credential or file has put there',
    'only complete archives of immutable URLs over TLS are kept, by URL and credential; the hash is verified before each use',
  ],
  [
    'incident proxy-address',
    'reach an internal address through the proxy of the company, which resolves names itself',
    'literal addresses, and names that the worker resolves to such an address, are refused; the proxy decides about the others',
  ],
  [
    'incident large-repository',
    'fill the disk of HALO_HOME with a repository, or with a server that sends one without an end',
    'a fetch writes no file that is larger than half of what is free when it begins; a larger one is removed',
  ],
  [
    'incident git-server',
    'push with the token of a git server, fetch other repositories with it, or have it sent elsewhere',
    'only fetches of repositories below the URLs of the user pass; requests are rebuilt; redirects stay below these URLs',
  ],
  [
    'incident registry-tunnel',
    'use a tunnel to a registry to publish, to reach other hosts, or to read with a token what the registry does not serve',
    'the gateway ends the TLS of such tunnels, with an authority of its own for each sandbox, and applies the rules of the registry proxy',
  ],
  [
    'incident output-pipe',
    'read or replace the pipe through which the output of an agent reaches halo, or keep it open so that the story never ends',
    'the pipe is a read-only mount for one sandbox that may only write to it; halo stops reading when the sandbox has ended',
  ],
  [
    'incident snapshot-write',
    'change a snapshot from a workspace that starts with it: writing, links, renames, removal, mounts, modes',
    'it is the lower layer of an overlay or copied, and never mounted itself into a sandbox that runs commands',
  ],
  [
    'incident snapshot-poison',
    'make a snapshot contain what an agent or a script wrote, so that other runs install it',
    'made only by setup in clean sandboxes; those of a story serve its run alone until it lands; the key covers what setup reads',
  ],
  [
    'incident retention-links',
    'place links in a run directory, or in its place, so that retention removes files elsewhere',
    'links are removed, never followed; a run directory that is a link is refused',
  ],
  [
    'incident engine-objects',
    'read other branches or runs of a repository in the volume in which an engine keeps its objects, or write there',
    'a volume has the history of one commit, and is mounted read-only where that is an ancestor of the base; others are only mounted where halo fills a new one',
  ],
  [
    'incident engine-certificate',
    'answer in place of an engine of another machine, with a wrong, expired or foreign certificate, or that of another engine',
    'only the authority of halo for this address, for servers only, and only the key with which the engine joined',
  ],
  [
    'incident engine-downgrade',
    'stand between halo and an engine: with an old TLS, without TLS, or with an answer that leads elsewhere',
    'TLS 1.2 or newer before the first byte of a request; no answer leads to another address',
  ],
  [
    'incident engine-answers',
    'answer as an engine without end, slowly, or with containers and volumes of others in its lists',
    'each call has a deadline and a maximum size; only what has the label of this HALO_HOME is listed',
  ],
  [
    'incident engine-exits',
    'forge exit codes on an engine of another machine, so that failing gates pass',
    'possible for its own stories, which name it: an engine is trusted with those alone; import checks and landing do not depend on it',
  ],
  [
    'incident engine-join',
    'become an engine uninvited: with a token that was used, is old or belongs to another engine, or with a signing request that asks for more',
    'the token authenticates one key of one engine for an hour; halo takes only the key of a signing request',
  ],
  [
    'incident retention-paths',
    'copy a run here whose journal names other paths as run id or mirror, so that retention removes those',
    'the folder is the run id; the name of a mirror must be a plain name',
  ],
  [
    'incident top-display',
    'send control sequences, very long names, huge diffs or log lines to the terminal of a person who watches `halo top`',
    'every text is spelled and truncated before it is drawn; the canvas lets only positions and colors of halo through',
  ],
  [
    'incident dashboard-texts',
    'put HTML and scripts into titles, answers, paths and errors, so that they run in the browser of a person who watches',
    'the dashboard creates only text nodes; its policy allows no inline script and no other origin',
  ],
  [
    'incident hostile-backups',
    'replace a backup, so that its restore writes elsewhere, follows links, fills the disk or moves branches of the user',
    'only regular files with names of halo are unpacked into a new folder; nothing has its name there before sizes, hashes, refs and packs are verified',
  ],
  [
    'incident compose-file',
    'commit a compose file that is expensive to read, asks for privileges, files or variables of the machine, or is outside of the repository',
    'size, depth and values are limited, aliases count as what they stand for; what gives a service more than others is refused, and nothing of the machine is read',
  ],
  [
    'incident hostile-service',
    'use a service image to reach the model route, another story, the network or the host, or to become root',
    'a service has a network of its own, no gateway and no repository; no capabilities, no new privileges; it shares only a socket for each port with its command',
  ],
  [
    'incident service-data',
    'leave data in a database for the next gate or story to read, such as a verdict',
    'each command has services of its own, whose volumes are new',
  ],
  [
    'incident prepared-data',
    'change what other stories and runs find in a prepared database: by files that are not listed, by what a command writes, by a commit that does not land',
    'data of listed files that no story has changed is made in the tree on which the run began, other data is of one commit until it lands; a view of it is writable, itself it is not',
  ],
  [
    'incident service-checks',
    'let a ready check never end',
    'a service that is not ready in its time fails the attempt',
  ],
  [
    'incident service-names',
    'give a service a name, port or folder of halo',
    'they are refused when the settings are read',
  ],
  [
    'incident debug-shell',
    'use a debug shell to reach the network, the engine or the repository, to change a snapshot, to stay after its end, or to give commands to the terminal of a person',
    'the shell is in a sealed sandbox on views, with a terminal of its own; escape sequences that a terminal answers, or that change more than its screen, are removed; the sandbox ends with its connection',
  ],
  [
    'incident acp-lines',
    'make an ACP agent print or say what looks like lines of halo’s client, hide an answer in what it ran, ask for rights that it names itself, or print without end',
    'each update becomes one line, in which all text is quoted; only the last message of the turn is the answer, and only kinds of permissions count; lines have a maximum size',
  ],
  [
    'incident codex-server',
    'make the app server of Codex load servers and settings of the repository, or print or ask for something that halo’s client takes for the turn',
    'the client gives the thread no folder and no sandbox, with which Codex would trust the repository; it prints only known items of its own thread, as one quoted line each, and grants no request',
  ],
  [
    'incident review-frame',
    'put text into a change that ends the prompt of its reviewer, poses as a rule, or as the answer of a reviewer',
    'story and diff are data in fences that no text can end, before the rules; only the last message of the reviewer is read, by a schema, and its sandbox has no word of the author',
  ],
  [
    'incident review-forgery',
    'have a reviewer run code of the change that prints another answer into the output of the reviewer',
    'an answer that objects is noted; if the last one does not, the review is not valid, and a person decides',
  ],
  [
    'incident review-bribe',
    'make a reviewer agree by injection, also in files that agents read as instructions or run, or choose a reviewer that does',
    'a reviewer lands nothing: gates, protected paths and approvals decide as without it; files that instruct agents are not in its folder; requests need the right to land to choose agent, model or command of a reviewer, and may not review less',
  ],
  [
    'incident review-words',
    'let a reviewer put rules into the prompt of the next attempt, or markup into pull requests and pages',
    'its findings are limited texts in fences and code spans; places that the diff does not have are left out',
  ],
];

export const ATTACKS: readonly Attack[] = ROWS.map(([id, attack, defence]) => ({ id, attack, defence }));

/** The ids that a test's full name begins with: `attacks 14, 15 and 40: …`, `attack 21, incident git-hooks: …`. */
export function idsIn(name: string): string[] {
  // Hazards have their own numbers.
  const head = /^([^:]*):/.exec(name)?.[1]?.replace(/\bhazards? \d+(?:(?:, | and )\d+)*/g, '') ?? '';
  if (!/^(attacks?|incident) /.test(head)) return [];
  const numbers = [...head.matchAll(/\b\d+\b/g)].map(([number]) => `attack ${number}`);
  const incidents = [...head.matchAll(/incident ([a-z-]+)/g)].map(([, slug]) => `incident ${slug}`);
  return [...numbers, ...incidents];
}
