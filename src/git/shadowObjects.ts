import { chmod, copyFile, link, lstat, mkdir, mkdtemp, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listAlternates } from './alternates.ts'
import { GitFailed, gitOutput, type GitOptions } from './git.ts'
import { writeGitFolder } from './gitFolder.ts'
import type { Shadow } from './shadow.ts'
import { copyPlain, inFolder } from './untrustedFiles.ts'

export const transferPrefix = 'transfer-'
const timeoutMs = 5 * 60_000
const maxShallowBytes = 64 * 1024 * 1024
const maxObjectFiles = 200_000

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

/**
 * Brings single objects of a shadow into a Git folder. The shadow's objects can be forged: one Git packs them, and another one
 * that does not see them computes the name of each object again.
 * @throws GitFailed
 */
export async function bringObjects(
  shadow: Shadow,
  ids: readonly string[],
  gitDir: string,
  access: StoreAccess,
): Promise<Pack> {
  const isLinked = access === 'linked'
  if (!isLinked) await listAlternates(join(shadow.common, 'objects'))
  const folder = await mkdtemp(join(isLinked ? shadow.folder : tmpdir(), transferPrefix))
  try {
    const stores = [join(shadow.commonDir, 'objects'), ...(isLinked ? [] : [join(shadow.common, 'objects')])]
    await writeGitFolder(folder, ids[0]?.length === 64 ? 'sha256' : undefined, stores)
    await copyPlain(join(shadow.commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    if (isLinked) await linkObjects(shadow.common, join(folder, 'objects'))
    const runIn = (path: string, args: readonly string[], options?: GitOptions) =>
      gitOutput(folder, ['-c', 'pack.writeReverseIndex=false', ...args], {
        timeoutMs,
        ...options,
        env: environmentOf(path),
      })
    const pack = join(gitDir, 'objects/pack/pack-arriving.pack')
    await runIn(folder, ['pack-objects', '--stdout', '--quiet', '--delta-base-offset'], {
      input: `${ids.join('\n')}\n`,
      appendTo: pack,
    })
    const index = pack.replace(/pack$/, 'idx')
    const name = (await runIn(gitDir, ['index-pack', '--fsck-objects', '-o', index, pack])).toString().trim()
    return { pack, index, name }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const environmentOf = (gitDir: string) => ({
  GIT_DIR: gitDir,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_NO_REPLACE_OBJECTS: '1',
})

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
async function linkObjects(common: string, to: string): Promise<void> {
  const folders = await inFolder(common, 'objects', folder => readdir(folder))
  let count = 0
  for (const name of folders.filter(each => /^([0-9a-f]{2}|pack)$/.test(each))) {
    const wanted = name === 'pack' ? /^pack-[0-9a-f]+\.(pack|idx)$/ : /^[0-9a-f]{38,62}$/
    // What is no folder, or gone by now, holds nothing.
    await inFolder(common, `objects/${name}`, async folder => {
      const files = (await readdir(folder)).filter(file => wanted.test(file))
      count += files.length
      if (files.length > 0 && count <= maxObjectFiles) await linkFiles(folder, files, join(to, name))
    }).catch(() => {})
  }
  if (count > maxObjectFiles) throw new GitFailed('output', `The worktree has more than ${maxObjectFiles} new objects.`)
}

async function linkFiles(from: string, files: readonly string[], to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const file of files) {
    const made = join(to, file)
    await link(`${from}/${file}`, made).catch(() => {})
    if ((await lstat(made).catch(() => undefined))?.isFile() === false) await unlink(made)
  }
}
