import { createHash } from 'node:crypto'
import { join } from 'node:path'
import * as v from 'valibot'
import { issueText } from '../contract/forges/issueText.ts'
import { BoardFile, type EffectiveWorktree } from '../contract/projects/worktree.ts'
import type { ProjectFolder } from '../git/folderRecord.ts'
import { readCheckoutState, type CheckoutState } from '../git/checkoutState.ts'
import { gitOutput, inGitDir } from '../git/git.ts'
import { readProjectFile } from '../worktrees/projectFiles.ts'
import type { ProjectFile, Worktrees } from '../worktrees/worktrees.ts'

const boardFileName = 'board.json'
const maxBytes = 64 * 1024

/** A project's board.json: its content and version, or the reason why it cannot be used. */
export type ReadBoardFile =
  | { problem: null; settings: EffectiveWorktree; version: string }
  | { problem: string; settings: null; version: null }

/**
 * Reads board.json in a project's folder: a plain file of at most 64 KiB. A link is not followed.
 * @returns null if there is none
 */
export async function readBoardFile(worktrees: Worktrees, project: ProjectFolder): Promise<ReadBoardFile | null> {
  const file = (await readProjectFile(worktrees, project, boardFileName, maxBytes)) ?? (await readOfBare(project))
  if (!file) return null
  if (file.problem !== null) return unusableFile(file.problem)
  try {
    return parse(utf8Of(file.content))
  } catch (error) {
    return unusableFile((error as Error).message)
  }
}

/**
 * Returns the version of board.json in the commit that the project's folder has checked out: the base of its cards. Returns undefined if
 * there is none, or if it cannot be used.
 */
export async function readBaseVersion(project: ProjectFolder): Promise<string | undefined> {
  try {
    const checkout = await readCheckoutState(project)
    const content = checkout && (await readCommitted(checkout))
    return content && (parse(utf8Of(content)).version ?? undefined)
  } catch {
    return undefined
  }
}

/** A bare repository has no files, so the file of its current branch is read. */
async function readOfBare(project: ProjectFolder): Promise<ProjectFile | null> {
  const checkout = await readCheckoutState(project).catch(() => undefined)
  const content = checkout?.repository.isBare && (await readCommitted(checkout).catch(() => undefined))
  return content ? { content, problem: null } : null
}

async function readCommitted({ commit, subfolder, repository: { commonDir } }: CheckoutState): Promise<Buffer> {
  const name = `${commit ?? 'HEAD'}:${join(subfolder, boardFileName)}`
  return gitOutput(commonDir, ['cat-file', 'blob', name], {
    maxBytes,
    env: { ...inGitDir(commonDir), GIT_NO_REPLACE_OBJECTS: '1' },
  })
}

/** Decodes UTF-8 without the byte order mark that some editors add. */
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
    return unusableFile('it is not JSON')
  }
  // Valibot accepts a list as an object without fields.
  if (Array.isArray(value)) return unusableFile('it must be an object')
  const { success, output, issues } = v.safeParse(BoardFile, value)
  if (!success) {
    const path = v.getDotPath(issues[0])
    return unusableFile(`${path === null ? 'it' : `${path}:`} ${issueText(issues[0])}`)
  }
  const { $schema: _, ...settings } = output
  return { problem: null, settings, version: versionOf(settings) }
}

/**
 * Returns equal versions for equal settings, regardless of formatting. Uses the full digest, because two files with the same
 * 64 bits can be found in minutes.
 */
const versionOf = (settings: EffectiveWorktree): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(settings).sort(([one], [other]) => (one < other ? -1 : 1))))
    .digest('hex')

const unusableFile = (problem: string): ReadBoardFile => ({ problem, settings: null, version: null })
