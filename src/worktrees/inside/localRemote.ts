import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { git, type GitResult } from '../../git/git.ts'
import { writeGitFolder } from '../../git/gitFolder.ts'
import type { LocalRun } from '../../git/remoteGit.ts'
import { copyPlain } from '../../git/untrustedFiles.ts'
import type { Send } from '../send.ts'
import { bareEnvironment, sendCommits } from './sendCommits.ts'

const maxShallowBytes = 64 * 1024 * 1024

/** The result of running Git against a repository in a folder. `fetched` is the fetched commit. */
export interface LocalResult {
  exitCode: number
  stderr: string
  fetched: string | null
}

/** Runs Git against the repository in a folder. Sends a pack of the commits that a fetch got. Hooks of that repository run here. */
export async function runLocalRemote(
  commonDir: string,
  { args, known, format, fetchedRef, timeoutMs }: LocalRun,
  send: Send,
): Promise<LocalResult> {
  const folder = await mkdtemp(join(tmpdir(), 'board-remote-'))
  try {
    await writeGitFolder(folder, format, [join(commonDir, 'objects')])
    const refs = known.map((commit, index) => `${commit} refs/board/known-${index}\n`)
    await writeFile(join(folder, 'packed-refs'), refs.join(''))
    await copyPlain(join(commonDir, 'shallow'), join(folder, 'shallow'), maxShallowBytes)
    const result = await git(folder, args, {
      env: { ...bareEnvironment(folder), GIT_ALLOW_PROTOCOL: 'file' },
      timeoutMs,
    })
    return await resultOf(result, folder, commonDir, fetchedRef, send)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function resultOf(
  { exitCode, stderr }: GitResult,
  folder: string,
  commonDir: string,
  fetchedRef: string | null,
  send: Send,
): Promise<LocalResult> {
  if (exitCode !== 0 || fetchedRef === null) return { exitCode, stderr, fetched: null }
  const fetched = (await readFile(join(folder, fetchedRef), 'utf8')).trim()
  await sendCommits(folder, commonDir, fetched, send)
  return { exitCode, stderr, fetched }
}
