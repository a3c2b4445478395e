import { compareCommits, compareFiles, readCompared } from './inside/compareFiles.ts'
import type { Comparison, DiffOptions } from './comparison.ts'
import type { SubmoduleCommit } from '../git/submodules.ts'
import type { Repository } from '../git/workingTrees.ts'
import { inFolder } from '../git/untrustedFiles.ts'
import { tipInside, type Shadow } from '../git/shadow.ts'
import type { WorkingTree } from '../git/workingTrees.ts'
import {
  dropTaken,
  exportTip,
  importTip,
  showOutside,
  updateShadow,
  type ShadowUpdate,
} from './inside/shadowOperations.ts'
import { listEmptySubmodules } from './inside/changes.ts'
import { clearFolder } from './inside/clearFolder.ts'
import { copyIgnored, type CopyPlaces } from './inside/copyIgnored.ts'
import type { CopyRules } from './includeFile.ts'
import { exportSubmodule, type SubmoduleExport } from './inside/exportSubmodule.ts'
import { findLanded } from './inside/findLanded.ts'
import { findSubmodules, hasCommit, submoduleAt } from './inside/findSubmodules.ts'
import { isClean } from './inside/isClean.ts'
import { fetchLargeFiles, pushLargeFiles } from './inside/localLargeFiles.ts'
import { runLocalRemote } from './inside/localRemote.ts'
import type { LocalRun } from '../git/remoteGit.ts'
import { inQuarantine } from './inside/quarantine.ts'
import { moveFiles, type FileMove } from './inside/moveFiles.ts'
import { readFolderFile } from './inside/readFolderFile.ts'
import { readSlashCommands } from './inside/readSlashCommands.ts'
import { repairPointer } from './inside/repairPointer.ts'
import { snapshotAll, type SnapshotRules } from './inside/snapshotAll.ts'
import { writePatch } from './inside/writePatch.ts'
import type { Send } from './send.ts'
import type { WorktreePlace } from './worktreeMounts.ts'

/**
 * The work on the files of a worktree, by name. With bubblewrap, it runs in a process that sees only this worktree (`worktreeProgram.ts`).
 * Otherwise, it runs in the server. An operation receives and returns JSON values, and sends bytes.
 */
