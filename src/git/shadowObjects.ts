import { chmod, copyFile, link, lstat, mkdir, mkdtemp, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GitFailed, gitOutput, type GitOptions } from './git.ts'
import { writeGitFolder } from './gitFolder.ts'
import type { Shadow } from './shadow.ts'
import { copyPlain, inFolder } from './untrustedFiles.ts'

export const transferPrefix = 'transfer-'
const timeoutMs = 5 * 60_000
const maxRefsBytes = 64 * 1024 * 1024
const maxShallowBytes = 64 * 1024 * 1024
const maxObjectFiles = 200_000
/** Above that, objects that the repository has by now are removed from a shadow: each would be looked at every time. */
const maxLooseObjects = 500

/**
 * Brings objects out of a shadow. What is there may be forged: one Git reads it and packs what is wanted, another that does not
 * see it computes the name of each object anew. So no object arrives under a name that is not its own, and none replaces one.
 */
export interface Transfer {
  /** A folder for this transfer, gone afterwards. */
  folder: string
  /** Runs Git where only the repository's objects and those that arrived are seen. */
  trusted(args: readonly string[], options?: GitOptions): Promise<Buffer>
  /** Brings the commits that `tip` has and the repository has not, with all that belongs to them. @throws GitFailed */
  bringCommit(tip: string): Promise<void>
  /** Brings single objects into another Git folder. @throws GitFailed */
  bringObjects(ids: readonly string[], gitDir: string): Promise<Pack>
}
/**
 * How a transfer reads the agent's store. `linked`: through links to its regular files, in a folder that the agent cannot
 * reach. `direct`: where nothing that the store leads to is out of bounds, as in a sandbox.
 */
export type StoreAccess = 'linked' | 'direct'
/** Files of objects that were checked, and the name that they have in a repository. */
export interface Pack {
  pack: string
  index: string
  name: string
}

const environmentOf = (gitDir: string) => ({
  GIT_DIR: gitDir,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_NO_REPLACE_OBJECTS: '1',
})

