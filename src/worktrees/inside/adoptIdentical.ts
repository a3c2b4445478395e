import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nulSeparated } from '../../git/fileNames.ts'
import { kindWithin } from './changes.ts'
import type { CheckoutRun } from './checkout.ts'

const maxListBytes = 256 * 1024 * 1024

/** A path that differs between two commits, with its mode and object in the second one. */
interface Change {
  path: string
  mode: string
  id: string
  isDeleted: boolean
}

/**
 * Adds to the index of a checkout the files that are already as in the commit `to`, although the index is that of `from`: a move that was
 * broken off, for example by a kill of the server, has left them. Git would otherwise regard them as local changes.
 * @returns their paths
 */
export async function adoptIdentical(
  run: CheckoutRun,
  { gitDir, topLevel }: { gitDir: string; topLevel: string },
  from: string,
  to: string,
): Promise<Set<string>> {
  const doubtful = await listDoubtful(run, topLevel, from, to)
  if (doubtful.length === 0) return new Set()
  const index = join(gitDir, 'index')
  const scratch = join(gitDir, 'index.scratch')
  await copyFile(index, scratch)
  const found = await addAll(run, scratch, doubtful)
  const identical = doubtful.filter(({ path, mode, id, isDeleted }) =>
    isDeleted ? !found.has(path) : found.get(path) === `${mode} ${id}`,
  )
  if (identical.length > 0) await addAll(run, index, identical)
  return new Set(identical.map(({ path }) => path))
}

/** The differences between two commits of which the file is not as in the index, and could be as in `to`. */
async function listDoubtful(run: CheckoutRun, topLevel: string, from: string, to: string): Promise<Change[]> {
  const list = async (args: readonly string[]) => nulSeparated(await run(args, { maxBytes: maxListBytes }))
  const changed = new Set(await list(['ls-files', '-z', '--modified', '--deleted']))
  const fields = await list(['diff-tree', '-r', '-z', '--raw', '--no-renames', '--ignore-submodules', from, to])
  const doubtful: Change[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode, , id, status] = fields[at]!.split(' ') as [string, string, string, string, string]
    const path = fields[at + 1]!
    if (status !== 'A' && !changed.has(path)) continue
    const kind = await kindWithin(topLevel, path)
    const isDeleted = status === 'D'
    if (isDeleted ? kind === 'nothing' : kind === 'file' || kind === 'link')
      doubtful.push({ path, mode, id, isDeleted })
  }
  return doubtful
}

/** Adds the existing files to an index, and removes the missing ones. @returns the mode and the object of each path in the index */
async function addAll(run: CheckoutRun, index: string, changes: readonly Change[]): Promise<Map<string, string>> {
  const env = { GIT_INDEX_FILE: index }
  const input = changes.map(({ path }) => `${path}\0`).join('')
  await run(['update-index', '--add', '--remove', '-z', '--stdin'], { input, env })
  const entries = nulSeparated(await run(['ls-files', '-z', '--stage'], { env, maxBytes: maxListBytes }))
  return new Map(
    entries.map(entry => {
      const tab = entry.indexOf('\t')
      return [entry.slice(tab + 1), entry.slice(0, tab - 2)]
    }),
  )
}
