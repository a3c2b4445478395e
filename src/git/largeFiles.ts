import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { GitRun } from './filters.ts'

/** A pointer of Git LFS is a small file that represents a large one in a commit. */
const maxPointerBytes = 1024
const pointer =
  /^version https:\/\/(?:git-lfs|hawser)\.github\.com\/spec\/v1\n(?:ext-.*\n)*oid sha256:([0-9a-f]{64})\nsize \d+\n/
const maxListBytes = 256 * 1024 * 1024

/** The folder in which Git LFS stores the large files of a Git folder. */
export const largeFilesOf = (gitDir: string): string => join(gitDir, 'lfs/objects')

/** The place of a large file in such a folder. `id` is the SHA-256 of its content. */
export const largeFilePlace = (id: string): string => join(id.slice(0, 2), id.slice(2, 4), id)

/** Returns the large files that a store lacks. */
export async function missingIn(store: string, ids: readonly string[]): Promise<string[]> {
  const isMissing = await Promise.all(
    ids.map(id =>
      access(join(store, largeFilePlace(id))).then(
        () => false,
        () => true,
      ),
    ),
  )
  return ids.filter((_, index) => isMissing[index])
}

/**
 * Lists the large files that belong to commits or trees.
 * @param revisions as for `git rev-list`
 */
export async function listLargeFiles(run: GitRun, revisions: readonly string[]): Promise<string[]> {
  const options = { maxBytes: maxListBytes }
  const listed = await run(['rev-list', '--objects', '--stdin'], { ...options, input: linesOf(revisions) })
  const objects = listed.toString().split('\n').slice(0, -1)
  const sizes = await run(['cat-file', '--batch-check=%(objecttype) %(objectsize) %(objectname)'], {
    ...options,
    input: linesOf(objects.map(line => line.split(' ', 1)[0]!)),
  })
  const small = [...sizes.toString().matchAll(/^blob (\d+) ([0-9a-f]+)$/gm)].flatMap(([, size, id]) =>
    Number(size) <= maxPointerBytes ? [id!] : [],
  )
  const contents = await run(['cat-file', '--batch'], { ...options, input: linesOf(small) })
  return [...new Set(contentsIn(contents).flatMap(content => pointer.exec(content)?.[1] ?? []))]
}

const linesOf = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('')

/** Parses "id type size LF content LF". */
function contentsIn(batch: Buffer): string[] {
  const contents: string[] = []
  for (let at = 0; at < batch.length;) {
    const end = batch.indexOf(10, at)
    const size = Number(batch.toString('latin1', at, end).split(' ')[2])
    contents.push(batch.toString('latin1', end + 1, end + 1 + size))
    at = end + 1 + size + 1
  }
  return contents
}