/** @param id an object of the repository, which tells its hash function */
export async function transferFrom<T>(
  shadow: Shadow,
  id: string,
  work: (transfer: Transfer) => Promise<T>,
  access: StoreAccess = 'linked',
): Promise<T> {
  const isLinked = access === 'linked'
  const folder = await mkdtemp(join(isLinked ? shadow.folder : tmpdir(), transferPrefix))
  try {
    const format = id.length === 64 ? 'sha256' : undefined
    const objects = join(shadow.commonDir, 'objects')
    const [reading, checking] = [join(folder, 'reading'), join(folder, 'checking')]
    for (const [gitDir, stores] of [
      [reading, isLinked ? [objects] : [objects, join(shadow.common, 'objects')]],
      [checking, [objects]],
    ] as const) {
      await writeGitFolder(gitDir, format, stores)
      await copyPlain(join(shadow.commonDir, 'shallow'), join(gitDir, 'shallow'), maxShallowBytes)
    }
    const loose = isLinked ? await linkObjects(shadow.common, join(reading, 'objects')) : []
    const runIn =
      (gitDir: string): Transfer['trusted'] =>
      (args, options) =>
        gitOutput(folder, ['-c', 'pack.writeReverseIndex=false', ...args], {
          timeoutMs,
          ...options,
          env: { ...environmentOf(gitDir), ...options?.env },
        })
    const receive = async (input: string, flags: readonly string[], gitDir: string): Promise<Pack> => {
      const pack = join(gitDir, 'objects/pack/pack-arriving.pack')
      await runIn(reading)(['pack-objects', ...flags, '--stdout', '--quiet', '--delta-base-offset'], {
        input,
        appendTo: pack,
      })
      const index = pack.replace(/pack$/, 'idx')
      const name = (await runIn(gitDir)(['index-pack', '--fsck-objects', '-o', index, pack])).toString().trim()
      return { pack, index, name }
    }
    return await work({
      folder,
      trusted: runIn(checking),
      bringObjects: (ids, gitDir) => receive(`${ids.join('\n')}\n`, [], gitDir),
      bringCommit: async tip => {
        const range = `${tip}\n${await tipsOf(shadow)}`
        const arrived = await receive(range, ['--revs'], checking)
        await runIn(checking)(['rev-list', '--objects', '--quiet', '--stdin'], { input: range })
        if ((await runIn(checking)(['cat-file', '-t', tip])).toString() !== 'commit\n')
          throw new GitFailed('failed', 'The branch names something else than a commit.')
        await keepPack(arrived, shadow.commonDir)
        if (loose.length > maxLooseObjects) await dropTaken(shadow, loose, runIn(checking))
      },
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Excludes what the repository's branches and tags hold: it is there. A line each. */
const tipsOf = async ({ commonDir }: Shadow): Promise<string> =>
  (
    await gitOutput(commonDir, ['for-each-ref', '--format=^%(objectname)', 'refs/heads', 'refs/remotes', 'refs/tags'], {
      env: { GIT_DIR: commonDir },
      maxBytes: maxRefsBytes,
    })
  ).toString()

/** Copies a checked pack into a repository; an empty one is left. */
export async function keepPack({ pack, index, name }: Pack, commonDir: string): Promise<void> {
  const folder = join(commonDir, 'objects/pack')
  await mkdir(folder, { recursive: true })
  if (await isEmpty(pack)) return
  // Git finds a pack by its index, which therefore comes last, and sweeps what has such a name otherwise.
  for (const [from, ending] of [
    [pack, 'pack'],
    [index, 'idx'],
  ] as const) {
    const temporary = join(folder, `tmp_${name}.${ending}`)
    await copyFile(from, temporary)
    await chmod(temporary, 0o444)
    await syncFile(temporary)
    await rename(temporary, join(folder, `pack-${name}.${ending}`))
  }
}

/** The number of objects is the third word of a pack. */
async function isEmpty(pack: string): Promise<boolean> {
  const file = await open(pack, 'r')
  try {
    return (await file.read(Buffer.alloc(12), 0, 12)).buffer.readUInt32BE(8) === 0
  } finally {
    await file.close()
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Links the objects that an agent has made into a folder of ours, in which nothing can be replaced: regular files only, no list of other stores. */
async function linkObjects(common: string, to: string): Promise<string[]> {
  const loose: string[] = []
  const folders = await inFolder(common, 'objects', folder => readdir(folder))
  let count = 0
  for (const name of folders.filter(each => /^([0-9a-f]{2}|pack)$/.test(each))) {
    const wanted = name === 'pack' ? /^pack-[0-9a-f]+\.(pack|idx)$/ : /^[0-9a-f]{38,62}$/
    // What is no folder, or gone by now, holds nothing.
    await inFolder(common, `objects/${name}`, async folder => {
      const files = (await readdir(folder)).filter(file => wanted.test(file))
      count += files.length
      if (files.length > 0 && count <= maxObjectFiles) await linkFiles(folder, files, join(to, name))
      if (name !== 'pack') loose.push(...files.map(file => name + file))
    }).catch(() => {})
  }
  if (count > maxObjectFiles) throw new GitFailed('output', `The worktree has more than ${maxObjectFiles} new objects.`)
  return loose
}

async function dropTaken({ common }: Shadow, loose: readonly string[], run: Transfer['trusted']): Promise<void> {
  const answers = await run(['cat-file', '--batch-check'], {
    input: loose.map(id => `${id}\n`).join(''),
    maxBytes: maxRefsBytes,
  })
  for (const [, id] of answers.toString().matchAll(/^([0-9a-f]+) (?!missing)/gm))
    await inFolder(common, `objects/${id!.slice(0, 2)}`, folder => unlink(`${folder}/${id!.slice(2)}`)).catch(() => {
      /* Git has packed it meanwhile. */
    })
}

async function linkFiles(from: string, files: readonly string[], to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const file of files) {
    const made = join(to, file)
    await link(`${from}/${file}`, made).catch(() => {})
    if ((await lstat(made).catch(() => undefined))?.isFile() === false) await unlink(made)
  }
}
