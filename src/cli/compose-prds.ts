import type { ListImport, ListImportRequest } from '../api/repository/import-list.ts';
import type { DocumentImport, ImportDocumentRequest } from '../api/repository/import-document.ts';
import type { PlanRequest, PlanSession } from '../api/repository/open-plan.ts';
import type { PrdSearch } from '../api/repository/discover-prd.ts';
import type { BatchEntry, IssuesRequest } from '../api/operations/schemas.ts';
import type { FolderResult } from '../api/prd-folder/folder-queue.ts';
import type { QueuedPrd } from '../api/prd-folder/list-folder.ts';
import type { FolderRequest } from '../api/prd-folder/run-folder-queue.ts';
import type { Prd, PrdFile } from '../core/prd/prd.ts';
import type { ServiceContext } from './compose-runs.ts';

/** PRD files and documents. */
export interface PrdServices {
  /** Throws PRD_INVALID, and USAGE if the dialect does not exist. */
  parsePrd(file: PrdFile & { as: string | undefined }): Promise<Prd>;
  /**
   * Parses a PRD with the rules of a tool (`as`) and those that the settings of a folder add. Throws PRD_INVALID,
   * CONFIG_INVALID, and USAGE if the dialect does not exist.
   */
  validatePrd(file: PrdFile & { as: string | undefined; folder: string; set: string[] }): Promise<Prd>;
  /** The agent that the settings of a folder name, and its model, if it uses one of halo. Throws CONFIG_INVALID, USAGE. */
  readAgent(query: {
    folder: string;
    profile: string | undefined;
    set: string[];
  }): Promise<{ agent: string; model?: string }>;
  /** The issues that a submit from this machine would work on, as a PRD, and notes. Throws what a submit throws. */
  readIssues(
    request: Pick<IssuesRequest, 'source' | 'label' | 'repo' | 'again'>,
  ): Promise<{ prd: PrdFile; notes: string[] }>;
  /** The path of the only PRD in a repository's usual places. Throws PRD_UNREADABLE. */
  discoverPrd(search: PrdSearch): Promise<string>;
  /** Reads a batch file, and the PRDs of its repositories. Throws USAGE, PRD_UNREADABLE. */
  readBatch(path: string): Promise<BatchEntry[]>;
  /** Runs the PRDs of a folder. Throws PRD_UNREADABLE, USAGE. */
  runFolderQueue(request: FolderRequest): Promise<FolderResult>;
  /** Lists the PRDs of a folder in the order in which a queue runs them. Throws PRD_UNREADABLE. */
  listFolder(folder: string): Promise<QueuedPrd[]>;
  convertPrd(file: PrdFile & { to: string }): Promise<{ text: string; warnings: string[]; lost: string[] }>;
  /** Prepares the run that turns a document into a PRD. Throws PRD_UNREADABLE. */
  openImport(request: ImportDocumentRequest): Promise<DocumentImport>;
  /** Turns the lists of a document into a PRD, without an agent. Throws PRD_UNREADABLE, PRD_INVALID, USAGE. */
  importList(request: ListImportRequest): Promise<ListImport>;
  /** Prepares the run in which an agent plans work. Throws PRD_UNREADABLE, PRD_INVALID, USAGE. */
  openPlan(request: PlanRequest): Promise<PlanSession>;
}

/** The services for PRDs. Modules are loaded on first use. */
export function composePrdServices({ readHost, masker }: Omit<ServiceContext, 'args'>): PrdServices {
  return {
    async parsePrd({ path, bytes, as }) {
      const [{ parsePrd }, { parseDialectId }] = await Promise.all([
        import('../prd/parse-prd.ts'),
        import('../prd/dialect-registry.ts'),
      ]);
      return parsePrd(bytes, path, as === undefined ? undefined : parseDialectId(as));
    },
    async validatePrd({ path, bytes, as, folder, set }) {
      const [{ validatePrd }, { readConfig }] = await Promise.all([
        import('../api/repository/prd-rules.ts'),
        import('../api/repository/repo-config.ts'),
      ]);
      const { config } = await readConfig({ host: await readHost(), folder, profile: undefined, set });
      return validatePrd({ path, bytes }, { as, requireCriteria: config.prd.criteria === 'required' });
    },
    async readAgent(query) {
      const { readConfig } = await import('../api/repository/repo-config.ts');
      const { agent, model } = (await readConfig({ host: await readHost(), ...query })).config;
      return { agent, ...(model.api !== undefined && { model: model.name }) };
    },
    async readIssues(request) {
      const [{ previewIssues }, { openStore }, { processEnv }] = await Promise.all([
        import('../api/issues/submit-issue-run.ts'),
        import('../store/store.ts'),
        import('../config/environment/host.ts'),
      ]);
      const [host, known] = await Promise.all([readHost(), masker()]);
      const store = openStore(host.home, { transcribe: () => [], masker: known });
      return previewIssues({ host, env: processEnv(), masker: known, store }, request);
    },
    async discoverPrd(search) {
      const { discoverPrd } = await import('../api/repository/discover-prd.ts');
      return discoverPrd(search);
    },
    async readBatch(path) {
      const { readBatch } = await import('../api/submit/batch-file.ts');
      return readBatch(path);
    },
    async runFolderQueue(request) {
      const { runFolderQueue } = await import('../api/prd-folder/run-folder-queue.ts');
      return runFolderQueue((await readHost()).home, request);
    },
    async listFolder(folder) {
      const { listFolder } = await import('../api/prd-folder/list-folder.ts');
      return listFolder((await readHost()).home, folder);
    },
    async convertPrd({ path, bytes, to }) {
      const [{ convertPrd }, { parseDialectId }] = await Promise.all([
        import('../prd/convert-prd.ts'),
        import('../prd/dialect-registry.ts'),
      ]);
      return convertPrd(bytes, path, parseDialectId(to));
    },
    async openImport(request) {
      const { openImport } = await import('../api/repository/import-document.ts');
      return openImport((await readHost()).home, request);
    },
    async importList(request) {
      const { importList } = await import('../api/repository/import-list.ts');
      return importList(request);
    },
    async openPlan(request) {
      const { openPlan } = await import('../api/repository/open-plan.ts');
      return openPlan(request);
    },
  };
}