export const operations = {
  /** Compares the files with a commit. Sends the diff, and with `stores` a pack of the new objects of the snapshot. */
  compare: async (
    { worktree, base, options }: { worktree: Repository; base: string | null; options: DiffOptions },
    send: Send,
  ): Promise<Comparison> => {
    const comparison = await compareFiles(worktree, base, options, bytes => send(bytes, 'pack'))
    await send(Buffer.from(comparison.work.diff), 'diff')
    return { ...comparison, work: { ...comparison.work, diff: '' } }
  },
  compareCommits: async (
    { worktree, base, tip, options }: { worktree: Repository; base: string | null; tip: string; options: DiffOptions },
    send: Send,
  ): Promise<Comparison> => {
    const comparison = await compareCommits(worktree, base, tip, options)
    await send(Buffer.from(comparison.work.diff), 'diff')
    return { ...comparison, work: { ...comparison.work, diff: '' } }
  },
  readTip: async ({ worktree }: { worktree: Shadow }): Promise<string | null> => (await tipInside(worktree)) ?? null,
  exportTip: ({ worktree, known }: { worktree: Shadow; known: readonly string[] }, send: Send) =>
    exportTip(worktree, known, send),
  importTip: ({ worktree, tip }: { worktree: Shadow; tip: string | null }) => noResult(importTip(worktree, tip)),
  showOutside: ({ worktree, tip }: { worktree: Shadow; tip: string }) => noResult(showOutside(worktree, tip)),
  updateShadow: ({ worktree, update }: { worktree: Shadow; update: ShadowUpdate }) => updateShadow(worktree, update),
  dropTaken: ({ worktree }: { worktree: Shadow }) => noResult(dropTaken(worktree)),
  clearShadow: ({ worktree }: { worktree: Shadow }) => noResult(clearFolder(worktree.common)),
  isClean: ({ worktree, branch, landed }: { worktree: WorktreePlace; branch: string | null; landed?: string }) =>
    isClean(worktree, branch, landed),
  findLanded: ({ worktree, branch, base }: { worktree: Repository; branch: string; base: string }) =>
    findLanded(worktree, branch, base),
  snapshotAll: ({ worktree, rules }: { worktree: Repository; rules: SnapshotRules }, send: Send) =>
    snapshotAll(worktree, rules, send),
  listEmptySubmodules: ({ worktree }: { worktree: Repository }) => inQuarantine(worktree, listEmptySubmodules),
  /** Finds commits of submodules in the worktree, unless it `isGone`, and in `modules`. */
  findSubmodules: ({
    worktree,
    isGone,
    modules,
    commits,
  }: {
    worktree: WorkingTree
    isGone: boolean
    modules: string
    commits: readonly SubmoduleCommit[]
  }) => findSubmodules(isGone ? null : worktree.topLevel, modules, commits),
  /** Sends a pack of a submodule's commit. */
  exportSubmodule: ({ worktree, submodule }: { worktree: WorkingTree; submodule: SubmoduleExport }, send: Send) =>
    noResult(exportSubmodule(worktree.topLevel, submodule, send)),
  /** Whether the submodule at a path has a commit. Null if there is no submodule. */
  hasSubmoduleCommit: async ({
    worktree,
    path,
    commit,
  }: {
    worktree: WorkingTree
    path: string
    commit: string
  }): Promise<boolean | null> => {
    const found = await submoduleAt(worktree.topLevel, path)
    return found ? hasCommit(found.commonDir, commit) : null
  },
  moveFiles: ({ worktree, move }: { worktree: WorkingTree; move: FileMove }, send: Send) =>
    noResult(moveFiles(worktree, move, send)),
  /** Copies ignored files of a project's folder to a worktree. Returns their paths in the target folder. */
  copyIgnored: ({ places, rules }: { worktree: WorktreePlace; places: CopyPlaces; rules: CopyRules }) =>
    copyIgnored(places, rules),
  readFolderFile: (
    { worktree, file }: { worktree: WorktreePlace; file: { path: string; maxBytes: number } },
    send: Send,
  ) => readFolderFile(worktree.topLevel, file, send),
  readSlashCommands: ({ worktree }: { worktree: WorktreePlace }) => readSlashCommands(worktree.topLevel),
  /** Sends the commits of a fetch. */
  runLocalRemote: ({ worktree, run }: { worktree: WorkingTree; run: LocalRun }, send: Send) =>
    runLocalRemote(worktree.commonDir, run, send),
  fetchLargeFiles: ({ worktree, ids }: { worktree: WorkingTree; ids: readonly string[] }, send: Send) =>
    noResult(fetchLargeFiles(worktree.topLevel, ids, send)),
  pushLargeFiles: ({ worktree, ids }: { worktree: WorkingTree; ids: readonly string[] }) =>
    noResult(pushLargeFiles(worktree.commonDir, worktree.topLevel, ids)),
  /** Creates a folder below the worktree's. */
  createFolder: ({ worktree, path }: { worktree: WorktreePlace; path: string }) =>
    inFolder(worktree.topLevel, path, async () => null, true),
  repairPointer: ({ worktree }: { worktree: WorkingTree }) => repairPointer(worktree),
  /** Removes all files. */
  clearFiles: ({ worktree }: { worktree: WorktreePlace }) => noResult(clearFolder(worktree.topLevel)),
  /** Sends the patch. */
  writePatch: ({ worktree, branch }: { worktree: WorktreePlace; branch: string | null }, send: Send) =>
    noResult(writePatch(worktree.topLevel, branch, send)),
  /** Sends a changed file, before or after the change. */
  readChanged: async (
    { worktree, base, file }: { worktree: Repository; base: string | null; file: ChangedFile },
    send: Send,
  ): Promise<null> => {
    await send(await readCompared(worktree, base, file))
    return null
  },
}

const noResult = (work: Promise<void>): Promise<null> => work.then(() => null)

/** A changed file of a worktree, or of the commit `tip`. `since`: the object that replaces the base commit. */
export type ChangedFile = Parameters<typeof readCompared>[2]

type Operations = typeof operations
export type OperationName = keyof Operations
export type OperationInput<Name extends OperationName> = Parameters<Operations[Name]>[0]
export type OperationResult<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>
export type Operation<Name extends OperationName> = (
  input: OperationInput<Name>,
  send: Send,
) => Promise<OperationResult<Name>>
export type { ShadowUpdate }
