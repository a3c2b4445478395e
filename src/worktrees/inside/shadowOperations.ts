import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAlternates } from '../../git/alternates.ts'
import { kindOf } from '../../git/kindOf.ts'
import { gitOutput } from '../../git/git.ts'
import { copyIndexFile, copyWorktreePart, indexFiles, writeGitFolder } from '../../git/gitFolder.ts'
import { isMain, outsideRef, refOf, storeName, tipInside, type Shadow } from '../../git/shadow.ts'
import { copyPlain, inFolder, replaceIn, replaceUntrusted, writeUntrusted } from '../../git/untrustedFiles.ts'
import type { Send } from '../operations.ts'
import { sendCommits } from './sendCommits.ts'
import { refreshRefs } from './shadowRefs.ts'

const maxListBytes = 64 * 1024 * 1024
const maxShallowBytes = 64 * 1024 * 1024
/** Each single object costs time whenever Git looks for one. */
const maxLooseObjects = 500
const staleLockMs = 60_000

/** Returns the commit of a shadow's branch. Sends a pack of the commits that the repository lacks, unless it is `known`. */
export async function exportTip(shadow: Shadow, known: readonly string[], send: Send): Promise<{ tip: string | null }> {
  const tip = await tipInside(shadow)
  if (tip === undefined || known.includes(tip)) return { tip: tip ?? null }
  await listAlternates(join(shadow.common, 'objects'))
  const folder = await mkdtemp(join(tmpdir(), 'board-transfer-'))
  try {
    const stores = [shadow.commonDir, shadow.common].map(each => join(each, 'objects'))
    await writeGitFolder(folder, tip.length === 64 ? 'sha256' : undefined, stores)
    await copyPlain(join(shadow.commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    await sendCommits(folder, shadow.commonDir, tip, send)
    return { tip }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Puts the shadow's branch on a commit of the repository (null: it has none yet), with the index outside. */
export async function importTip({ common, admin, gitDir, state }: Shadow, tip: string | null): Promise<void> {
  if (tip !== null) await writeUntrusted(common, state.branch === null ? `${admin}/HEAD` : refOf(state), `${tip}\n`)
  for (const name of await indexFiles(gitDir))
    await replaceUntrusted(common, `${admin}/${name}`, file => copyIndexFile(join(gitDir, name), file))
}

/** Shows an agent the commit of its branch in the repository. */
export const showOutside = ({ common }: Shadow, tip: string): Promise<void> =>
  writeUntrusted(common, outsideRef, `${tip}\n`)

/** How a shadow is brought up to date. */
export interface ShadowUpdate {
  /** Whether the shadow's folder is empty. */
  isNew: boolean
  /** The commit for its branch; undefined leaves the branch unchanged. */
  tip: string | undefined
  /** The HEAD for the shadow; undefined leaves the HEAD unchanged. */
  head: string | undefined
  /** Folders of the repository's Git folder that are mounted over the shadow's. */
  mountPoints: readonly string[]
}

/**
 * Brings a shadow up to date with the repository: its files, its branches and tags, and the places for mounts.
 * @returns the versions of the copied files, and whether the worktree has submodules
 */
export async function updateShadow(
  shadow: Shadow,
  { isNew, tip, head, mountPoints }: ShadowUpdate,
): Promise<{ copied: Record<string, string>; hasSubmodules: boolean }> {
  const { common, admin } = shadow
  if (isNew) await fill(shadow)
  if (head !== undefined) await writeUntrusted(common, `${admin}/HEAD`, head)
  const hasSubmodules = (await kindOf(join(shadow.topLevel, '.gitmodules'))) === 'file'
  const places = [...mountPoints, storeName, ...(hasSubmodules && !isMain(shadow) ? [`${admin}/modules`] : [])]
  const [copied] = await Promise.all([
    copyFiles(shadow),
    refreshRefs(shadow, tip),
    ...(isNew ? [] : [dropStale(shadow)]),
    ...places.map(place => inFolder(common, place, async () => {}, true)),
  ])
  return { copied, hasSubmodules }
}

/** Names of the files and folders that belong to the working tree alone, in a Git folder that has the rest of the repository also. */
const ownPart = /^([A-Z_]+|index|sharedindex\..*|rebase-merge|rebase-apply|sequencer)$/

/** Creates a Git folder without refs, with the worktree's own part of the repository's. */
async function fill(shadow: Shadow): Promise<void> {
  const { gitDir, common, admin } = shadow
  const parts = ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'logs', 'worktrees']
  await Promise.all(parts.map(part => mkdir(join(common, part), { recursive: true, mode: 0o700 })))
  await Promise.all([
    writeFile(join(common, 'objects/info/alternates'), `../${storeName}\n`),
    copyWorktreePart(gitDir, join(common, admin), name => (isMain(shadow) ? ownPart.test(name) : name !== 'modules')),
  ])
}

/** Copies the small files of the repository that differ from the versions in `state.copied`. Changes of the agent stay. */
async function copyFiles(shadow: Shadow): Promise<Record<string, string>> {
  const { commonDir, gitDir, common, admin, state } = shadow
  const folders = [
    { from: commonDir, to: '.', names: [...(isMain(shadow) ? [] : ['HEAD']), 'config', 'config.worktree', 'shallow'] },
    { from: join(commonDir, 'info'), to: 'info', names: ['exclude', 'attributes', 'sparse-checkout'] },
    ...(isMain(shadow) ? [] : [{ from: gitDir, to: admin, names: ['config.worktree'] }]),
  ]
  const copied = { ...state.copied }
  const copy = async ({ from, to, names }: (typeof folders)[number]) => {
    const found = await Promise.all(
      names.map(async name => ({ name, stats: await stat(join(from, name)).catch(() => undefined) })),
    )
    const changed = found
      .map(each => ({ ...each, stamp: each.stats ? `${each.stats.ino} ${each.stats.size} ${each.stats.mtimeMs}` : '' }))
      .filter(({ name, stamp }) => (copied[`${to}/${name}`] ?? '') !== stamp)
    if (changed.length === 0) return
    const replace = (folder: string) =>
      Promise.all(
        changed.map(async ({ name, stats }) => {
          if (!stats) return rm(`${folder}/${name}`, { force: true })
          const text = await readFile(join(from, name), 'utf8')
          return replaceIn(folder, name, file => writeFile(file, text, { flag: 'wx', mode: 0o600 }))
        }),
      )
    await inFolder(common, to, replace, true)
    for (const { name, stamp } of changed) copied[`${to}/${name}`] = stamp
  }
  await Promise.all(folders.map(copy))
  return copied
}

/** Removes locks of Git processes that were killed. */
async function dropStale({ common, admin }: Shadow): Promise<void> {
  for (const folder of ['.', admin])
    await inFolder(common, folder, async at => {
      for (const name of (await readdir(at)).filter(each => each.endsWith('.lock') || each === 'gc.pid')) {
        const stats = await lstat(`${at}/${name}`).catch(() => undefined)
        if (stats && !stats.isDirectory() && Date.now() - stats.mtimeMs > staleLockMs) await unlink(`${at}/${name}`)
      }
    })
}

/** Removes single objects of a shadow that the repository has, if there are many. */
export async function dropTaken({ common, commonDir }: Shadow): Promise<void> {
  const loose: string[] = []
  for (const name of (await readdir(join(common, 'objects'))).filter(each => /^[0-9a-f]{2}$/.test(each)))
    loose.push(...(await readdir(join(common, 'objects', name)).catch(() => [])).map(file => name + file))
  if (loose.length <= maxLooseObjects) return
  const answers = await gitOutput(commonDir, ['cat-file', '--batch-check'], {
    env: { GIT_DIR: commonDir },
    input: loose.map(id => `${id}\n`).join(''),
    maxBytes: maxListBytes,
  })
  for (const [, id] of answers.toString().matchAll(/^([0-9a-f]+) (?!missing)/gm))
    await unlink(join(common, 'objects', id!.slice(0, 2), id!.slice(2))).catch(() => {
      /* Git has packed it in the meantime. */
    })
}
