import type { Dirent } from 'node:fs'
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyPlain } from './untrustedFiles.ts'

const maxIndexBytes = 512 * 1024 * 1024
const maxIndexFiles = 16

/** Creates a Git folder without refs that sees the objects of `alternates`, in order. */
export async function writeGitFolder(
  gitDir: string,
  format: string | undefined,
  alternates: readonly string[],
): Promise<void> {
  const folders = ['objects/info', 'objects/pack', 'refs', 'info']
  await Promise.all(folders.map(part => mkdir(join(gitDir, part), { recursive: true, mode: 0o700 })))
  await Promise.all([
    writeFile(join(gitDir, 'HEAD'), 'ref: refs/heads/board-quarantine\n'),
    writeFile(
      join(gitDir, 'config'),
      `[core]\n\trepositoryformatversion = ${format ? 1 : 0}\n\tbare = false\n${format ? `[extensions]\n\tobjectformat = ${format}\n` : ''}`,
    ),
  ])
  if (alternates.length > 0)
    await writeFile(join(gitDir, 'objects/info/alternates'), alternates.map(path => `${path}\n`).join(''))
}

/** The names of a worktree's index and of its parts, if the index is split. */
export const indexFiles = async (gitDir: string): Promise<string[]> =>
  (await readdir(gitDir)).filter(isIndexFile).slice(0, maxIndexFiles)

const isIndexFile = (name: string): boolean => name === 'index' || name.startsWith('sharedindex.')

/** Copies a worktree's index. A link, pipe or device in its place is ignored. */
export async function copyIndexFiles(from: string, to: string): Promise<void> {
  for (const name of await indexFiles(from)) await copyIndexFile(join(from, name), join(to, name))
}

export const copyIndexFile = (from: string, to: string): Promise<void> => copyPlain(from, to, maxIndexBytes)

/** Copies a worktree's own part of a Git folder: plain files, except locks. */
export async function copyWorktreePart(from: string, to: string, isWanted: (name: string) => boolean): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  const copy = async (entry: Dirent) => {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyWorktreePart(source, target, () => true)
    else if (entry.isFile() && isIndexFile(entry.name)) await copyIndexFile(source, target)
    else if (entry.isFile() && !entry.name.endsWith('.lock')) await copyFile(source, target)
  }
  const entries = await readdir(from, { withFileTypes: true })
  await Promise.all(entries.filter(({ name }) => isWanted(name)).map(copy))
}
