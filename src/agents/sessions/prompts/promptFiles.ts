import { constants } from 'node:fs'
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { agentsFolder, attachmentsFolder } from '../../../config/folders.ts'
import { promptLimits } from '../../../contract/agents/agentMessages.ts'
import { invalid, Problem } from '../../../contract/errors.ts'
import { cleanFilename } from '../../../files/filenames.ts'
import { listAttachments, readAttachment, type AttachmentRow } from '../../../store/cards/attachments.ts'
import type { Reader, Transaction } from '../../../store/engine/database.ts'
import type { SentAttachment } from '../../../store/agents/transcripts.ts'
import type { PromptFile } from '../../link/agentLink.ts'
import { listAgentFolders } from '../../providers/agentHomes.ts'
import type { RunDependencies } from '../runDependencies.ts'

const maxNameBytes = 200
const prefix = 'board-attachments-'

/** An attachment of a prompt. `isLink`: the prompt contains the attachment's location, not its content. */
export interface PromptAttachment extends SentAttachment {
  isLink: boolean
}
export interface SessionPrompt {
  text: string
  attachments: readonly PromptAttachment[]
}

/**
 * The attachments that a user sends with a message: of the card, or without a card, of any card in the project.
 * @throws Problem ATTACHMENT_NOT_FOUND, VALIDATION_FAILED if they are too large together
 */
export async function findGiven(
  tx: Transaction,
  ids: readonly number[],
  { projectId, cardId }: { projectId: number; cardId?: number },
): Promise<SentAttachment[]> {
  const found: AttachmentRow[] = []
  for (const id of ids) {
    const row = await readAttachment(tx, id)
    if (row?.projectId !== projectId || (cardId !== undefined && row.cardId !== cardId))
      throw new Problem('ATTACHMENT_NOT_FOUND')
    found.push(row)
  }
  const { maxBytes } = promptLimits
  if (bytesOf(found) > maxBytes)
    throw invalid('attachmentIds', `must refer to attachments of at most ${maxBytes} bytes in total`)
  return found.map(({ id, filename }) => ({ id, filename }))
}

/** A card's own attachments that its agent's first prompt names: the newest within the limits, oldest first. */
export async function findOwn(db: Reader, cardId: number): Promise<SentAttachment[]> {
  const newest = (await listAttachments(db, cardId)).slice(-promptLimits.maxAttachments)
  while (bytesOf(newest) > promptLimits.maxBytes) newest.shift()
  return newest.map(({ id, filename }) => ({ id, filename }))
}

const bytesOf = (rows: readonly AttachmentRow[]): number => rows.reduce((sum, { size }) => sum + size, 0)

/** The copies of attachments that a session's agent reads, in the session's own folder. */
export interface PromptFiles {
  folder: string
  /** Copies a prompt's attachments. The text names the attachments that were deleted in the meantime. */
  copy(prompt: SessionPrompt): Promise<{ text: string; files: PromptFile[] }>
  /** Never rejects: the next start of the server removes leftover copies. */
  remove(): Promise<void>
}

/** Creates a session's folder for the files of its prompts, in a folder for temporary files. */
export async function createPromptFiles(
  { db, config: { dataDir } }: Pick<RunDependencies, 'db' | 'config'>,
  projectId: number,
  temporaryFolder: string,
): Promise<PromptFiles> {
  const folder = await mkdtemp(join(temporaryFolder, prefix))
  const copyOne = async (to: string, { id, isLink }: PromptAttachment): Promise<PromptFile | undefined> => {
    const row = await readAttachment(db, id)
    if (row?.projectId !== projectId) return undefined
    const { filename, contentType, size } = row
    const path = join(to, nameOf(row))
    try {
      await copyFile(join(attachmentsFolder(dataDir), row.storedAs), path, constants.COPYFILE_EXCL)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    return { filename, contentType, size, path, isLink }
  }
  return {
    folder,
    async copy({ text, attachments }) {
      if (attachments.length === 0) return { text, files: [] }
      // One folder per prompt, because the agent might have changed the content of an earlier one.
      const promptFolder = await mkdtemp(join(folder, 'prompt-'))
      const [files, gone]: [PromptFile[], string[]] = [[], []]
      for (const attachment of attachments) {
        const file = await copyOne(promptFolder, attachment)
        if (file) files.push(file)
        else gone.push(`The attachment ${attachment.filename} was deleted before this was sent to you.`)
      }
      return { text: gone.length === 0 ? text : `${text}\n\n${gone.join('\n')}`, files }
    },
    remove: async () => {
      await rm(folder, { recursive: true, force: true }).catch(() => {})
    },
  }
}

/** The name of a copy. The ID as a prefix makes the name unique and avoids names with a meaning in a shell. */
function nameOf({ id, filename }: AttachmentRow): string {
  const name = cleanFilename(filename)
  return Buffer.byteLength(name) > maxNameBytes ? `${id}${extname(name)}` : `${id}-${name}`
}

/** Removes the copies that an earlier server left behind. Agents cannot write to those folders. */
export async function removeLeftCopies(dataDir: string): Promise<void> {
  const own = await listAgentFolders(dataDir)
  const folders = [join(agentsFolder(dataDir), 'none'), ...own.map(({ path }) => path)]
  for (const tmp of folders.map(folder => join(folder, 'tmp')))
    for (const name of await readdir(tmp).catch(() => []))
      if (name.startsWith(prefix)) await rm(join(tmp, name), { recursive: true, force: true })
}
