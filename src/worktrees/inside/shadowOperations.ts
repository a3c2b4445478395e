import { isMain } from '../../git/workingTrees.ts'
import type { Stats } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accountTexts, type AccountSettings } from '../../git/accountSettings.ts'
import { listAlternates } from '../../git/alternates.ts'
import { ignoringPaths, readCopiedPaths } from '../copiedPaths.ts'
import { configurationText } from '../../git/configuration.ts'
import type { GitRun } from '../../git/filters.ts'
import { gitOutput, inGitDir } from '../../git/git.ts'
import { copyIndexFile, copyWorktreePart, indexFiles, writeGitFolder } from '../../git/gitFolder.ts'
import { largeFilesOf } from '../../git/largeFiles.ts'
import { excludeTips } from '../../git/listRefs.ts'
import { accountFolder, outsideRef, refOf, storeName, storeParts, tipInside, type Shadow } from '../../git/shadow.ts'
import {
  copyPlain,
  inFolder,
  keepUntrusted,
  replaceIn,
  replaceUntrusted,
  writeUntrusted,
} from '../../git/untrustedFiles.ts'
import type { Send } from '../send.ts'
import { bareEnvironment, sendCommits } from './sendCommits.ts'
import { sendLargeFiles } from './sendLargeFiles.ts'
import { refreshRefs } from './shadowRefs.ts'

const maxListBytes = 64 * 1024 * 1024
const maxShallowBytes = 64 * 1024 * 1024
/** Each loose object slows down Git's search for objects. */
const maxLooseObjects = 500
const staleLockMs = 60_000

/**
 * Returns the commit of a shadow's branch. Sends a pack of the commits that the repository lacks, and their large files, unless it is
 * `known`.
 */
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
    const run: GitRun = (args, options) => gitOutput(folder, args, { ...options, env: bareEnvironment(folder) })
    const revisions = [tip, ...(await excludeTips(shadow.commonDir)).split('\n').filter(Boolean)]
    const [own, known] = [shadow.common, shadow.commonDir].map(largeFilesOf)
    await sendLargeFiles(run, revisions, { stores: [own!], known: known! }, send)
    return { tip }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Sets the shadow's branch to a commit of the repository (null: it has none yet), and copies the repository's index of the worktree. */
export async function importTip({ common, admin, gitDir, state }: Shadow, tip: string | null): Promise<void> {
  if (tip !== null) await writeUntrusted(common, state.branch === null ? `${admin}/HEAD` : refOf(state), `${tip}\n`)
  for (const name of await indexFiles(gitDir))
    await replaceUntrusted(common, `${admin}/${name}`, file => copyIndexFile(join(gitDir, name), file))
}

/** Shows an agent the commit of its branch in the repository. */
export const showOutside = ({ common }: Shadow, tip: string): Promise<void> =>
  writeUntrusted(common, outsideRef, `${tip}\n`)

export interface ShadowUpdate {
  /** Whether the shadow's folder is empty. */
  isNew: boolean
  /** The commit for its branch; undefined leaves the branch unchanged. */
  tip: string | undefined
  /** The HEAD for the shadow; undefined leaves the HEAD unchanged. */
  head: string | undefined
  /** Folders of the repository's Git folder that are mounted over the folders of the shadow. */
  mountPoints: readonly string[]
  /** Settings of the server's account that also apply to the agent. */
  account: AccountSettings
}

/**
 * Brings a shadow up to date with the repository: its files, its branches and tags, and the places for mounts.
 * @returns the versions of the copied files
 */
export async function updateShadow(
  shadow: Shadow,
  { isNew, tip, head, mountPoints, account }: ShadowUpdate,
): Promise<Record<string, string>> {
  const { common, admin } = shadow
  if (isNew) await fill(shadow)
  if (head !== undefined) await writeUntrusted(common, `${admin}/HEAD`, head)
  const places = [
    ...mountPoints,
    ...storeParts.map(part => `${storeName}/${part}`),
    ...(isMain(shadow) ? [] : [`${admin}/modules`]),
  ]
  const [copied] = await Promise.all([
    copyFiles(shadow),
    ...Object.entries(ownFiles(shadow, account)).map(([path, text]) => keepUntrusted(shadow.common, path, text)),
    refreshRefs(shadow, tip),
    ...(isNew ? [] : [dropStale(shadow)]),
    ...places.map(place => inFolder(common, place, async () => {}, true)),
  ])
  return copied
}

