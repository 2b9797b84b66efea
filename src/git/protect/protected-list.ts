/**
 * Files that control tools outside of a sandbox: changing them can run code on a developer's machine, publish in the
 * user's name, or disable protections. Grouped by the tools that read them; globs as in `[land] protect`. Files that most
 * stories have to change are not listed: package manifests, makefiles, Dockerfiles, lock files.
 */
export const PROTECTED_GROUPS = {
  'git and other version control': [
    '**/.{gitattributes,gitmodules,gitconfig,lfsconfig,mailmap,hgsub}',
    '**/.{hg,jj,sl,svn,bzr,pijul}/**',
    '**/{CVS,_darcs}/**',
  ],
  // Run at each commit, push or checkout.
  hooks: [
    '**/.{husky,githooks,git-hooks,hooks,lefthook,pre-commit,cargo-husky}/**',
    '**/{.pre-commit-config.yaml,.pre-commit-config.yml,.pre-commit-hooks.yaml,.overcommit.yml,prek.toml,hk.pkl}',
    '**/{lefthook,.lefthook,lefthook-local,.lefthook-local}.{yml,yaml,toml,json,jsonc}',
    '**/{.simple-git-hooks,simple-git-hooks,captainhook,.captainhook}.{json,js,cjs,mjs,ts}',
    '**/{.huskyrc,.huskyrc.*,.rusty-hook.toml,grumphp.yml,.lintstagedrc,.lintstagedrc.*,lint-staged.config.*}',
  ],
  // Run with the rights and secrets of the project, in each folder that may be the top of one.
  CI: [
    '**/.{github,gitlab,gitea,forgejo,circleci,buildkite,woodpecker,teamcity,semaphore,harness,tekton,builds}/**',
    '**/.{azure-pipelines,azure-devops,azuredevops,vsts-ci,drone,zuul.d,jenkins,ci,buddy,bitrise,codefresh}/**',
    '**/{.gitlab-ci*,.travis.yml,.travis.yaml,.cirrus.*,.build.yml,.build.yaml,.zuul.yaml,.scrutinizer.yml}',
    '**/{.drone,.woodpecker}.{yml,yaml,jsonnet,star}',
    '**/{appveyor,.appveyor,circle,codemagic,wercker,.wercker,shippable,buddy,bitrise,codefresh}.{yml,yaml}',
    '**/{azure-pipelines,bitbucket-pipelines,buildspec,cloudbuild,screwdriver,.screwdriver,taskcluster}*.{yml,yaml,json}',
    '**/{Jenkinsfile,Jenkinsfile.*,codeship-services.yml,codeship-steps.yml,.taskcluster.yml,.readthedocs.yaml,.vela.yml,*.gocd.yaml}',
  ],
  // May merge, approve, publish or release without a person.
  'bots and releases': [
    '**/{atlantis,.coderabbit,.gitstream,codecov,.codecov}.{yaml,yml,cm}',
    '**/{CODEOWNERS,OWNERS,OWNERS_ALIASES,renovate.json,renovate.json5,.renovaterc,.renovaterc.*}',
    '**/{.mergify.yml,.kodiak.toml,.bulldozer.yml,.policy.yml,.pullapprove.yml,.prow.yaml,bors.toml,.bors.toml}',
    '**/.{mergify,dependabot,probot,spacelift,terrateam}/**',
    '**/{.goreleaser,.release-it}.{yml,yaml,json,toml,js,cjs,ts}',
    '**/{.releaserc,.releaserc.*,release.config.*,release-please-config.json,.changeset/config.json}',
  ],
  // Deploy what is pushed.
  deployment: [
    '**/{netlify,fly,railway,nixpacks,wrangler}.toml',
    '**/{vercel,now,railway,firebase,wrangler}.{json,jsonc}',
    '**/{render,amplify,apprunner,heroku,serverless}.{yml,yaml}',
    '{app.yaml,app.yml,serverless.json,serverless.ts,serverless.js,Procfile,captain-definition}',
    '**/{Procfile.*,.firebaserc,.platform.app.yaml}',
    '**/.{vercel,netlify,firebase,platform,upsun,ebextensions,elasticbeanstalk,do,heroku}/**',
  ],
  // Read by the next agent, and the servers that it starts.
  agents: [
    '**/.{claude,claude-plugin,codex,cursor,gemini,windsurf,opencode,kiro,roo,cline,clinerules,continue}/**',
    '**/.{amazonq,aider,agent,agents,kilo,kilocode,trae,qwen,junie,augment,crush,devin,factory,zencoder,amp}/**',
    '**/.{goose,openhands,vibe,pi,warp,aiassistant,tabnine,codeium,copilot,codebuddy,iflow,qoder,rovodev}/**',
    '**/.{mcp,ai,serena,specify,ruler,rulesync,bmad-core,beads,conductor}/**',
    '**/{AGENTS,AGENT,AGENTS.override,AGENTS.local,CLAUDE,CLAUDE.local,GEMINI,QWEN,CRUSH,WARP,CODEX,CODEBUDDY}.md',
    '**/{IFLOW,copilot-instructions,replit,.openhands_instructions}.md',
    '**/{opencode,.opencode,crush,.crush,mcp,.mcp,firebender,conductor,rulesync}.{json,jsonc}',
    '**/.{rules,airules,cursorrules,windsurfrules,clinerules,clinerules-*,roorules,roorules-*,roomodes,goosehints}',
    '**/.{kilocodemodes,continuerules,builderrules,aider.conf.yml,aider.model.settings.yml}',
  ],
  // Start programs when a folder or a project is opened.
  'editors and workspaces': [
    '**/.{vscode,idea,devcontainer,zed,fleet,vs,run,nova,theia,helix,nvim,vim,settings,externalToolBuilders}/**',
    '**/.{gitpod,idx,codesandbox,coder,daytona,ona,bsp,dagger}/**',
    '**/{.gitpod.yml,.gitpod.Dockerfile,.replit,replit.nix,.devcontainer.json,devfile.yaml,.devfile.yaml,.project}',
    '**/*.{code-workspace,sublime-project,Rproj}',
    '**/{.vimrc,.gvimrc,.nvimrc,.exrc,.nvim.lua,.lvimrc,.vimspector.json,.dir-locals.el,.dir-locals-2.el}',
    '**/{.ycm_extra_conf.py,.clangd,.luarc.json,.luarc.jsonc,.gdbinit,.lldbinit,.pylintrc,.php-cs-fixer*.php}',
  ],
  // Run when a shell enters a folder, or an interpreter starts in it.
  'shells and interpreters': [
    '**/{.env,.env.local,.envrc,.envrc.*,.autoenv,.autoenv.*,.tool-versions,.prototools}',
    '**/{mise,.mise,mise.*,.mise.*}.toml',
    '**/.{mise,config,direnv,devenv,devbox,flox}/**',
    '**/{flake,shell,default,devenv}.nix',
    '**/{devenv.yaml,devbox.json,.irbrc,.pryrc,.byebugrc,.pdbrc,.flaskenv,.sdkmanrc,.Rprofile,.Renviron,.iex.exs,.ghci,.ocamlinit}',
    '**/{sitecustomize.py,usercustomize.py,renv/activate.R,compose.override.*,docker-compose.override.*}',
  ],
  // Say where packages come from and what runs when they are installed or built.
  'package managers and build tools': [
    '**/{.npmrc,.yarnrc,.yarnrc.yml,.pnpmfile.*,pnpmfile.js,.pnp.*,bunfig.toml,.bunfig.toml}',
    '**/{pip.conf,pip.ini,.pypirc,poetry.toml,uv.toml,.pdm.toml,.condarc,.gemrc,nuget.config,.terraformrc}',
    '**/{rust-toolchain,rust-toolchain.toml,gradlew,gradlew.bat,mvnw,mvnw.cmd,.sbtopts,.jvmopts,.mill-jvm-opts}',
    '**/{.bazelrc,.bazelversion,.bazeliskrc,tools/bazel,.buckconfig}',
    '**/.{yarn,cargo,mvn,gradle,bundle,swiftpm,moon,buckconfig.d}/**',
    'gradle',
    '**/gradle/wrapper/**',
  ],
  // Gates find their programs there before those of the image.
  'dependencies in the tree': [
    '**/{node_modules,bower_components,jspm_packages,.venv,venv,.virtualenv,__pypackages__,.tox,.nox,.pixi}/**',
    '**/{Pods,_opam,.opam,.luarocks,site-packages}/**',
    'vendor/**',
    '**/vendor/{bin,bundle,composer}/**',
  ],
  // Say what they may overlook.
  'scanners of secrets and vulnerabilities': [
    '**/{.snyk,.trivyignore,.trivyignore.yaml,.gitleaksignore,.gitleaks.toml,.semgrepignore,.secrets.baseline}',
    '**/{.talismanrc,.bandit,.nsprc,.whitesource,.grype.yaml,osv-scanner.toml,.safety-policy.yml,audit-ci.json}',
    '**/.{checkov,semgrep}.{yml,yaml}',
  ],
  // Say what is done next, and what counts as done.
  PRDs: [
    '**/prd.json',
    '{PRD,IMPLEMENTATION_PLAN,fix_plan,@fix_plan,PROMPT,PROMPT_*,@AGENT}.md',
    '{tasks.json,.repos.json,ralph.sh,ralph.yml,.ralphrc,scripts,scripts/ralph}',
    'scripts/ralph/*.{sh,md}',
    '.{daedalus,hank,ralph,ralph-tui,ralphy,swanson,taskmaster}/**',
  ],
  halo: ['{halo.toml,.halo/**}'],
} as const satisfies Record<string, readonly string[]>;
