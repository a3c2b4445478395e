import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GitFailed } from '../../git/git.ts'
import { writeGitFolder } from '../../git/gitFolder.ts'
import { copyPlain } from '../../git/untrustedFiles.ts'
import type { Send } from '../send.ts'
import { submoduleAt } from './findSubmodules.ts'
import { sendCommits } from './sendCommits.ts'

const maxShallowBytes = 64 * 1024 * 1024

/** A commit of a submodule in a worktree, and the Git folder of the submodule in which it is missing. */
export interface SubmoduleExport {
  path: string
  commit: string
  store: string
}

/** Sends a pack of a submodule's commit and of everything before it that the submodule's other Git folder lacks. @throws GitFailed */
export async function exportSubmodule(
  topLevel: string,
  { path, commit, store }: SubmoduleExport,
  send: Send,
): Promise<void> {
  const nested = await submoduleAt(topLevel, path)
  if (!nested) throw new GitFailed('failed', 'The submodule no longer exists.')
  const folder = await mkdtemp(join(tmpdir(), 'board-transfer-'))
  try {
    const stores = [store, nested.commonDir].map(each => join(each, 'objects'))
    await writeGitFolder(folder, commit.length === 64 ? 'sha256' : undefined, stores)
    await copyPlain(join(nested.commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    await sendCommits(folder, store, commit, send)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