/** The files through which the agent's Git finds the objects of the repository and the settings of the server's account. */
function ownFiles({ commonDir }: Shadow, account: AccountSettings): Record<string, string> {
  const { config, ...texts } = accountTexts(account, join(commonDir, accountFolder))
  const system = configurationText([['include.path', '/etc/gitconfig']])
  return {
    // Git LFS finds the large files of the repository next to these objects, but only if the path is absolute.
    'objects/info/alternates': `${join(commonDir, storeName, 'objects')}\n`,
    [`${accountFolder}/config`]: system + config,
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${accountFolder}/${name}`, text])),
  }
}

/**
 * Names of the files and folders that belong only to the working tree, in a Git folder that also has the rest of the repository.
 */
const ownPart = /^([A-Z_]+|index|sharedindex\..*|rebase-merge|rebase-apply|sequencer)$/

/** Creates a Git folder without refs, with the worktree's own part of the repository's Git folder. */
async function fill(shadow: Shadow): Promise<void> {
  const { gitDir, common, admin } = shadow
  const parts = ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags', 'logs', 'worktrees']
  await Promise.all(parts.map(part => mkdir(join(common, part), { recursive: true, mode: 0o700 })))
  await copyWorktreePart(gitDir, join(common, admin), name =>
    isMain(shadow) ? ownPart.test(name) : name !== 'modules',
  )
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
  // The ignore rules of the commit can lack the files that the board copied.
  const excluded = isMain(shadow) ? '' : ignoringPaths(await readCopiedPaths(shadow))
  const copy = async ({ from, to, names }: (typeof folders)[number]) => {
    const found = await Promise.all(
      names.map(async name => ({
        name,
        stats: await stat(join(from, name)).catch(() => undefined),
        more: name === 'exclude' ? excluded : '',
      })),
    )
    const changed = found
      .map(each => ({ ...each, stamp: stampOf(each.stats) + (each.more && ` ${each.more.length}`) }))
      .filter(({ name, stamp }) => (copied[`${to}/${name}`] ?? '') !== stamp)
    if (changed.length === 0) return
    const replace = (folder: string) =>
      Promise.all(
        changed.map(async ({ name, stats, more }) => {
          if (!stats && more === '') return rm(`${folder}/${name}`, { force: true })
          const text = `${stats ? await readFile(join(from, name), 'utf8') : ''}${more}`
          return replaceIn(folder, name, file => writeFile(file, text, { flag: 'wx', mode: 0o600 }))
        }),
      )
    await inFolder(common, to, replace, true)
    for (const { name, stamp } of changed) copied[`${to}/${name}`] = stamp
  }
  await Promise.all(folders.map(copy))
  return copied
}

const stampOf = (stats: Stats | undefined): string => (stats ? `${stats.ino} ${stats.size} ${stats.mtimeMs}` : '')

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

/** If a shadow has many loose objects, removes those that the repository has. */
export async function dropTaken({ common, commonDir }: Shadow): Promise<void> {
  const loose: string[] = []
  for (const name of (await readdir(join(common, 'objects'))).filter(each => /^[0-9a-f]{2}$/.test(each)))
    loose.push(...(await readdir(join(common, 'objects', name)).catch(() => [])).map(file => name + file))
  if (loose.length <= maxLooseObjects) return
  const answers = await gitOutput(commonDir, ['cat-file', '--batch-check'], {
    env: inGitDir(commonDir),
    input: loose.map(id => `${id}\n`).join(''),
    maxBytes: maxListBytes,
  })
  for (const [, id] of answers.toString().matchAll(/^([0-9a-f]+) (?!missing)/gm))
    await unlink(join(common, 'objects', id!.slice(0, 2), id!.slice(2))).catch(() => {
      /* Git has packed the object in the meantime. */
    })
}
