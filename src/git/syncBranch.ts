import { copyFile, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GitFailed, GitMissing, gitOutput } from './git.ts'
import { copyIndexFile, copyIndexFiles, indexFiles } from './gitFolder.ts'
import { withRepositoryLock } from './repositoryLock.ts'
import { findShadow, readState, refOf, shadowsOf, tipInside, tipOutside, writeState, type Shadow } from './shadow.ts'
import { transferFrom, type Transfer } from './shadowObjects.ts'
import { inFolder, replaceUntrusted, writeUntrusted } from './untrustedFiles.ts'

const retryMs = 30_000
const maxReasonLength = 500
/** Shows an agent where its branch is in the repository, when it moved there too. */
const movedOutside = 'refs/board/outside'

/**
 * none: the worktree has no Git folder of its own, or nothing is new. moved: the branch is on the agent's commit now.
 * refused: it could not be moved, and stays as it was; the agent's commits stay in its worktree's own Git folder.
 */
export interface BranchSync {
  state: 'none' | 'moved' | 'refused'
  reason?: string
}

/**
 * Takes over what an agent has committed behind its walls: the objects, checked, and then the card's own branch, and nothing
 * else. What somebody committed outside meanwhile goes the other way. Without news it costs some small reads, and no process.
 * Never call it with the repository's lock held.
 * @throws Problem CONFLICT where there is news and no Git
 */
export async function syncBranch(worktreePath: string): Promise<BranchSync> {
  const shadow = await findShadow(worktreePath)
  if (!shadow || !(await hasNews(shadow))) return { state: 'none' }
  return withRepositoryLock(shadow.commonDir, () => syncLocked(shadow))
}

/** Does the same for the worktrees of a repository in which a branch is what comes out. */
export async function syncWorktreesOn(commonDir: string, branch: string): Promise<void> {
  for (const name of await readdir(shadowsOf(commonDir)).catch(() => [])) {
    const state = await readState(join(shadowsOf(commonDir), name))
    if (state?.branch === branch) await syncBranch(state.worktree)
  }
}

async function hasNews(shadow: Shadow): Promise<boolean> {
  const [inside, outside] = await Promise.all([tipInside(shadow), tipOutside(shadow)])
  return inside !== outside || (outside ?? null) !== shadow.state.tip
}

/** The same with the repository's lock held. The shadow's state is what holds afterwards. */
export async function syncLocked(shadow: Shadow): Promise<BranchSync> {
  const [inside, outside] = await Promise.all([tipInside(shadow), tipOutside(shadow)])
  if (outside === undefined) return { state: 'none' }
  if (inside === outside) return settle(shadow, outside, 'none')
  if (inside === undefined || inside === shadow.state.tip) {
    await bringIn(shadow, outside)
    return settle(shadow, outside, 'none')
  }
  const tips = `${inside} ${outside}`
  const { refused } = shadow.state
  if (refused?.tips === tips && refused.until > Date.now()) return { state: 'refused', reason: refused.reason }
  try {
    await transferFrom(shadow, inside, transfer => takeOver(shadow, transfer, inside, outside))
    return await settle(shadow, inside, 'moved')
  } catch (error) {
    if (error instanceof GitMissing) throw error
    const reason = String((error as Error).message).slice(0, maxReasonLength)
    shadow.state.refused = { tips, reason, until: Date.now() + retryMs }
    await writeState(shadow.folder, shadow.state).catch(() => {})
    return { state: 'refused', reason }
  }
}

async function settle(shadow: Shadow, tip: string, state: 'none' | 'moved'): Promise<BranchSync> {
  if (shadow.state.tip !== tip) {
    shadow.state.tip = tip
    delete shadow.state.refused
    await writeState(shadow.folder, shadow.state)
  }
  return { state }
}

async function takeOver(shadow: Shadow, transfer: Transfer, inside: string, outside: string): Promise<void> {
  await transfer.bringCommit(inside)
  if (outside !== shadow.state.tip)
    await transfer.trusted(['merge-base', '--is-ancestor', outside, inside]).catch(async () => {
      await writeUntrusted(shadow.common, movedOutside, `${outside}\n`)
      throw new GitFailed(
        'failed',
        `The branch moved in the repository as well. Merge ${movedOutside} in the worktree, then it can be taken over.`,
      )
    })
  await gitOutput(
    shadow.commonDir,
    ['update-ref', '--no-deref', '-m', 'board: from the sandbox', refOf(shadow.state), inside, outside],
    { env: { GIT_DIR: shadow.gitDir } },
  )
  await followWithIndex(shadow, transfer, inside).catch(() => {
    /* Git outside shows more as changed than is, until the next commit. */
  })
}

/** Puts the worktree's index outside on the commit, with what the agent's index knows of the files, so that none must be read again. */
async function followWithIndex(shadow: Shadow, { folder, trusted }: Transfer, tip: string): Promise<void> {
  const { branch } = shadow.state
  const head = (await readFile(join(shadow.gitDir, 'HEAD'), 'utf8')).trim()
  if (branch !== null && head !== `ref: refs/heads/${branch}`) return
  const index = join(folder, 'index')
  await copyIndex(shadow, folder)
  await trusted(['-c', 'core.splitIndex=false', 'read-tree', '--reset', tip], { env: { GIT_INDEX_FILE: index } })
  const lock = join(shadow.gitDir, 'index.lock')
  await writeFile(lock, '', { flag: 'wx' })
  try {
    await copyFile(index, lock)
    await rename(lock, join(shadow.gitDir, 'index'))
  } catch (error) {
    await rm(lock, { force: true })
    throw error
  }
}

/** Copies the index of a shadow into a folder. */
export const copyIndex = (shadow: Shadow, to: string): Promise<void> =>
  inFolder(shadow.common, shadow.admin, folder => copyIndexFiles(folder, to))

/** Puts the shadow's branch on a commit of the repository, with the index outside. */
export async function bringIn(shadow: Shadow, tip: string): Promise<void> {
  const { common, admin, gitDir, state } = shadow
  await writeUntrusted(common, state.branch === null ? `${admin}/HEAD` : refOf(state), `${tip}\n`)
  for (const name of await indexFiles(gitDir))
    await replaceUntrusted(common, `${admin}/${name}`, file => copyIndexFile(join(gitDir, name), file))
}
