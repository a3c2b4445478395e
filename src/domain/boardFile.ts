import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { issueText } from '../contract/issueText.ts'
import { BoardFile, type EffectiveWorktree } from '../contract/worktree.ts'
import { gitOutput } from '../git/git.ts'

const boardFileName = 'board.json'
const maxBytes = 64 * 1024

/** A project's board.json: what it says and the name of its content, or why it cannot be used. */
export type ReadBoardFile =
  | { problem: null; settings: EffectiveWorktree; version: string }
  | { problem: string; settings: null; version: null }

/**
 * Reads board.json in a project's folder, of which nothing is believed: a plain file of at most 64 KiB; a link is not followed.
 * @returns null where there is none
 */
export async function readBoardFile(projectPath: string): Promise<ReadBoardFile | null> {
  let content: string
  try {
    content = await readPlainFile(join(projectPath, boardFileName))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    return unusable(code === 'ELOOP' ? 'it is a link' : code === undefined ? message : `it cannot be read (${code})`)
  }
  return parse(content)
}

/**
 * Returns the version of board.json in the commit that the project's folder has checked out: the base of its cards. Returns undefined if
 * there is none, or if it cannot be used.
 */
export async function readBaseVersion(projectPath: string): Promise<string | undefined> {
  try {
    const content = await gitOutput(projectPath, ['cat-file', 'blob', `HEAD:./${boardFileName}`], {
      maxBytes,
      env: { GIT_NO_REPLACE_OBJECTS: '1' },
    })
    return parse(utf8Of(content)).version ?? undefined
  } catch {
    return undefined
  }
}

async function readPlainFile(path: string): Promise<string> {
  // Without NONBLOCK, opening a pipe would wait for its writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a file')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes + 1), 0, maxBytes + 1, 0)
    if (bytesRead > maxBytes) throw new Error('it is larger than 64 KiB')
    return utf8Of(buffer.subarray(0, bytesRead))
  } finally {
    await file.close()
  }
}

/** Without the byte order mark that some editors put first. */
function utf8Of(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Error('it is not UTF-8', { cause })
  }
}

function parse(content: string): ReadBoardFile {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    return unusable('it is not JSON')
  }
  // Valibot takes a list for an object without fields.
  if (Array.isArray(value)) return unusable('it: must be an object')
  const { success, output, issues } = v.safeParse(BoardFile, value)
  if (!success) return unusable(`${v.getDotPath(issues[0]) ?? 'it'}: ${issueText(issues[0])}`)
  const { $schema: _, ...settings } = output
  return { problem: null, settings, version: versionOf(settings) }
}

/** The same for the same settings, however they are written. It is the whole digest: two files that agree in 64 bits of it can be made in minutes. */
const versionOf = (settings: EffectiveWorktree): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(settings).sort(([one], [other]) => (one < other ? -1 : 1))))
    .digest('hex')

const unusable = (problem: string): ReadBoardFile => ({ problem, settings: null, version: null })
